//! Access to a node's files: requests of a mount and replies of an agent, over separate
//! connections. Requests are numbered, and replies arrive in any order.

mod answer;
mod ask;
mod attr;
mod frame;

use serde::{Deserialize, Serialize};

pub use answer::{Answer, Entry, FileReply, Space};
pub use ask::{
    Ask, BULK_LINK, Changes, FILES_LINKS, FileNumber, FileRef, FileRequest, Hole, NewKind,
    OpenFlags, SMALL_MAX, TimeSet,
};
pub use attr::{Attr, FileKind, Stamp};
pub use frame::{FRAME_MAX, PIECE, Parts, open_file_frame, seal_file_frame};

use crate::copy::CopyId;
use crate::wire::Secret;

/// An order of a mount to an agent: accept connections for files from the peer that has this
/// secret, until the control channel ends. The secret was generated for this order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FilesOrder {
    /// The identity of the order.
    pub id: CopyId,
    /// The secret of the connections.
    pub secret: Secret,
    /// Whether payloads are encrypted.
    pub sealed: bool,
}

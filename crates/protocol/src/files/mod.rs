//! Access to a node's files: requests of a mount and replies of an agent, over their own connections.
//! Requests are numbered, and replies come in any order.

mod answer;
mod ask;
mod attr;
mod line;

pub use answer::{Answer, Entry, FileReply, Space};
pub use ask::{
    Ask, BULK_LINK, Changes, FILES_LINKS, FileRef, FileRequest, Hole, NewKind, OpenFlags,
    SMALL_MAX, TimeSet,
};
pub use attr::{Attr, FileKind, Stamp};
pub use line::{FRAME_HEAD, FRAME_MAX, Line, LineError, Opener, PIECE, Parts};

use serde::{Deserialize, Serialize};

use super::copy_id::CopyId;
use super::keys::Secret;

/// From a mount to an agent: a peer with this secret, which was made for this order, will connect
/// for files, and may until this channel ends.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FilesOrder {
    /// The order's own identity.
    pub id: CopyId,
    /// The secret that connections must have.
    pub secret: Secret,
    /// Whether payload is encrypted.
    pub sealed: bool,
}

//! A node's files, asked for one operation at a time: what a mount says to an agent and what it
//! hears, over connections of their own. Questions have numbers, and answers come in any order.

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
    /// Whether what crosses the connections is sealed.
    pub sealed: bool,
}

//! What an agent answers.

use serde::{Deserialize, Serialize};

use super::attr::Attr;

/// An answer, by its question's number.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileReply {
    /// The question's number.
    pub number: u64,
    /// The answer, or the kernel's number of the error.
    pub outcome: Result<Answer, u16>,
}

/// An answer. The bytes that were read are the payload behind it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// It is done, or the payload is the answer.
    Done,
    /// The attributes.
    Attr(Attr),
    /// A link's text.
    Text(Vec<u8>),
    /// A file is open.
    Opened {
        /// Its handle.
        handle: u64,
        /// Its attributes.
        attr: Attr,
        /// It was changed so short a time ago that a further change might leave no trace in its
        /// times.
        fresh: bool,
    },
    /// Some of a directory's entries.
    Listed {
        /// The directory's handle, to go on with; none when these were all.
        more: Option<u64>,
        /// The entries, without `.` and `..`.
        entries: Vec<Entry>,
    },
    /// An offset.
    At(u64),
    /// The free space.
    Space(Space),
}

/// A directory's entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Its name.
    pub name: Vec<u8>,
    /// Its attributes.
    pub attr: Attr,
}

/// The result of statvfs(3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Space {
    /// Bytes of a block.
    pub block: u32,
    /// Blocks in all.
    pub blocks: u64,
    /// Blocks that are free.
    pub free: u64,
    /// Blocks that this user may take.
    pub available: u64,
    /// Files that there may be.
    pub files: u64,
    /// Files that there may be more.
    pub files_free: u64,
    /// The most bytes of a name.
    pub name_max: u32,
}

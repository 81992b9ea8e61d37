//! Replies of an agent to requests about files.

use serde::{Deserialize, Serialize};

use super::attr::Attr;

/// A reply to a [`FileRequest`](super::FileRequest).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileReply {
    /// The number of the request.
    pub number: u64,
    /// The answer, or the error number (errno).
    pub outcome: Result<Answer, u16>,
}

/// The answer to a request. The bytes of a read are the payload of the reply's frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    /// The request was executed; bytes that were read are the payload.
    Done,
    /// The attributes of a file.
    Attr(Attr),
    /// The target of a symbolic link.
    Text(Vec<u8>),
    /// A file was opened.
    Opened {
        /// The handle of the open file, for further requests.
        handle: u64,
        /// The attributes of the file.
        attr: Attr,
        /// Whether the file was changed so recently that a further change might not alter its
        /// times.
        fresh: bool,
    },
    /// Some of the entries of a directory.
    Listed {
        /// The directory's handle, to continue the listing; `None` if these were the last entries.
        more: Option<u64>,
        /// The entries, without `.` and `..`.
        entries: Vec<Entry>,
    },
    /// The offset in bytes that a seek found.
    At(u64),
    /// The size and the free space of the file system.
    Space(Space),
}

/// An entry of a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The name, without the directory's path.
    pub name: Vec<u8>,
    /// The attributes of the file with this name.
    pub attr: Attr,
}

/// The result of statvfs(3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Space {
    /// The size of a block in bytes.
    pub block: u32,
    /// The total number of blocks.
    pub blocks: u64,
    /// The number of free blocks.
    pub free: u64,
    /// The number of blocks available to the agent's user.
    pub available: u64,
    /// The maximum number of files (inodes).
    pub files: u64,
    /// The number of files that can still be created.
    pub files_free: u64,
    /// The maximum length of a name in bytes.
    pub name_max: u32,
}

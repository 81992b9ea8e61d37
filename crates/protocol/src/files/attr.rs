//! What a file is, besides its bytes.

use serde::{Deserialize, Serialize};

/// A moment: seconds since the beginning of 1970, and nanoseconds.
pub type Stamp = (i64, u32);

/// What kind of thing a name is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FileKind {
    /// A file with bytes.
    File,
    /// A directory.
    Folder,
    /// A symbolic link.
    Link,
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A character device.
    CharDevice,
    /// A block device.
    BlockDevice,
}

/// A file's attributes on its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attr {
    /// What it is.
    pub kind: FileKind,
    /// Its permission bits, with set-id and sticky bits.
    pub mode: u16,
    /// How many names it has.
    pub links: u32,
    /// Its owner's number on the node.
    pub user: u32,
    /// Its group's number on the node.
    pub group: u32,
    /// A device's number.
    pub number: u32,
    /// Its length in bytes.
    pub size: u64,
    /// What it takes, in units of 512 bytes.
    pub blocks: u64,
    /// The number of the device that it is on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
    /// When it was made, where the file system says: numbers are used again, but not at that time.
    pub born: Stamp,
    /// When it was read last.
    pub accessed: Stamp,
    /// When its bytes were changed last.
    pub modified: Stamp,
    /// When anything about it was changed last.
    pub changed: Stamp,
}

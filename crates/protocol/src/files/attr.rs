//! Attributes of files.

use serde::{Deserialize, Serialize};

/// A time of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Stamp {
    /// Whole seconds since the beginning of 1970.
    pub seconds: i64,
    /// The nanoseconds after them.
    pub nanos: u32,
}

/// The type of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FileKind {
    /// A regular file.
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

/// The attributes of a file on its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attr {
    /// The type.
    pub kind: FileKind,
    /// The permission bits, with the set-id and sticky bits.
    pub mode: u16,
    /// The number of the file's names (hard links).
    pub links: u32,
    /// The owner's user id on the node.
    pub user: u32,
    /// The group id on the node.
    pub group: u32,
    /// The device number of a device file.
    pub number: u32,
    /// The length in bytes.
    pub size: u64,
    /// The disk space of the file, in units of 512 bytes.
    pub blocks: u64,
    /// The number of the device that the file is on.
    pub device: u64,
    /// The inode number on that device.
    pub inode: u64,
    /// The birth time; zero if the file system does not record it. Inode numbers are reused, but
    /// not with the same birth time.
    pub born: Stamp,
    /// The access time (atime).
    pub accessed: Stamp,
    /// The modification time (mtime).
    pub modified: Stamp,
    /// The change time (ctime).
    pub changed: Stamp,
}

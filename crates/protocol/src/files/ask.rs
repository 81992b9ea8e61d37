//! Requests of a mount to an agent, and their limits.

use serde::{Deserialize, Serialize};

use super::attr::{Attr, FileKind, Stamp};
use super::frame::PIECE;

/// The number of connections between a mount and an agent.
pub const FILES_LINKS: u16 = 2;

/// The number of the connection for large payloads; the other connection carries small messages.
pub const BULK_LINK: u16 = 1;

/// The maximum payload in bytes on the connection for small messages.
pub const SMALL_MAX: u32 = 16 << 10;

/// The maximum length of a path, and of one name in it, in bytes.
const PATH_MAX: usize = 4096;
const NAME_MAX: usize = 255;

/// A request, and the number that its reply repeats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRequest {
    /// The number; it is never reused on this connection.
    pub number: u64,
    /// What to do.
    pub ask: Ask,
}

/// A file: its path below the agent's root (names separated by slashes, without `.` and `..`; empty
/// for the root itself), or the handle of an open file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FileRef {
    /// By its path.
    Path(Vec<u8>),
    /// By its handle.
    Open(u64),
}

/// How a file is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenFlags {
    /// For reading.
    pub read: bool,
    /// For writing.
    pub write: bool,
    /// Writes append to the current end of the file.
    pub append: bool,
    /// The file is truncated first.
    pub truncate: bool,
    /// The file is created with this mode if it is missing.
    pub create: Option<u16>,
    /// The file must not exist yet.
    pub exclusive: bool,
}

impl OpenFlags {
    /// Returns whether a file that is opened like this can be changed by it or afterwards.
    #[must_use]
    pub fn changes(self) -> bool {
        self.write || self.append || self.truncate || self.create.is_some()
    }
}

/// A time to set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimeSet {
    /// The node's present time.
    Now,
    /// This time.
    To(Stamp),
}

/// Which file a node has under a path. The number of a file that is gone may be another one's: type
/// and time of birth tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileNumber {
    /// The number of the device that the file is on.
    pub device: u64,
    /// The inode number on that device.
    pub inode: u64,
    /// The type.
    pub kind: FileKind,
    /// The time of birth; 0 if the file system has none.
    pub born: Stamp,
}

impl From<&Attr> for FileNumber {
    fn from(attr: &Attr) -> Self {
        let Attr { device, inode, kind, born, .. } = *attr;
        Self { device, inode, kind, born }
    }
}

/// Attributes of a file to change; `None` keeps an attribute.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// The only file that is changed: another one may have its path by now.
    pub only: Option<FileNumber>,
    /// The permission bits.
    pub mode: Option<u16>,
    /// The owner's user id on the node.
    pub user: Option<u32>,
    /// The group id on the node.
    pub group: Option<u32>,
    /// The length in bytes.
    pub size: Option<u64>,
    /// The access time.
    pub accessed: Option<TimeSet>,
    /// The modification time.
    pub modified: Option<TimeSet>,
}

/// The kind of a file to create.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NewKind {
    /// An empty file.
    File,
    /// A directory.
    Folder,
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A symbolic link with this target.
    Link(Vec<u8>),
}

/// The place that a seek looks for, as in lseek(2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Hole {
    /// The next hole.
    Hole,
    /// The next bytes that are not in a hole.
    Data,
}

/// A request about files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ask {
    /// Return the attributes of a file.
    Stat(FileRef),
    /// Change attributes, and return all attributes of the file afterwards.
    Change(FileRef, Changes),
    /// Return the target of a symbolic link.
    ReadLink(Vec<u8>),
    /// Check whether the agent's user may read (4), write (2) or execute (1) the file.
    Access(Vec<u8>, u8),
    /// Create a file of this kind with this mode.
    Make(Vec<u8>, NewKind, u16),
    /// Create a hard link at the second path to the file at the first path.
    Link(Vec<u8>, Vec<u8>),
    /// Remove a name that is not a directory.
    Remove(Vec<u8>),
    /// Remove an empty directory.
    RemoveFolder(Vec<u8>),
    /// Rename the first path to the second, with the flags of renameat2(2): with 1 the second must
    /// not exist, 2 exchanges the two.
    Rename(Vec<u8>, Vec<u8>, u8),
    /// Open a file.
    Open(Vec<u8>, OpenFlags),
    /// Read from an open file: the handle, the offset, and the number of bytes. The bytes are the
    /// payload of the reply.
    Read(u64, u64, u32),
    /// Write the payload to an open file: the handle, and the offset.
    Write(u64, u64),
    /// Write the payload, which may be empty, to an open file, then change its attributes, and
    /// return all attributes of the file afterwards: the handle, the offset, and the changes.
    WriteChange(u64, u64, Changes),
    /// Flush an open file to stable storage: only its bytes if the flag is set, otherwise also its
    /// attributes.
    Sync(u64, bool),
    /// Call fallocate(2) on an open file: the handle, the mode, the offset and the length in bytes.
    Allocate(u64, u32, u64, u64),
    /// Return the offset of the next hole or data of an open file: the handle, and the offset to
    /// begin at.
    Seek(u64, u64, Hole),
    /// Open a directory, and return its handle and first entries.
    List(Vec<u8>),
    /// Return further entries of the directory with this handle.
    ListOn(u64),
    /// Close a file or directory. There is no reply.
    Close(u64),
    /// Return the size and the free space of the file system that this path is on.
    Space(Vec<u8>),
    /// Read a piece of a block of a content that the agent was told to serve: all of it, unless it
    /// is longer than a payload. The whole block is verified. The bytes are the payload of the
    /// reply. A content that it does not serve is the error `ENODATA`; bytes with another digest
    /// than that of the manifest are `ESTALE`, or `EAGAIN` if they did not arrive within some
    /// seconds.
    Block {
        /// The content: the digest of its manifest.
        root: [u8; 32],
        /// The number of the file in the manifest.
        file: u32,
        /// The number of the block in the file.
        block: u64,
        /// The number of the piece in the block.
        piece: u32,
        /// Whether the file may still be arriving.
        arriving: bool,
    },
    /// Check whether the agent serves this content, and has a file of the right length in the place
    /// of this file of the manifest.
    Holds {
        /// The content: the digest of its manifest.
        root: [u8; 32],
        /// The number of the file in the manifest.
        file: u32,
    },
    /// Flush the names in a directory to stable storage.
    SyncFolder(Vec<u8>),
}

impl Ask {
    /// Whether the agent replies to the request.
    #[must_use]
    pub fn has_reply(&self) -> bool {
        !matches!(self, Self::Close(_))
    }

    /// Whether the request can be executed safely: checks every path and number from the wire
    /// before it is used.
    #[must_use]
    pub fn is_sound(&self, payload: usize) -> bool {
        let bare = !matches!(self, Self::Write(..) | Self::WriteChange(..)) && payload > 0;
        !bare && self.paths().into_iter().flatten().all(is_clean) && self.is_bounded()
    }

    fn is_bounded(&self) -> bool {
        let within = |offset: u64, length: u64| {
            offset.checked_add(length).is_some_and(|end| i64::try_from(end).is_ok())
        };
        match self {
            Self::Read(_, offset, length) => *length <= PIECE && within(*offset, (*length).into()),
            Self::Write(_, offset) => within(*offset, PIECE.into()),
            Self::WriteChange(_, offset, changes) => {
                within(*offset, PIECE.into()) && changes.size.is_none()
            }
            Self::Allocate(_, _, offset, length) => within(*offset, *length),
            Self::Seek(_, offset, _) => within(*offset, 0),
            Self::Change(_, changes) => changes.size.is_none_or(|size| within(size, 0)),
            Self::Make(_, NewKind::Link(text), _) => {
                (1..PATH_MAX).contains(&text.len()) && !text.contains(&0)
            }
            _ => true,
        }
    }

    /// Returns the paths that the request names.
    #[must_use]
    pub fn paths(&self) -> [Option<&[u8]>; 2] {
        match self {
            Self::Stat(FileRef::Path(path)) | Self::Change(FileRef::Path(path), _) => {
                [Some(path), None]
            }
            Self::ReadLink(path)
            | Self::Access(path, _)
            | Self::Make(path, ..)
            | Self::Remove(path)
            | Self::RemoveFolder(path)
            | Self::Open(path, _)
            | Self::List(path)
            | Self::SyncFolder(path)
            | Self::Space(path) => [Some(path), None],
            Self::Link(one, two) | Self::Rename(one, two, _) => [Some(one), Some(two)],
            Self::Stat(FileRef::Open(_))
            | Self::Change(FileRef::Open(_), _)
            | Self::Read(..)
            | Self::Write(..)
            | Self::WriteChange(..)
            | Self::Sync(..)
            | Self::Allocate(..)
            | Self::Seek(..)
            | Self::ListOn(_)
            | Self::Block { .. }
            | Self::Holds { .. }
            | Self::Close(_) => [None, None],
        }
    }
}

/// Whether `path` is empty, or consists of valid names between slashes: none is empty, `.` or `..`.
fn is_clean(path: &[u8]) -> bool {
    let is_name = |name: &[u8]| {
        (1..=NAME_MAX).contains(&name.len()) && name != b"." && name != b".." && !name.contains(&0)
    };
    path.is_empty() || path.len() < PATH_MAX && path.split(|&byte| byte == b'/').all(is_name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_names_between_slashes() {
        for sound in ["", "a", "a/b", "..a/b.", "\u{fc}/\n"] {
            assert!(Ask::Stat(FileRef::Path(sound.into())).is_sound(0), "{sound}");
        }
        let long = "x".repeat(256);
        let deep = "x/".repeat(2048) + "x";
        for wrong in ["/", "/a", "a/", "a//b", ".", "..", "a/../b", "a/./b", "\0", &long, &deep] {
            assert!(!Ask::Stat(FileRef::Path(wrong.into())).is_sound(0), "{wrong}");
            assert!(!Ask::Rename(b"a".into(), wrong.into(), 0).is_sound(0), "{wrong}");
        }
    }

    #[test]
    fn numbers_are_bounded() {
        assert!(Ask::Read(1, 0, PIECE).is_sound(0));
        assert!(!Ask::Read(1, 0, PIECE + 1).is_sound(0));
        assert!(!Ask::Read(1, u64::MAX, 1).is_sound(0));
        assert!(!Ask::Write(1, i64::MAX as u64).is_sound(1));
        assert!(Ask::Write(1, 0).is_sound(1));
        assert!(!Ask::Close(1).is_sound(1), "a payload that nobody asked for");
        let size = |size| Changes { size: Some(size), ..Changes::default() };
        assert!(!Ask::Change(FileRef::Open(1), size(1 << 63)).is_sound(0));
        assert!(Ask::WriteChange(1, 0, Changes::default()).is_sound(1));
        assert!(!Ask::WriteChange(1, i64::MAX as u64, Changes::default()).is_sound(1));
        assert!(!Ask::WriteChange(1, 0, size(1)).is_sound(1), "a length is set by itself");
        assert!(!Ask::Make(b"l".into(), NewKind::Link(Vec::new()), 0).is_sound(0));
    }
}

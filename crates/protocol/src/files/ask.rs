//! What a mount asks of an agent, and the bounds of it.

use serde::{Deserialize, Serialize};

use super::attr::Stamp;
use super::line::PIECE;

/// Connections of one mount to one agent.
pub const FILES_LINKS: u16 = 2;

/// The one that carries whatever is large, so that nothing small waits behind it.
pub const BULK_LINK: u16 = 1;

/// The most payload that goes over the other connection, in bytes.
pub const SMALL_MAX: u32 = 16 << 10;

/// The most bytes of a path, and of one name in it.
const PATH_MAX: usize = 4096;
const NAME_MAX: usize = 255;

/// A question, and the number that its answer has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRequest {
    /// Its number, never used again on this connection.
    pub number: u64,
    /// The question.
    pub ask: Ask,
}

/// Which file is meant: by its path below the agent's root (names between slashes, none of them `.`
/// or `..`, nothing for the root itself), or by the handle of one that is open.
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
    /// To read it.
    pub read: bool,
    /// To write it.
    pub write: bool,
    /// Whatever is written goes to its end, wherever that is by then.
    pub append: bool,
    /// Its bytes are dropped first.
    pub truncate: bool,
    /// It is made, with this mode, if it isn't there.
    pub create: Option<u16>,
    /// It must not be there yet.
    pub exclusive: bool,
}

/// A time that is to be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TimeSet {
    /// To the node's own time.
    Now,
    /// To this one.
    To(Stamp),
}

/// What of a file's attributes is to be changed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// The permission bits.
    pub mode: Option<u16>,
    /// The owner.
    pub user: Option<u32>,
    /// The group.
    pub group: Option<u32>,
    /// The length.
    pub size: Option<u64>,
    /// When it was read.
    pub accessed: Option<TimeSet>,
    /// When it was changed.
    pub modified: Option<TimeSet>,
}

/// What is to be made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum NewKind {
    /// An empty file.
    File,
    /// A directory.
    Folder,
    /// A named pipe.
    Pipe,
    /// A socket's name.
    Socket,
    /// A symbolic link with this text.
    Link(Vec<u8>),
}

/// What is looked for behind an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Hole {
    /// The next hole.
    Hole,
    /// The next bytes that are none.
    Data,
}

/// A question or an order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Ask {
    /// What are its attributes?
    Stat(FileRef),
    /// Change them, and say what they are then.
    Change(FileRef, Changes),
    /// What is the link's text?
    ReadLink(Vec<u8>),
    /// May this user read (4), write (2), execute (1) it?
    Access(Vec<u8>, u8),
    /// Make it, with this mode.
    Make(Vec<u8>, NewKind, u16),
    /// Give the first path's file the second path as a further name.
    Link(Vec<u8>, Vec<u8>),
    /// Remove a name that is no directory's.
    Remove(Vec<u8>),
    /// Remove an empty directory.
    RemoveFolder(Vec<u8>),
    /// Rename: the kernel's flags 1 (nothing may be replaced) and 2 (the two change places).
    Rename(Vec<u8>, Vec<u8>, u8),
    /// Open a file.
    Open(Vec<u8>, OpenFlags),
    /// Read a number of bytes from an offset on; they are the answer's payload.
    Read(u64, u64, u32),
    /// Write the payload at an offset.
    Write(u64, u64),
    /// Bring what was written to stable storage; the bytes alone, if that is enough.
    Sync(u64, bool),
    /// fallocate(2) with the kernel's mode: offset and length in bytes.
    Allocate(u64, u32, u64, u64),
    /// Where, from an offset on, is the next of that kind?
    Seek(u64, u64, Hole),
    /// Open a directory, and begin to list it.
    List(Vec<u8>),
    /// Go on listing.
    ListOn(u64),
    /// Close a file or directory. The answer is ignored.
    Close(u64),
    /// How much room is there?
    Space(Vec<u8>),
}

impl Ask {
    /// Whether it can be obeyed without harm: every number from the wire is bounded before it is
    /// used.
    #[must_use]
    pub fn is_sound(&self, payload: usize) -> bool {
        let bare = !matches!(self, Self::Write(..)) && payload > 0;
        !bare && self.paths().into_iter().flatten().all(is_clean) && self.is_bounded()
    }

    fn is_bounded(&self) -> bool {
        let within = |offset: u64, length: u64| {
            offset.checked_add(length).is_some_and(|end| i64::try_from(end).is_ok())
        };
        match self {
            Self::Read(_, offset, length) => *length <= PIECE && within(*offset, (*length).into()),
            Self::Write(_, offset) => within(*offset, PIECE.into()),
            Self::Allocate(_, _, offset, length) => within(*offset, *length),
            Self::Seek(_, offset, _) => within(*offset, 0),
            Self::Change(_, changes) => changes.size.is_none_or(|size| within(size, 0)),
            Self::Make(_, NewKind::Link(text), _) => {
                (1..PATH_MAX).contains(&text.len()) && !text.contains(&0)
            }
            _ => true,
        }
    }

    fn paths(&self) -> [Option<&[u8]>; 2] {
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
            | Self::Space(path) => [Some(path), None],
            Self::Link(one, two) | Self::Rename(one, two, _) => [Some(one), Some(two)],
            Self::Stat(FileRef::Open(_))
            | Self::Change(FileRef::Open(_), _)
            | Self::Read(..)
            | Self::Write(..)
            | Self::Sync(..)
            | Self::Allocate(..)
            | Self::Seek(..)
            | Self::ListOn(_)
            | Self::Close(_) => [None, None],
        }
    }
}

/// Names between slashes, none of them special.
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
        assert!(!Ask::Make(b"l".into(), NewKind::Link(Vec::new()), 0).is_sound(0));
    }
}

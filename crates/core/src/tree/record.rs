//! The records of a tree's stream.

use serde::{Deserialize, Serialize};

use super::pattern::Pattern;

/// Folders within directories, at most: a node has each of them open.
pub const DEPTH_MAX: usize = 200;

/// Bytes of a record at most, extended attributes included.
pub const RECORD_MAX: usize = 256 << 10;

/// Bytes of a name at most, as Linux has it.
const NAME_MAX: usize = 255;

/// Bytes of a link's target at most, as Linux has it.
const TARGET_MAX: usize = 4095;

/// The byte before a record that is to be obeyed, and behind the bytes of a file that are whole.
pub const GOOD: u8 = 0;

/// The byte before a [`Record::Name`] that isn't to be obeyed, since the file failed, and behind the
/// bytes of a file that failed.
pub const VOID: u8 = 1;

/// What a file, a directory or a link has besides its bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// Permission bits, with those for setuid, setgid and sticky.
    pub mode: u32,
    /// The numbers of user and group.
    pub owner: (u32, u32),
    /// When it was modified: seconds and nanoseconds since the start of 1970.
    pub modified: (i64, u32),
    /// Extended attributes: names and values.
    pub attributes: Vec<(Vec<u8>, Vec<u8>)>,
}

/// One thing in a tree's stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Record {
    /// What the directory that all goes into is to have when the stream is over.
    Top(Meta),
    /// Make this directory, unless it is there, and go into it; what follows is in it.
    Enter {
        /// Its name.
        name: Vec<u8>,
        /// What it is to have once it is left.
        meta: Meta,
    },
    /// Go back to the directory above.
    Leave,
    /// A file: its bytes follow, and behind them [`GOOD`] or [`VOID`].
    File {
        /// Its name.
        name: Vec<u8>,
        /// What it is to have.
        meta: Meta,
        /// Its bytes.
        length: u64,
        /// It has holes; where it has zeros there may be some.
        sparse: bool,
        /// It has more names than this one.
        linked: bool,
    },
    /// A symbolic link.
    Link {
        /// Its name.
        name: Vec<u8>,
        /// What it is to have.
        meta: Meta,
        /// The target, which is not followed.
        target: Vec<u8>,
    },
    /// Another name of a file that came before: a hard link.
    Name {
        /// The name.
        name: Vec<u8>,
        /// The directories from the top, and the name there, of the file.
        first: Vec<Vec<u8>>,
    },
    /// Nothing follows.
    End,
    /// There are directories to be swept: what these patterns mean stays in them, whatever it is. Comes
    /// first.
    Spare(Vec<Vec<u8>>),
    /// Remove all that is in the present directory and that the stream didn't bring.
    Sweep,
}

impl Record {
    /// The record's bytes in a stream: [`GOOD`], the length of what follows (four bytes, the lowest
    /// first), and the record (postcard).
    ///
    /// # Panics
    /// Never: the type always has bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let body = postcard::to_stdvec(self).expect("the type has no unserialisable part");
        let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
        [&[GOOD][..], &length.to_le_bytes(), &body].concat()
    }

    /// Its name in the directory that the stream is in, if it has one.
    #[must_use]
    pub fn name(&self) -> Option<&[u8]> {
        match self {
            Self::Enter { name, .. }
            | Self::File { name, .. }
            | Self::Link { name, .. }
            | Self::Name { name, .. } => Some(name),
            Self::Top(_) | Self::Leave | Self::End | Self::Spare(_) | Self::Sweep => None,
        }
    }

    /// Whether a node may obey it: its names are single ones, and nothing is longer than Linux has
    /// it.
    pub(super) fn is_sound(&self) -> bool {
        let named = self.name().is_none_or(is_name);
        named
            && match self {
                Self::Link { target, meta, .. } => {
                    let length = (1..=TARGET_MAX).contains(&target.len());
                    length && !target.contains(&0) && meta.is_sound()
                }
                Self::Name { first, .. } => {
                    (1..=DEPTH_MAX + 1).contains(&first.len())
                        && first.iter().all(|name| is_name(name))
                }
                Self::Top(meta) | Self::Enter { meta, .. } | Self::File { meta, .. } => {
                    meta.is_sound()
                }
                Self::Spare(patterns) => patterns.iter().all(|it| Pattern::parse(it).is_ok()),
                Self::Leave | Self::End | Self::Sweep => true,
            }
    }
}

impl Meta {
    fn is_sound(&self) -> bool {
        let (user, group) = self.owner;
        let name = |name: &[u8]| (1..=NAME_MAX).contains(&name.len()) && !name.contains(&0);
        // The largest number is invalid as an id.
        user != u32::MAX && group != u32::MAX && self.attributes.iter().all(|(of, _)| name(of))
    }
}

/// Whether it is the name of something in a directory, and not of another directory.
fn is_name(name: &[u8]) -> bool {
    let leads_away = matches!(name, b"." | b"..") || name.contains(&b'/') || name.contains(&0);
    (1..=NAME_MAX).contains(&name.len()) && !leads_away
}

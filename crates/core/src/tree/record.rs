//! The records of tree streams.

use serde::{Deserialize, Serialize};

use super::pattern::Pattern;

/// The maximum nesting of directories: a node keeps every directory of the current path open.
pub const DEPTH_MAX: usize = 200;

/// The maximum length of a record in bytes, including its header and extended attributes.
pub const RECORD_MAX: usize = 256 << 10;

/// The length of a record's header in bytes: validity byte and record length.
pub(super) const HEADER: usize = 5;

/// The maximum length of a name in bytes on Linux.
const NAME_MAX: usize = 255;

/// The maximum length of a path in bytes on Linux, without the zero byte at its end.
pub const PATH_MAX: usize = 4095;

/// The maximum length of a file's list of names of attributes on Linux (`XATTR_LIST_MAX`), each
/// with a zero byte.
const ATTRIBUTE_NAMES_MAX: usize = 64 << 10;

/// The maximum number of a file's attributes: each has a prefix, such as `user.`, and a letter.
const ATTRIBUTES_MAX: usize = ATTRIBUTE_NAMES_MAX / 7;

/// The maximum length of a symbolic link's target in bytes on Linux.
const TARGET_MAX: usize = 4095;

/// The validity byte of a valid record, and of a file whose bytes are valid.
pub const GOOD: u8 = 0;

/// The validity byte of a file that failed, and of a [`Record::Name`] that must be ignored because
/// the linked file failed.
pub const VOID: u8 = 1;

/// The metadata of a file, a directory or a symbolic link.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meta {
    /// Permission bits, including setuid, setgid and sticky.
    pub mode: u32,
    /// User and group ID.
    pub owner: (u32, u32),
    /// Modification time: seconds since 1970-01-01, nanoseconds.
    pub modified: (i64, u32),
    /// Extended attributes: names and values.
    pub attributes: Vec<(Vec<u8>, Vec<u8>)>,
}

/// A record of a tree stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Record {
    /// The metadata of the destination directory, applied at the end of the stream.
    Top(Meta),
    /// Creates this directory if missing, and makes it the current directory.
    Enter {
        /// The directory's name.
        name: Vec<u8>,
        /// The directory's metadata, applied when the stream leaves the directory.
        meta: Meta,
    },
    /// Makes the parent directory the current directory.
    Leave,
    /// A regular file; its bytes follow, and then [`GOOD`] or [`VOID`].
    File {
        /// The file's name.
        name: Vec<u8>,
        /// The file's metadata.
        meta: Meta,
        /// The file's length in bytes.
        length: u64,
        /// Whether the source file has holes; then zeros in the copy may become holes.
        sparse: bool,
        /// Whether the file has several hard links at its source.
        linked: bool,
    },
    /// A symbolic link.
    Link {
        /// The link's name.
        name: Vec<u8>,
        /// The link's metadata.
        meta: Meta,
        /// The target, which is not followed.
        target: Vec<u8>,
    },
    /// A hard link to an earlier file.
    Name {
        /// The link's name.
        name: Vec<u8>,
        /// The path of the earlier file from the top, one component per element.
        first: Vec<Vec<u8>>,
    },
    /// The end of the stream.
    End,
    /// Announces that [`Record::Sweep`] records follow, and that files matching these patterns are
    /// kept. This is the first record of the stream.
    Spare(Vec<Vec<u8>>),
    /// Removes all entries of the current directory that the stream did not contain.
    Sweep,
    /// A name that [`Record::Sweep`] does not remove, if it is there: of an entry that is in place
    /// already, or that is never copied, such as a socket.
    Kept {
        /// The entry's name.
        name: Vec<u8>,
    },
}

impl Record {
    /// Encodes the record: [`GOOD`], the length of the rest (four bytes, little endian), and the
    /// record (postcard).
    ///
    /// # Panics
    /// Never: the type can always be serialized.
    pub fn to_bytes(&self) -> Vec<u8> {
        let body = postcard::to_stdvec(self).expect("a record can always be serialized");
        let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
        [&[GOOD][..], &length.to_le_bytes(), &body].concat()
    }

    /// Decodes a record from the bytes that [`Self::to_bytes`] returns; `None` if they are invalid.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (record, rest): (Self, _) = postcard::take_from_bytes(bytes.get(HEADER..)?).ok()?;
        (rest.is_empty() && record.is_sound()).then_some(record)
    }

    /// Returns the record's name in the current directory, if the record has a name.
    pub fn name(&self) -> Option<&[u8]> {
        match self {
            Self::Enter { name, .. }
            | Self::File { name, .. }
            | Self::Link { name, .. }
            | Self::Name { name, .. }
            | Self::Kept { name } => Some(name),
            Self::Top(_) | Self::Leave | Self::End | Self::Spare(_) | Self::Sweep => None,
        }
    }

    /// Returns whether the record is valid: names are single components, and nothing exceeds the
    /// limits of Linux.
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
                Self::Leave | Self::End | Self::Sweep | Self::Kept { .. } => true,
            }
    }
}

impl Meta {
    fn is_sound(&self) -> bool {
        let (user, group) = self.owner;
        let names = || self.attributes.iter().map(|(name, _)| name.as_slice());
        let name = |name: &[u8]| (1..=NAME_MAX).contains(&name.len()) && !name.contains(&0);
        let listed: usize = names().map(|name| name.len() + 1).sum();
        let has_listed = listed <= ATTRIBUTE_NAMES_MAX && self.attributes.len() <= ATTRIBUTES_MAX;
        // The largest number is not a valid ID.
        user != u32::MAX && group != u32::MAX && has_listed && names().all(name)
    }
}

/// Returns whether a directory entry other than `.` and `..` can have this name.
#[must_use]
pub fn is_name(name: &[u8]) -> bool {
    let leads_away = matches!(name, b"." | b"..") || name.contains(&b'/') || name.contains(&0);
    (1..=NAME_MAX).contains(&name.len()) && !leads_away
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_file_has_more_attributes_than_linux_lists() {
        let read = |count: usize, length: usize| {
            let attribute = |number: usize| (format!("{number:0length$}").into_bytes(), Vec::new());
            let attributes = (0..count).map(attribute).collect();
            let meta = Meta { attributes, ..Meta::default() };
            Record::from_bytes(&Record::Top(meta).to_bytes()).is_some()
        };
        assert!(read(ATTRIBUTES_MAX, 6));
        assert!(!read(ATTRIBUTES_MAX + 1, 5));
        assert!(!read(ATTRIBUTE_NAMES_MAX / 101 + 1, 100));
    }
}

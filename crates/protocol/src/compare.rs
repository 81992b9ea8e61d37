//! Compares a node's destination with the source before a copy begins.

use serde::{Deserialize, Serialize};

use super::channel::MAX_MESSAGE;
use garland_core::plan::{BLOCKS_MAX, LaneBlocks, Layout};

/// The most digests in one message.
pub const DIGESTS_MAX: usize = (MAX_MESSAGE - 64) / 32;

/// The bytes of a catalogue that are compressed into one message; the result may be a little longer.
pub const CATALOGUE_MAX: usize = 60_000;

/// A comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compare {
    /// The destination as the user wrote it, in the system's bytes.
    pub path: Vec<u8>,
    /// The name to use when `path` turns out to be a directory.
    pub name: Vec<u8>,
    /// The block layout of the source.
    pub layout: Layout,
    /// The outline of the source, if it is a tree.
    pub tree: Option<TreeOutline>,
    /// The part of the source that the node may read itself, on a shared file system.
    pub shared: Option<SharedPart>,
}

/// A part of a source on a file system that the node shares with the head: the node reads it, and reports its
/// digests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedPart {
    /// The source's path, in the system's bytes.
    pub path: Vec<u8>,
    /// When it was modified, as the head sees it: seconds and nanoseconds. Its length is the layout's.
    pub modified: (i64, u32),
    /// The blocks that the node reads.
    pub blocks: LaneBlocks,
}

/// The outline of a tree, sent before its catalogue, which is all records of its stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeOutline {
    /// Bytes of the catalogue.
    pub bytes: u64,
    /// Records in it.
    pub records: u32,
    /// Some of the names at the top: if none exists, there is nothing to compare.
    pub names: Vec<Vec<u8>>,
}

impl TreeOutline {
    /// The maximum number of names at the top.
    pub const NAMES_MAX: usize = 64;
}

impl Compare {
    /// Checks that the values from the wire are within limits.
    ///
    /// # Errors
    /// What is out of bounds, in words.
    pub fn check(&self) -> Result<(), String> {
        let Layout { length, block_size, .. } = self.layout;
        let layout = Layout::new(length, block_size).map_err(|error| error.to_string())?;
        match layout.blocks() {
            _ if self.layout.open => Err("a stream can't be compared".to_owned()),
            blocks if blocks > BLOCKS_MAX => Err(format!("{blocks} blocks")),
            blocks if self.shared.as_ref().is_some_and(|it| !it.blocks.is_sound(blocks)) => {
                Err("a part that the source hasn't".to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// An order to an agent in a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CompareOrder {
    /// Report what is at the destination.
    Stat(Compare),
    /// The digests of the source's blocks in their order, and whether more follow: report how many of the
    /// blocks are present.
    Digests(Vec<[u8; 32]>, bool),
    /// A part of a tree's catalogue, compressed separately, and whether more follow.
    Catalogue(Vec<u8>, bool),
}

/// An event of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compared {
    /// There is nothing to compare the source with.
    Nothing,
    /// Parts of this tree exist: the catalogue is needed.
    Wants,
    /// The existing files are being read.
    Reading,
    /// The digests of the blocks that it reads of a shared source, in their order, and whether more
    /// follow.
    Part(Vec<[u8; 32]>, bool),
    /// It can't read its part of a shared source, and why.
    Unseen(String),
    /// There is a file or a part of one, and all its digests are known.
    Found {
        /// Bytes of the file that has the name already; none where there is none, but only what an
        /// interrupted copy left.
        length: Option<u64>,
        /// The digest of that file, cut as the source is.
        root: [u8; 32],
    },
    /// The number of blocks that are present, of those whose digests were sent.
    Has {
        /// In all.
        blocks: u64,
        /// Of what an interrupted copy left, if it left something.
        left: Option<u64>,
    },
}

#[cfg(test)]
mod tests {
    use super::super::message::{FromAgent, ToAgent};
    use super::*;

    #[test]
    fn a_parcel_of_digests_is_a_message() {
        let digests = CompareOrder::Digests(vec![[255; 32]; DIGESTS_MAX], true);
        let bytes = ToAgent::Compare(digests).to_bytes();
        assert!(bytes.len() <= MAX_MESSAGE);
        let part = FromAgent::Compared(Compared::Part(vec![[255; 32]; DIGESTS_MAX], true));
        assert!(part.to_bytes().len() <= MAX_MESSAGE);
    }

    #[test]
    fn what_no_copy_could_be_is_refused() {
        let of = |length, block_size| Compare {
            path: Vec::new(),
            name: Vec::new(),
            layout: Layout { length, block_size, open: false },
            tree: None,
            shared: None,
        };
        assert_eq!(of(5, 4096).check(), Ok(()));
        assert!(of(5, 0).check().is_err());
        assert!(of(u64::MAX, 4096).check().is_err());
        let part = |run, end| SharedPart {
            path: Vec::new(),
            modified: (0, 0),
            blocks: LaneBlocks { first: 0, run, step: 1, end },
        };
        let shared = |part| Compare { shared: Some(part), ..of(5000, 4096) }.check();
        assert_eq!(shared(part(1, 2)), Ok(()));
        assert!(shared(part(1, 3)).is_err() && shared(part(2, 2)).is_err());
    }
}

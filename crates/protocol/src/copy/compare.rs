//! Comparison of a node's destination with the source before a copy begins.

use garland_core::plan::{BLOCKS_MAX, LaneBlocks, Layout};
use serde::{Deserialize, Serialize};

use crate::bounds::{self, ensure, within};
use crate::copy::begin::{KeptStatus, SweptMounts};
use crate::wire::MAX_MESSAGE;

/// The maximum number of digests in one message.
pub const DIGESTS_MAX: usize = (MAX_MESSAGE - 64) / 32;

/// The maximum number of bytes of a bitmap of records in one message.
pub const BITMAP_MAX: usize = 60_000;

/// The maximum number of a catalogue's bytes in one message, before compression. Bytes that cannot
/// be compressed get slightly longer.
pub const CATALOGUE_MAX: usize = 60_000;

/// The maximum memory of the paths that a node names as what a copy removes there, in bytes, as
/// [`path_memory`] counts it; further paths are counted.
pub const SURPLUS_MAX: usize = 2 << 20;

/// Returns what a path in a list of limited memory counts for, in bytes: short paths take more
/// memory than their bytes.
#[must_use]
pub fn path_memory(path: &[u8]) -> usize {
    path.len().max(size_of::<Vec<u8>>())
}

/// A comparison that a node is asked to make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compare {
    /// The destination as the user wrote it (raw bytes).
    pub path: Vec<u8>,
    /// The file's name if `path` is a directory.
    pub name: Vec<u8>,
    /// The block layout of the source.
    pub layout: Layout,
    /// The outline of the source, if the source is a tree.
    pub tree: Option<TreeOutline>,
    /// What is compared.
    pub by: CompareBy,
    /// The part of the source that the node may read itself, on a shared file system.
    pub shared: Option<SharedPart>,
}

/// What is compared of a file or of the entries of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CompareBy {
    /// The bytes. A file of which an earlier copy has recorded the digests is not read.
    Contents,
    /// Of a tree, the bytes of files whose length or modification time differs; all other files
    /// count as equal, and are not read.
    Differing(TimeWindow),
    /// Of the entries of a tree, kind, length, modification time, mode and owner, and if requested
    /// extended attributes. No file is read.
    Status {
        /// What counts as unchanged.
        rule: StatusRule,
        /// Whether every node compares everything, and names what the copy would remove.
        named: bool,
    },
    /// The bytes of a file, which are read whatever earlier copies have recorded of it.
    Bytes,
}

/// By what an entry of a tree counts as unchanged, beside kind, length and owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusRule {
    /// Whether extended attributes are compared.
    pub attributes: bool,
    /// Which modification times count as equal.
    pub window: TimeWindow,
    /// What the copy sets: a mode that it does not set is not compared, nor is such a time of
    /// directories and links. Files are compared by their times in any case.
    pub keeps: KeptStatus,
    /// From which directories the copy removes something.
    pub swept: SweptMounts,
}

/// How far two modification times that count as equal may be apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimeWindow(
    /// The number of seconds, of which parts are not compared; `None` if times must be the same.
    pub Option<u32>,
);

impl TimeWindow {
    /// Returns whether two times, in seconds and nanoseconds, count as equal.
    #[must_use]
    pub fn covers(self, one: (i64, u32), other: (i64, u32)) -> bool {
        match self.0 {
            Some(seconds) => one.0.abs_diff(other.0) <= u64::from(seconds),
            None => one == other,
        }
    }
}

/// A part of a source on a file system that the node shares with the head. The node reads this part
/// and reports its digests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SharedPart {
    /// The source's path (raw bytes).
    pub path: Vec<u8>,
    /// The modification time as the head sees it: seconds and nanoseconds. The length is that of
    /// the layout.
    pub modified: (i64, u32),
    /// The blocks that the node reads.
    pub blocks: LaneBlocks,
}

/// A summary of a tree, which is sent before the tree's catalogue: all records of its stream,
/// without the contents of files.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeOutline {
    /// The length of the catalogue in bytes.
    pub bytes: u64,
    /// The number of records in the catalogue.
    pub records: u32,
    /// Some of the names at the top of the tree. If none of them exists at the destination, there
    /// is nothing to compare.
    pub names: Vec<Vec<u8>>,
}

impl TreeOutline {
    /// The maximum number of `names`.
    pub const NAMES_MAX: usize = 64;
}

impl Compare {
    /// Checks that the values from the wire are within limits.
    ///
    /// # Errors
    /// Names the value that is out of bounds.
    pub fn check(&self) -> Result<(), String> {
        let Layout { length, block_size, .. } = self.layout;
        let layout = Layout::new(length, block_size).map_err(|error| error.to_string())?;
        let blocks = layout.blocks();
        ensure(!self.layout.open, || "the source is a stream, which cannot be compared")?;
        within("blocks", blocks, 0..=BLOCKS_MAX)?;
        let is_within = self.shared.as_ref().is_none_or(|part| part.blocks.is_sound(blocks));
        ensure(is_within, || "the shared part contains blocks beyond the end of the source")
    }
}

/// An order to an agent in a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CompareOrder {
    /// Report what is at the destination.
    Stat(Compare),
    /// The digests of the source's blocks in order, and whether more follow. The node reports how
    /// many of these blocks it has.
    Digests(Vec<[u8; 32]>, bool),
    /// A piece of a tree's catalogue, which can be decompressed without the other pieces, and
    /// whether more follow.
    Catalogue(Vec<u8>, bool),
}

/// An agent's message in a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Compared {
    /// There is nothing at the destination to compare with the source.
    Nothing,
    /// Parts of the tree exist at the destination: the node needs the catalogue.
    Wants,
    /// The node is reading the existing files.
    Reading,
    /// The digests of the blocks that the node reads from a shared source, in order, and whether
    /// more follow.
    Part(Vec<[u8; 32]>, bool),
    /// The node cannot read its part of a shared source, and why.
    Unseen(#[serde(deserialize_with = "bounds::reason")] String),
    /// The destination has a file or the remains of an interrupted copy, and its digests are known.
    Found {
        /// The length of the existing file in bytes; `None` if there are only remains of an
        /// interrupted copy.
        length: Option<u64>,
        /// The root digest of the existing bytes, in the source's block layout.
        root: [u8; 32],
    },
    /// The records of the catalogue whose entries are unchanged by status: a piece of the bitmap of
    /// an [`IndexSet`](garland_core::index_set::IndexSet), and whether more follow.
    Unchanged(Vec<u8>, bool),
    /// What the copy would remove at the destination: paths relative to it, those of directories
    /// with a slash at the end, and the number of further paths for which there was no room.
    Surplus(Vec<Vec<u8>>, u64),
    /// The reply to `Digests`: how many of the source's blocks the node has.
    Has {
        /// The number of blocks that the node has, of those whose digests were sent.
        blocks: u64,
        /// The part of `blocks` that an interrupted copy left; `None` if there are no remains of
        /// one.
        left: Option<u64>,
    },
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{FromAgent, Message, ToAgent};

    #[test]
    fn the_largest_piece_of_digests_fits_into_a_message() {
        let digests = CompareOrder::Digests(vec![[255; 32]; DIGESTS_MAX], true);
        let bytes = ToAgent::Compare(digests).to_bytes();
        assert!(bytes.len() <= MAX_MESSAGE);
        let part = FromAgent::Compared(Compared::Part(vec![[255; 32]; DIGESTS_MAX], true));
        assert!(part.to_bytes().len() <= MAX_MESSAGE);
        let bitmap = FromAgent::Compared(Compared::Unchanged(vec![255; BITMAP_MAX], true));
        assert!(bitmap.to_bytes().len() <= MAX_MESSAGE);
    }

    #[test]
    fn times_within_the_window_count_as_equal() {
        let covers = |window, one, other| TimeWindow(window).covers(one, other);
        assert!(covers(None, (5, 7), (5, 7)) && !covers(None, (5, 7), (5, 8)));
        assert!(covers(Some(0), (5, 7), (5, 8)) && !covers(Some(0), (5, 0), (6, 0)));
        assert!(covers(Some(2), (5, 0), (7, 9)) && covers(Some(2), (7, 9), (5, 0)));
        assert!(!covers(Some(2), (5, 0), (8, 0)) && !covers(Some(1), (i64::MIN, 0), (i64::MAX, 0)));
    }

    #[test]
    fn impossible_comparisons_are_refused() {
        let of = |length, block_size| Compare {
            path: Vec::new(),
            name: Vec::new(),
            layout: Layout { length, block_size, open: false },
            tree: None,
            by: CompareBy::Contents,
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

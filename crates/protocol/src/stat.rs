//! What a node has to give: asked before a plan can be made.

use serde::{Deserialize, Serialize};

/// What to look for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatRequest {
    /// A file's path as the user wrote it, in the system's bytes.
    pub path: Vec<u8>,
    /// Look for its stripes instead of itself.
    pub stripes: bool,
    /// Look at all that is below it, and keep what was seen: it is copied as a tree.
    pub tree: Option<TreeStatRequest>,
}

/// What of a tree is looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeStatRequest {
    /// Patterns (`garland_core::tree::Pattern`) of what isn't.
    pub excludes: Vec<Vec<u8>>,
    /// Whether extended attributes are.
    pub attributes: bool,
}

/// What was seen of a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeStat {
    /// Its number among what the node keeps for this head.
    pub number: u32,
    /// Files.
    pub files: u64,
    /// Folders.
    pub folders: u64,
    /// Symbolic links, and further names of files.
    pub links: u64,
}

/// Something of a tree that a node doesn't give.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absent {
    /// Its path on the node, in the system's bytes.
    pub path: Vec<u8>,
    /// Why.
    pub reason: String,
    /// Whether it should have been given; sockets and devices shouldn't.
    pub missed: bool,
}

/// What of a tree a node doesn't give.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Absence {
    /// How much that should have been given.
    pub missed: u64,
    /// How much that shouldn't.
    pub skipped: u64,
    /// As much of it as fits into a message, what should have been given first.
    pub first: Vec<Absent>,
}

/// The maximum number of stripes of a name that a node reports.
pub const SIGHTS_MAX: usize = 16;

/// The maximum length of a manifest in bytes. [`SIGHTS_MAX`] of them may exceed a message, so a node reports
/// as many as fit.
pub const MANIFEST_MAX: usize = 32 << 10;

/// A file that a node has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatReply {
    /// What its name has behind the name that was asked for: nothing, or `.stripe-2of4`.
    pub suffix: Vec<u8>,
    /// Its length in bytes; none where it isn't there though its manifest is.
    pub length: Option<u64>,
    /// When it was modified: seconds and nanoseconds.
    pub modified: (i64, u32),
    /// Its permission bits.
    pub mode: u32,
    /// The text beside a stripe; empty for a file.
    pub manifest: Vec<u8>,
    /// What was seen of a tree, whose stream has that length; none for a file.
    pub tree: Option<TreeStat>,
}

//! Requests for the files that a node could send, which the head makes before it plans a copy.

use garland_core::tree::SourcePath;
use serde::{Deserialize, Serialize};

use super::absence::Absence;

/// A request for the attributes of a file or a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatRequest {
    /// The paths of the files, of which there is one unless a tree is asked for.
    pub paths: Vec<SourcePath>,
    /// Whether to report the stripes of the file instead of the file.
    pub stripes: bool,
    /// If given, everything at the paths and below is examined as one tree, and the result is kept
    /// for the copy.
    pub tree: Option<TreeStatRequest>,
}

/// The options for examining a tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeStatRequest {
    /// Patterns (`garland_core::tree::Pattern`) of paths to skip.
    pub excludes: Vec<Vec<u8>>,
    /// Whether to read extended attributes.
    pub attributes: bool,
    /// Whether what is mounted in the tree is left out.
    pub one_file_system: bool,
    /// Whether the tree has only files, those to which symbolic links at the end of the paths lead
    /// included.
    pub files_only: bool,
    /// Whether the reply tells what is left out. A copy tells it in the end, a dry run makes none.
    pub tells_absence: bool,
}

/// A summary of an examined tree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeStat {
    /// The number under which the node keeps the result for this head.
    pub number: u32,
    /// The number of files.
    pub files: u64,
    /// The number of directories.
    pub folders: u64,
    /// The number of symbolic links and of further names of files (hard links).
    pub links: u64,
    /// What is left out, as far as a message has room for it; nothing unless it was asked for.
    pub absence: Absence,
}

/// The maximum number of stripes of a file that a node reports.
pub const SIGHTS_MAX: usize = 16;

/// The maximum length of a manifest in bytes. [`SIGHTS_MAX`] of them may exceed a message, so a
/// node reports as many as fit.
pub const MANIFEST_MAX: usize = 32 << 10;

/// A file that a node has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatReply {
    /// The part of the file's name after the requested name: nothing, or for example
    /// `.stripe-2of4`.
    pub suffix: Vec<u8>,
    /// The length in bytes; `None` if the file is missing though its manifest exists.
    pub length: Option<u64>,
    /// The modification time: seconds and nanoseconds.
    pub modified: (i64, u32),
    /// The permission bits.
    pub mode: u32,
    /// The text of the manifest of a stripe; empty for another file.
    pub manifest: Vec<u8>,
    /// The summary of a tree, whose stream has `length` bytes; `None` for a file.
    pub tree: Option<TreeStat>,
}

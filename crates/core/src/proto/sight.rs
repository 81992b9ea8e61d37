//! What a node has to give: asked before a plan can be made.

use serde::{Deserialize, Serialize};

/// What to look for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Look {
    /// A file's path as the user wrote it, in the system's bytes.
    pub path: Vec<u8>,
    /// Look for its stripes instead of itself.
    pub stripes: bool,
}

/// The most stripes of one name that a node tells of.
pub const SIGHTS_MAX: usize = 16;

/// The longest manifest in bytes: with [`SIGHTS_MAX`] of them an answer would be longer than a
/// message may be, so a node tells of as many as fit.
pub const MANIFEST_MAX: usize = 32 << 10;

/// A file that a node has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sight {
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
}

//! The state of a file by which cached bytes are recognized as valid.

use garland_protocol::files::{Attr, Stamp};

/// The times and the length that a file had when bytes of it were cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheStamp {
    modified: Stamp,
    changed: Stamp,
    size: u64,
}

impl CacheStamp {
    /// Returns the stamp of a file with these attributes.
    pub fn from_attr(attr: &Attr) -> Self {
        Self { modified: attr.modified, changed: attr.changed, size: attr.size }
    }
}

//! The state of a file that cached bytes belong to.

use garland_protocol::{Attr, Stamp};

/// The times and the length of a file when cached bytes were read from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheStamp {
    modified: Stamp,
    changed: Stamp,
    size: u64,
}

impl CacheStamp {
    /// The stamp of a file with these attributes.
    pub fn of(attr: &Attr) -> Self {
        Self { modified: attr.modified, changed: attr.changed, size: attr.size }
    }
}

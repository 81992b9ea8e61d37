//! A file's bytes on their ways to and from its node, as far as all who have it open share it.

use std::sync::Arc;

use garland_protocol::{Attr, Stamp};

use super::behind::Behind;
use super::open::OpenFile;

/// What is done once a file is settled.
pub type Settled = Box<dyn FnOnce() + Send>;

/// What a file's cached pages were read from: its times and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheStamp {
    modified: Stamp,
    changed: Stamp,
    size: u64,
}

impl CacheStamp {
    /// What these attributes tell.
    pub fn of(attr: &Attr) -> Self {
        Self { modified: attr.modified, changed: attr.changed, size: attr.size }
    }
}

/// One file's.
#[derive(Default)]
pub struct Flow {
    /// What isn't acknowledged yet.
    pub behind: Behind<Arc<OpenFile>>,
    /// What waits for all of that to be.
    pub waiting: Vec<Settled>,
    /// Grows with everything that changes the bytes from here: what was read ahead before is old.
    pub version: u64,
    /// What the kernel's cached pages are of; nothing when that isn't certain.
    pub seen: Option<CacheStamp>,
    /// Its length, as far as the kernel was told.
    pub size: u64,
    /// Who has it open: where a question goes when it has no name any more.
    pub open: Vec<Arc<OpenFile>>,
}

impl Flow {
    /// The attributes with what is still on its way to the node.
    pub fn with_written(&mut self, mut attr: Attr) -> Attr {
        if let Some(end) = self.behind.end() {
            attr.size = attr.size.max(end);
        }
        self.size = attr.size;
        attr
    }
}

//! A file without a name as a destination: bytes are written to the disk as in any copy, and the
//! file vanishes when the copy ends.

use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use garland_core::printable;
use garland_core::trace::Stage;

use super::{Store, StoreError, TestFile};
use crate::pace::{self, Pace};
use crate::recorder::Collector;
use crate::usage::Usage;

/// A store that writes to a file without a name.
pub struct ScratchStore {
    file: TestFile,
    path: String,
    fsync: bool,
    disk: Option<Arc<Pace>>,
    usage: Arc<Usage>,
}

impl ScratchStore {
    /// Returns a store that writes to `file`, which is in the directory `path`. `disk` is the
    /// node's emulated disk; the time of disk calls is added to `usage`. `fsync` tells whether the
    /// commit makes the file stable.
    pub fn new(
        file: TestFile,
        path: &[u8],
        fsync: bool,
        disk: Option<Arc<Pace>>,
        usage: Arc<Usage>,
    ) -> Self {
        Self { file, path: printable::name(path), fsync, disk, usage }
    }

    fn pass<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        self.usage.during(|| pace::on(self.disk.as_deref(), bytes, work))
    }
}

impl Store for ScratchStore {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.pass(bytes.len(), || self.file.file().write_all_at(bytes, offset))
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.pass(bytes.len(), || self.file.file().read_exact_at(bytes, offset))
    }

    fn commit(&self, trace: &Collector) -> Result<(), StoreError> {
        if !self.fsync {
            return Ok(());
        }
        let sync = || self.usage.during(|| self.file.file().sync_all());
        trace
            .time(Stage::Fsync, sync)
            .map_err(|error| StoreError::path("sync", self.name(), &error))
    }

    fn is_holder(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        format!("a file in {}", self.path)
    }
}

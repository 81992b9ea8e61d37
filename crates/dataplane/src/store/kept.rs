//! A file that already has the bytes of the source: nothing is written to it, and its blocks may be
//! sent to other nodes.

use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::sync::OnceLock;

use garland_core::printable;
use garland_core::trace::Stage;
use garland_protocol::copy::FileStamp;
use garland_sys::holes::is_hole;
use garland_sys::storage;
use rustix::fs::{AtFlags, fstat, statat};

use super::file::Metadata;
use super::unset::Unset;
use super::{Store, StoreError};
use crate::block_index::Existing;
use crate::block_index::holding::Holding;
use crate::block_index::stamp::stamp;
use crate::recorder::Collector;

/// A store for a file that is not written: the commit sets only mode and times, if they were asked
/// for.
pub struct KeptStore {
    old: Existing,
    metadata: Metadata,
    /// The stamp of the file when it had its attributes.
    named: OnceLock<FileStamp>,
}

impl KeptStore {
    /// Returns a store for the file `old`, whose commit sets `metadata`.
    pub fn new(old: Existing, metadata: Metadata) -> Self {
        Self { old, metadata, named: OnceLock::new() }
    }

    fn finish(&self, trace: &Collector) -> io::Result<Unset> {
        let Existing { folder, name, holding: Holding { file, stamp: before, .. }, .. } = &self.old;
        let named = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let own = fstat(file)?;
        let same = (named.st_dev, named.st_ino) == (own.st_dev, own.st_ino);
        if !same || stamp(file)? != *before {
            return Err(io::Error::other("it changed while it was compared"));
        }
        let unset = match self.metadata.times {
            Some(_) => {
                let apply = || self.metadata.apply_to(file, folder, name);
                trace.time(Stage::Commit, apply)?
            }
            // Nobody asked for anything but the bytes, and the file keeps what it has.
            None => Unset::default(),
        };
        let _ = self.named.set(stamp(file)?);
        if self.metadata.fsync {
            trace.time(Stage::Fsync, || storage::sync(file))?;
            trace.time(Stage::Fsync, || storage::sync(folder))?;
        }
        Ok(unset)
    }
}

impl Store for KeptStore {
    fn write_at(&self, _: u64, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.old.holding.file.read_exact_at(bytes, offset)
    }

    fn has_hole(&self, offset: u64, length: usize) -> bool {
        is_hole(&self.old.holding.file, offset, offset + length as u64)
    }

    fn commit(&self, trace: &Collector) -> Result<(), StoreError> {
        let unset = self.finish(trace);
        let unset = unset.map_err(|error| StoreError::path("keep", self.name(), &error))?;
        let all = unset.none();
        all.map_err(|told| StoreError::path("set all attributes of", self.name(), &told))
    }

    fn path(&self) -> Vec<u8> {
        self.old.path.as_os_str().as_bytes().to_vec()
    }

    fn name(&self) -> String {
        printable::path(&self.old.path)
    }

    fn file(&self) -> Option<&File> {
        Some(&self.old.holding.file)
    }

    fn named_stamp(&self) -> Option<FileStamp> {
        self.named.get().copied()
    }
}

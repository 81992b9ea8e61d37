//! A file that already has the bytes of the source: nothing is written to it, and its blocks may be
//! sent to other nodes.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use garland_core::trace::Stage;
use garland_protocol::FileStamp;
use rustix::fs::{AtFlags, fstat, statat};

use super::file::Metadata;
use super::{Store, StoreError};
use crate::block_index::stamp;
use crate::recorder::Collector;

/// A store whose file is not written: only mode and times are set.
pub struct KeptStore {
    folder: OwnedFd,
    name: OsString,
    path: PathBuf,
    file: File,
    /// The stamp of the file when its bytes were read.
    stamp: FileStamp,
    metadata: Metadata,
}

impl KeptStore {
    /// Returns a store for the file `name` in `folder`, at `path`, which sets `metadata` on commit.
    pub fn new(
        (folder, name, path): (OwnedFd, OsString, PathBuf),
        file: File,
        stamp: FileStamp,
        metadata: Metadata,
    ) -> Self {
        Self { folder, name, path, file, stamp, metadata }
    }

    fn finish(&self, trace: &Collector) -> io::Result<()> {
        let named = statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW)?;
        let own = fstat(&self.file)?;
        let same = (named.st_dev, named.st_ino) == (own.st_dev, own.st_ino);
        if !same || stamp(&self.file)? != self.stamp {
            return Err(io::Error::other("it changed while it was compared"));
        }
        trace.time(Stage::Commit, || self.metadata.apply_to(&self.file))?;
        if self.metadata.fsync {
            trace.time(Stage::Fsync, || self.file.sync_all())?;
            trace.time(Stage::Fsync, || rustix::fs::fsync(&self.folder))?;
        }
        Ok(())
    }
}

impl Store for KeptStore {
    fn write_at(&self, _: u64, _: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(bytes, offset)
    }

    fn commit(&self, trace: &Collector) -> Result<(), StoreError> {
        self.finish(trace).map_err(|error| StoreError::path("keep", self.name(), &error))
    }

    fn path(&self) -> Vec<u8> {
        self.path.as_os_str().as_bytes().to_vec()
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn file(&self) -> Option<&File> {
        Some(&self.file)
    }
}

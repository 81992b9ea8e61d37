//! A file that is there already, and is the source: nothing is written, and others may be fed from
//! it.

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
use super::forget::forget;
use super::{Store, StoreError};
use crate::block_index::stamp;
use crate::recorder::Collector;

/// A file that stays what it is, but for its mode and time.
pub struct KeptStore {
    folder: OwnedFd,
    name: OsString,
    path: PathBuf,
    file: File,
    /// What it was when its bytes were looked at.
    stamp: FileStamp,
    dress: Metadata,
}

impl KeptStore {
    /// The file `name` in `folder`, at `path`, which is to be as `dress` says.
    pub fn new(
        (folder, name, path): (OwnedFd, OsString, PathBuf),
        file: File,
        stamp: FileStamp,
        dress: Metadata,
    ) -> Self {
        Self { folder, name, path, file, stamp, dress }
    }

    fn finish(&self, trace: &Collector) -> io::Result<()> {
        let named = statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW)?;
        let own = fstat(&self.file)?;
        let same = (named.st_dev, named.st_ino) == (own.st_dev, own.st_ino);
        if !same || stamp(&self.file)? != self.stamp {
            return Err(io::Error::other("it changed while it was compared"));
        }
        trace.time(Stage::Commit, || self.dress.put_on(&self.file))?;
        if self.dress.fsync {
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
        self.finish(trace).map_err(|error| StoreError::path("keeping", &self.path, &error))
    }

    fn prove(&self, trace: &Collector, _over: &dyn Fn() -> bool) -> Result<(), StoreError> {
        trace
            .time(Stage::Fsync, || self.file.sync_all().and_then(|()| forget(&self.file)))
            .map_err(|error| StoreError::path("verifying", &self.path, &error))
    }

    fn path(&self) -> Vec<u8> {
        self.path.as_os_str().as_bytes().to_vec()
    }

    fn abandon(&self) {}

    fn is_holder(&self) -> bool {
        true
    }

    fn is_ordered(&self) -> bool {
        false
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn device(&self) -> Option<u64> {
        fstat(&self.file).ok().map(|stat| stat.st_dev)
    }

    fn file(&self) -> Option<&File> {
        Some(&self.file)
    }
}

//! A block device as a destination. It is written in place, so a copy that ends early leaves it
//! partly overwritten.

use std::fs::File;
use std::io::{self, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use garland_core::printable;
use garland_core::trace::Stage;
use garland_sys::confine;
use garland_sys::device_use::use_of;
use rustix::fs::fstat;

use super::{Store, StoreError};
use crate::page_cache::WriteBack;
use crate::recorder::Collector;

/// A block device that is open for writing.
pub struct DeviceStore {
    file: File,
    path: PathBuf,
    fsync: bool,
    write_back: WriteBack,
}

impl DeviceStore {
    /// Opens the device `found` (O_PATH), which is at `path`. Fails if `length` is given and the
    /// device has fewer bytes, or if the device is in use and `force` is not set. `fsync` tells
    /// whether the commit makes the written data stable.
    pub fn open(
        found: &OwnedFd,
        path: &Path,
        length: Option<u64>,
        force: bool,
        fsync: bool,
    ) -> Result<Self, StoreError> {
        let failed =
            |error: &io::Error| StoreError::path("open the device", printable::path(path), error);
        // O_EXCL: the kernel refuses a device in use, and keeps it from being mounted meanwhile.
        let opened = confine::open_found_device(found, !force);
        let file = match opened {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                let number = fstat(found).map(|stat| stat.st_rdev);
                let used = number.ok().and_then(use_of).unwrap_or_else(|| "in use".to_owned());
                let reason = format!("it is {used}; --force-device overrides this");
                return Err(StoreError::refused("write to", printable::path(path), reason));
            }
            opened => File::from(opened.map_err(|error| failed(&error))?),
        };
        let room = (&file).seek(SeekFrom::End(0)).map_err(|error| failed(&error))?;
        if length.is_some_and(|length| length > room) {
            let needed = length.unwrap_or_default();
            let reason = format!("it has {room} bytes, but {needed} are needed");
            return Err(StoreError::refused("write to", printable::path(path), reason));
        }
        let write_back = WriteBack::for_file(&file, length.unwrap_or(room), fsync);
        Ok(Self { file, path: path.to_owned(), fsync, write_back })
    }
}

impl Store for DeviceStore {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)?;
        self.write_back.wrote(&self.file, offset, bytes.len())
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(bytes, offset)
    }

    fn commit(&self, trace: &Collector) -> Result<(), StoreError> {
        if !self.fsync {
            return Ok(());
        }
        trace
            .time(Stage::Fsync, || self.file.sync_all())
            .map_err(|error| StoreError::path("sync", self.name(), &error))
    }

    fn is_holder(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        printable::path(&self.path)
    }

    fn device(&self) -> Option<u64> {
        self.file.metadata().ok().map(|stat| stat.rdev())
    }
}

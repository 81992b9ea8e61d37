//! A file as the source of a copy.

mod ahead;
mod content;
mod stream;

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use garland_core::plan::{Layout, Stripe};
use garland_sys::confine::Root;
use rustix::fs::SeekFrom;
use rustix::io::Errno;
use thiserror::Error;

pub use self::ahead::{AHEAD, SourceFeeder};
pub use self::content::Content;
pub use self::stream::StreamSource;
use crate::block_index::{Opened, Records};
use crate::feed::FeedError;
use crate::pace::Pace;
use crate::usage::Usage;
use garland_sys::error::reason;

/// Why a source cannot be copied.
#[derive(Debug, Error)]
pub enum SourceError {
    /// It cannot be opened or read.
    #[error("cannot {operation} {path}: {reason}")]
    Io {
        /// The operation that failed, as an infinitive.
        operation: &'static str,
        /// The source.
        path: String,
        /// Why it failed.
        reason: String,
    },
    /// It is not a file.
    #[error("cannot copy {path}: it is {is}, not a regular file")]
    NotAFile {
        /// The source.
        path: String,
        /// What it is instead.
        is: &'static str,
    },
}

/// An open source file, and its attributes when it was opened.
#[derive(Debug)]
pub struct Source {
    file: File,
    path: PathBuf,
    identity: Identity,
    /// The stamp of the file when it was opened, for the records of digests.
    opened: Opened,
    /// The number of bytes that are copied, from its beginning.
    length: u64,
    /// The number of bytes that the file occupies on the disk.
    room: u64,
    disk: Option<Arc<Pace>>,
    usage: Option<Arc<Usage>>,
    /// The stripe of the file that is copied; none for the whole file.
    stripe: Option<Stripe>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Identity {
    length: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Source {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// When it does not exist, cannot be read, or is not a file.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        Self::open_in(&Root::Free, path)
    }

    /// Opens the file at `path` below `root`.
    ///
    /// # Errors
    /// When it does not exist, cannot be read, is outside of the root, or is not a file.
    pub fn open_in(root: &Root, path: &Path) -> Result<Self, SourceError> {
        let error = |operation, error: &io::Error| SourceError::Io {
            operation,
            path: path.display().to_string(),
            reason: reason(error),
        };
        // Non-blocking: the open of a pipe would wait for its writer.
        let file = File::from(root.open_entry(path).map_err(|e| error("open", &e))?);
        let stat = file.metadata().map_err(|e| error("get the status of", &e))?;
        let kind = stat.file_type();
        if kind.is_block_device() {
            return Self::of_device(file, path).map_err(|e| error("get the status of", &e));
        }
        if !kind.is_file() {
            let is = if kind.is_dir() { "a directory" } else { "a device or a pipe" };
            return Err(SourceError::NotAFile { path: path.display().to_string(), is });
        }
        let identity = Identity::of(&file).map_err(|e| error("get the status of", &e))?;
        let opened = Opened::now(&file).map_err(|e| error("get the status of", &e))?;
        if identity.length == 0 && file.read_at(&mut [0], 0).is_ok_and(|got| got > 0) {
            // Like files in /proc.
            let is = "a file that has content although its length is 0";
            return Err(SourceError::NotAFile { path: path.display().to_string(), is });
        }
        let (path, length) = (path.to_owned(), identity.length);
        // File systems that compress may store fewer bytes without any hole.
        let taken = stat.blocks().saturating_mul(512);
        let sparse = taken < length
            && rustix::fs::seek(&file, SeekFrom::Hole(0)).is_ok_and(|hole| hole < length);
        let room = if sparse { taken } else { length };
        let (disk, usage, stripe) = (None, None, None);
        Ok(Self { file, path, identity, opened, length, room, disk, usage, stripe })
    }

    /// Returns the whole of a block device as a source.
    fn of_device(file: File, path: &Path) -> io::Result<Self> {
        let length = rustix::fs::seek(&file, SeekFrom::End(0))?;
        let identity = Identity { length, modified: (0, 0), changed: (0, 0) };
        let (path, room, opened) = (path.to_owned(), length, Opened::now(&file)?);
        let (disk, usage, stripe) = (None, None, None);
        Ok(Self { file, path, identity, opened, length, room, disk, usage, stripe })
    }

    /// Returns the number of bytes that the file occupies on the disk: fewer than its length if it
    /// has holes.
    #[must_use]
    pub fn room(&self) -> u64 {
        self.room
    }

    /// Returns the first `length` bytes of an open file as a source. Messages call it `path`;
    /// `disk` is the node's emulated disk; the time of reads is added to `usage`.
    ///
    /// # Errors
    /// When the status of the file cannot be read.
    pub fn of(
        file: File,
        path: PathBuf,
        length: u64,
        disk: Option<Arc<Pace>>,
        usage: Arc<Usage>,
    ) -> io::Result<Self> {
        let identity = Identity::of(&file)?;
        let (opened, length) = (Opened::now(&file)?, length.min(identity.length));
        let (room, usage) = (length, Some(usage));
        Ok(Self { file, path, identity, opened, length, room, disk, usage, stripe: None })
    }

    /// Puts the file on an emulated disk with this rate in bytes per second.
    #[must_use]
    pub fn on_disk_of(self, bytes_per_second: Option<u64>) -> Self {
        Self { disk: bytes_per_second.map(|rate| Arc::new(Pace::new(rate))), ..self }
    }

    /// Puts the file on the emulated disk that the copies of a node share.
    #[must_use]
    pub fn on_disk(self, disk: Option<&Arc<Pace>>) -> Self {
        Self { disk: disk.cloned(), ..self }
    }

    /// Sets the stripe of the source that the file contains.
    #[must_use]
    pub fn with_stripe(self, stripe: Option<Stripe>) -> Self {
        Self { stripe, ..self }
    }

    /// Returns the open file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Records the digests of all its blocks, if its stamp is unchanged.
    pub fn remember(&self, records: &Records, layout: Layout, digests: &[[u8; 32]]) {
        records.note(&self.file, &self.opened, layout, digests);
    }

    /// Returns the permission bits.
    ///
    /// # Errors
    /// When the status of the file cannot be read.
    pub fn mode(&self) -> io::Result<u32> {
        let stat = self.file.metadata()?;
        // The contents of a disk are only for its owner.
        Ok(if stat.file_type().is_block_device() { 0o600 } else { stat.mode() & 0o7777 })
    }

    /// Returns the modification time, in seconds and nanoseconds since 1970.
    #[must_use]
    pub fn modified(&self) -> (i64, u32) {
        let (seconds, nanos) = self.identity.modified;
        (seconds, u32::try_from(nanos).unwrap_or(0))
    }
}

impl Content for Source {
    fn length(&self) -> u64 {
        self.length
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn is_hole(&self, layout: Layout, index: u64) -> bool {
        if self.room >= self.length {
            return false;
        }
        let offset = layout.offset(index);
        let offset = self.stripe.map_or(offset, |stripe| stripe.offset(offset));
        let end = offset + u64::from(layout.block_length(index));
        match rustix::fs::seek(&self.file, SeekFrom::Data(offset)) {
            Ok(data) => data >= end,
            Err(error) => error == Errno::NXIO,
        }
    }

    fn is_unchanged(&self) -> bool {
        Identity::of(&self.file).is_ok_and(|now| now == self.identity)
    }

    fn device(&self) -> Option<u64> {
        self.file.metadata().ok().map(|stat| stat.dev())
    }

    fn read(&self, layout: Layout, index: u64, bytes: &mut [u8]) -> Result<(), FeedError> {
        let (length, offset) = (bytes.len(), layout.offset(index));
        let offset = self.stripe.map_or(offset, |stripe| stripe.offset(offset));
        let mut read = || self.file.read_exact_at(bytes, offset);
        let paced = || match &self.disk {
            Some(disk) => disk.pass(length, read),
            None => read(),
        };
        let read = match &self.usage {
            Some(usage) => usage.during(paced),
            None => paced(),
        };
        read.map_err(|error| {
            if error.kind() == io::ErrorKind::UnexpectedEof {
                FeedError::Changed(self.name())
            } else {
                FeedError::Read(self.name(), reason(&error))
            }
        })
    }
}

impl Identity {
    fn of(file: &File) -> io::Result<Self> {
        let stat = file.metadata()?;
        if stat.file_type().is_block_device() {
            // A device has no stamp; if it is read again the digests are compared.
            let length = rustix::fs::seek(file, SeekFrom::End(0))?;
            return Ok(Self { length, modified: (0, 0), changed: (0, 0) });
        }
        Ok(Self {
            length: stat.len(),
            modified: (stat.mtime(), stat.mtime_nsec()),
            changed: (stat.ctime(), stat.ctime_nsec()),
        })
    }
}

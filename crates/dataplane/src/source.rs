//! A file as the source of a copy.

mod again;
mod ahead;
mod content;
mod files;
mod stream;

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use garland_core::plan::{Layout, Stripe};
use garland_core::printable;
use garland_protocol::copy::{FileStamp, WINDOW_MAX};
use garland_sys::confine::Root;
use garland_sys::error::reason;
use garland_sys::holes::data_after;
use garland_sys::sync::Mutex;
use rustix::fs::SeekFrom;
use thiserror::Error;

pub use self::again::is_same_again;
pub use self::ahead::{AHEAD, SourceFeeder};
pub use self::content::{Content, FeedError, RemoteFile};
pub use self::files::join;
pub use self::stream::StreamSource;
use crate::block_index::stamp::stamp;
use crate::block_index::{Opened, Records};
use crate::pace::{self, Pace};
use crate::page_cache::ReadAhead;
use crate::usage::Usage;

/// Why a file cannot be used as a source.
#[derive(Debug, Error)]
pub enum SourceError {
    /// The source cannot be opened or read.
    #[error("cannot {operation} {path}: {reason}")]
    Io {
        /// The operation that failed, as an infinitive.
        operation: &'static str,
        /// The path of the source.
        path: String,
        /// Why it failed.
        reason: String,
    },
    /// The source is a directory; its path.
    #[error("cannot copy {0}: it is a directory")]
    Directory(String),
    /// The source is not a regular file or block device, or its length is wrong.
    #[error("cannot copy {path}: {is}")]
    NotAFile {
        /// The path of the source.
        path: String,
        /// The reason, as a sentence.
        is: &'static str,
    },
}

impl SourceError {
    fn new(operation: &'static str, path: &Path, error: &io::Error) -> Self {
        Self::Io { operation, path: printable::path(path), reason: reason(error) }
    }
}

/// An open source file, and its stamp when it was opened.
#[derive(Debug)]
pub struct Source {
    file: File,
    path: PathBuf,
    /// The stamp of the file when it was opened; of a device's stamp only the length is used.
    opened: Opened,
    /// A later stamp with which the file was found to have the same bytes.
    accepted: Mutex<Option<FileStamp>>,
    is_device: bool,
    /// The number of bytes to copy, from the beginning of the file.
    length: u64,
    /// The number of bytes on the disk that a copy of the file needs: fewer than `length` if the
    /// file has holes.
    room: u64,
    ahead: ReadAhead,
    disk: Option<Arc<Pace>>,
    usage: Option<Arc<Usage>>,
    /// The stripe of the copy's source that the file contains; none if it contains the whole
    /// source.
    stripe: Option<Stripe>,
}

impl Source {
    /// Opens the file or block device at `path`.
    ///
    /// # Errors
    /// When it does not exist, cannot be read, or is of another kind.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        Self::open_in(&Root::Free, path)
    }

    /// Opens the file or block device at `path` below `root`.
    ///
    /// # Errors
    /// When it does not exist, cannot be read, is outside of the root, or is of another kind.
    pub fn open_in(root: &Root, path: &Path) -> Result<Self, SourceError> {
        // Non-blocking: the open of a pipe would wait for its writer.
        let opened = root.open_entry(path);
        let file = opened.map_err(|error| SourceError::new("open", path, &error))?;
        Self::from_file(File::from(file), path)
    }

    /// Returns the open file or block device `file` as a source; `path` is its path in messages.
    ///
    /// # Errors
    /// When it cannot be read, or is of another kind.
    pub fn from_file(file: File, path: &Path) -> Result<Self, SourceError> {
        let name = || printable::path(path);
        let unknown = |error: io::Error| SourceError::new("get the status of", path, &error);
        let stat = file.metadata().map_err(unknown)?;
        let kind = stat.file_type();
        if kind.is_dir() {
            return Err(SourceError::Directory(name()));
        }
        if !kind.is_file() && !kind.is_block_device() {
            let is = "it is a device or a pipe, not a regular file";
            return Err(SourceError::NotAFile { path: name(), is });
        }
        let source = Self::new(file, path.to_owned()).map_err(unknown)?;
        let length = source.length;
        if length == 0 && source.file.read_at(&mut [0], 0).is_ok_and(|got| got > 0) {
            let is = "it has content although its length is 0, like files in /proc";
            return Err(SourceError::NotAFile { path: name(), is });
        }
        // File systems that compress may store fewer bytes without any hole.
        let taken = stat.blocks().saturating_mul(512);
        let sparse = kind.is_file()
            && taken < length
            && rustix::fs::seek(&source.file, SeekFrom::Hole(0)).is_ok_and(|hole| hole < length);
        Ok(Self { room: if sparse { taken } else { length }, ..source })
    }

    /// Returns the whole of an open file or block device as a source.
    fn new(file: File, path: PathBuf) -> io::Result<Self> {
        let mut opened = Opened::now(&file)?;
        let is_device = file.metadata()?.file_type().is_block_device();
        if is_device {
            opened.stamp.length = length_of_device(&file)?;
        }
        let length = opened.stamp.length;
        let ahead = ReadAhead::for_file(&file, length);
        let room = length;
        let disk = None;
        let usage = None;
        let stripe = None;
        let accepted = Mutex::default();
        Ok(Self {
            file,
            path,
            opened,
            accepted,
            is_device,
            length,
            room,
            ahead,
            disk,
            usage,
            stripe,
        })
    }

    /// Returns the number of bytes on the disk that a copy of the file needs: fewer than its length
    /// if it has holes.
    pub fn room(&self) -> u64 {
        self.room
    }

    /// Returns the first `length` bytes of an open file, or the whole file if it is shorter, as a
    /// source. `path` is its name in messages, and `disk` is the node's emulated disk. The time of
    /// its reads is added to `usage`.
    ///
    /// # Errors
    /// When the status of the file cannot be read.
    pub fn first_bytes(
        file: File,
        path: PathBuf,
        length: u64,
        disk: Option<Arc<Pace>>,
        usage: Arc<Usage>,
    ) -> io::Result<Self> {
        let whole = Self::new(file, path)?;
        let length = length.min(whole.length);
        Ok(Self { length, room: length, disk, usage: Some(usage), ..whole })
    }

    /// Makes all reads go to the emulated disk that the copies of a node share, if there is one.
    #[must_use]
    pub fn on_disk(self, disk: Option<&Arc<Pace>>) -> Self {
        Self { disk: disk.cloned(), ..self }
    }

    /// Sets which stripe of the source the file contains; none for the whole source.
    #[must_use]
    pub fn with_stripe(self, stripe: Option<Stripe>) -> Self {
        Self { stripe, ..self }
    }

    /// Returns the open file.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Stores the digests of all blocks of the file in `records`, if the file has not changed since
    /// it was opened.
    pub fn remember(&self, records: &Records, layout: Layout, digests: &[[u8; 32]]) {
        records.note(&self.file, &self.opened, layout, digests);
    }

    /// Returns the permission bits for copies of the file; 0600 for a device.
    ///
    /// # Errors
    /// When the status of the file cannot be read.
    pub fn mode(&self) -> io::Result<u32> {
        // Only the owner may read the copied contents of a disk.
        Ok(if self.is_device { 0o600 } else { self.file.metadata()?.mode() & 0o7777 })
    }

    /// Returns the modification time, in seconds and nanoseconds since 1970; 0 for a device.
    pub fn modified(&self) -> (i64, u32) {
        if self.is_device { (0, 0) } else { self.opened.stamp.modified }
    }

    /// Returns the offset in the file of block `index` of the copy.
    fn offset(&self, layout: Layout, index: u64) -> u64 {
        let offset = layout.offset(index);
        self.stripe.map_or(offset, |stripe| stripe.offset(offset))
    }

    /// Fills `bytes` with the bytes of the file at `offset`.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<(), FeedError> {
        let disk = self.disk.as_deref();
        let mut read = || pace::on(disk, bytes.len(), || self.file.read_exact_at(bytes, offset));
        let outcome = match &self.usage {
            Some(usage) => usage.during(read),
            None => read(),
        };
        self.ahead.read(&self.file, offset, bytes.len());
        outcome.map_err(|error| {
            if error.kind() == io::ErrorKind::UnexpectedEof {
                FeedError::Changed(self.name())
            } else {
                FeedError::Read(self.name(), reason(&error))
            }
        })
    }
}

impl Content for Source {
    fn length(&self) -> u64 {
        self.length
    }

    fn name(&self) -> String {
        printable::path(&self.path)
    }

    fn holes(&self, layout: Layout, index: u64) -> u64 {
        if self.room >= self.length {
            return 0;
        }
        let data = data_after(&self.file, self.offset(layout, index));
        let end = |index| self.offset(layout, index) + u64::from(layout.block_length(index));
        let near = (index..layout.blocks()).take(WINDOW_MAX);
        near.take_while(|&index| end(index) <= data).count() as u64
    }

    fn is_unchanged(&self) -> bool {
        if self.is_device {
            // A device's times do not show its changes; if it is read again the digests are
            // compared.
            return length_of_device(&self.file).is_ok_and(|now| now == self.opened.stamp.length);
        }
        let accepted = self.accepted.lock();
        let is_known = |now| now == self.opened.stamp || Some(now) == *accepted;
        stamp(&self.file).is_ok_and(is_known)
    }

    fn stamps(&self) -> Option<Vec<FileStamp>> {
        let now = stamp(&self.file).ok().filter(|_| !self.is_device)?;
        (now.length == self.opened.stamp.length).then(|| vec![now])
    }

    fn accept(&self, stamps: &[FileStamp]) {
        *self.accepted.lock() = stamps.first().copied();
    }

    fn device(&self) -> Option<u64> {
        self.file.metadata().ok().map(|stat| stat.dev())
    }

    fn read(&self, layout: Layout, index: u64, bytes: &mut [u8]) -> Result<(), FeedError> {
        self.read_at(self.offset(layout, index), bytes)
    }
}

fn length_of_device(file: &File) -> io::Result<u64> {
    Ok(rustix::fs::seek(file, SeekFrom::End(0))?)
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    use super::*;
    use crate::tests::Scratch;

    #[test]
    fn a_source_that_cannot_be_opened_is_named_on_one_line() {
        let name = OsStr::from_bytes(b"/none/a\nok  n1\xff\x1b[2J");
        let why = Source::open(Path::new(name)).expect_err("it is not there").to_string();
        assert_eq!(why, r"cannot open /none/a\nok  n1\xff\x1b[2J: no such file or directory");
    }

    #[test]
    fn the_blocks_of_a_hole_are_counted_from_each_block_on() {
        const BLOCK: u64 = 1 << 16;
        let path = Scratch::new("source-holes");
        let name = path.join("sparse");
        let file = File::create_new(&name).unwrap();
        file.set_len(3000 * BLOCK + 5).unwrap();
        file.write_all_at(&[1], 4 * BLOCK + 7).unwrap();
        let layout = Layout::new(3000 * BLOCK + 5, BLOCK as u32).unwrap();
        let source = Source::open(&name).unwrap();
        // The last block is shorter; a window of digests has 1024.
        for (index, holes) in [(0, 4), (3, 1), (4, 0), (5, 1024), (2500, 501), (3000, 1)] {
            assert_eq!(source.holes(layout, index), holes, "block {index}");
        }
    }
}

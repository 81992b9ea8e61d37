//! Writes a large file past the page cache (O_DIRECT): the kernel need not find memory for bytes
//! that would leave it again, nor copy them into it.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use garland_sys::storage;
use rustix::fs::{Mode, OFlags, openat};

use super::is_large;
use crate::pool::ALIGNMENT;

/// The length in bytes below which a write goes through the page cache, which collects small ones.
const SMALL: usize = 256 << 10;

/// A large file on a disk, opened for direct writes.
#[derive(Debug)]
pub struct DirectFile(File);

impl DirectFile {
    /// Opens `file`, which is called `name` in `folder` and will have `length` bytes. Returns none
    /// if it is not large, if it is not on a file system that is on one block device itself, as
    /// others may be slower without the page cache, or if the file system has no direct writes.
    pub fn open_if_large(
        file: &File,
        folder: impl AsFd,
        name: &OsStr,
        length: u64,
    ) -> Option<Self> {
        let is_fit = is_large(length) && storage::is_on_block_device(file).unwrap_or(false);
        is_fit.then(|| Self::open(folder, name).ok()).flatten()
    }

    fn open(folder: impl AsFd, name: &OsStr) -> io::Result<Self> {
        let flags = OFlags::WRONLY | OFlags::DIRECT | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(Self(openat(folder, name, flags, Mode::empty())?.into()))
    }

    /// Writes bytes at the beginning of `bytes`, which belong at `offset`, and returns their
    /// number: all but an end that does not fill a sector; 0 if they are few, or if the file system
    /// refuses to write them directly.
    ///
    /// # Errors
    /// When the disk is full or broken.
    pub fn write(&self, bytes: &[u8], offset: u64) -> io::Result<usize> {
        let length = bytes.len() - bytes.len() % ALIGNMENT;
        let is_aligned = bytes.as_ptr().align_offset(ALIGNMENT) == 0;
        if length < SMALL || !is_aligned || !offset.is_multiple_of(ALIGNMENT as u64) {
            return Ok(0);
        }
        match storage::write_all_at(&self.0, &bytes[..length], offset) {
            Ok(()) => Ok(length),
            // The disk may have larger sectors, or have ended a write between two of them.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(0),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use garland_sys::cache;

    use super::*;
    use crate::pool::Pool;

    #[test]
    fn whole_sectors_are_written_past_the_page_cache_and_the_rest_is_left() {
        const LENGTH: usize = 8 << 20;
        // Not in the system's temporary directory: that may be a tmpfs.
        let program = std::env::current_exe().expect("it runs");
        let name = format!("direct-{}", std::process::id());
        let path = program.with_file_name(&name);
        let file = File::options().read(true).write(true).create_new(true).open(&path);
        let file = file.expect("a new file");
        let folder = File::open(path.parent().expect("it has one")).expect("a directory");
        let direct = DirectFile::open(folder, OsStr::new(&name));
        std::fs::remove_file(&path).expect("it was made above");
        let direct = direct.expect("the disk can be written directly");
        let mut buffer = Pool::new(LENGTH, 1).try_take().expect("it has one");
        buffer.iter_mut().zip(0..).for_each(|(byte, at)| *byte = (at / 4096 * 7 % 251) as u8);
        let write = |part: &[u8], offset| direct.write(part, offset).expect("the disk works");
        assert_eq!(write(&buffer[..LENGTH - 1], 4096), LENGTH - 4096);
        assert_eq!(write(&buffer[..SMALL - 1], 0), 0, "too few");
        assert_eq!(write(&buffer[512..], 0), 0, "not aligned in memory");
        assert_eq!(write(&buffer, 512), 0, "not aligned in the file");
        let there = cache::residency(&file, LENGTH as u64).expect("the kernel tells");
        assert!(there.cached * 4 < there.pages, "{there:?}");
        let mut read = vec![0; LENGTH - 4096];
        file.read_exact_at(&mut read, 4096).expect("it was written");
        assert!(read == buffer[..LENGTH - 4096]);
    }
}

//! Measures how much of a file is in the page cache, drops it from there, and makes the kernel read
//! or write parts of it early. Measures by cachestat(2), or by mincore(2) on kernels before 6.5.

use std::fs::File;
use std::io;
use std::num::NonZeroU64;
use std::ops::Range;
use std::os::fd::AsRawFd;

use rustix::fs::{Advice, fadvise};

/// The system call that queried the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CacheProbe {
    /// cachestat(2), which takes a file.
    Cachestat,
    /// mincore(2), which takes a mapping of the file.
    Mincore,
}

/// How much of the beginning of a file is in the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Residency {
    /// The number of pages that were queried.
    pub pages: u64,
    /// The number of the queried pages that are in the page cache.
    pub cached: u64,
    /// The system call that queried the page cache.
    pub probe: CacheProbe,
}

/// The number of the system call cachestat(2), the same on every architecture.
const CACHESTAT: libc::c_long = 451;

/// `struct cachestat_range` of the kernel.
#[repr(C)]
struct Queried {
    offset: u64,
    length: u64,
}

/// `struct cachestat` of the kernel, in pages.
#[repr(C)]
#[derive(Default)]
struct Statistics {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Returns how much of the first `length` bytes of `file` is in the page cache.
///
/// # Errors
/// When the kernel supports neither call.
pub fn residency(file: &File, length: u64) -> io::Result<Residency> {
    let pages = length.div_ceil(rustix::param::page_size() as u64);
    if pages == 0 {
        return Ok(Residency { pages, cached: 0, probe: CacheProbe::Cachestat });
    }
    match by_cachestat(file, length) {
        Ok(cached) => Ok(Residency { pages, cached, probe: CacheProbe::Cachestat }),
        Err(_) => {
            Ok(Residency { pages, cached: by_mincore(file, length)?, probe: CacheProbe::Mincore })
        }
    }
}

/// Drops the clean pages of `file` from the page cache. Dirty pages stay: sync the file first.
///
/// # Errors
/// When the file has no page cache.
pub fn forget(file: &File) -> io::Result<()> {
    Ok(fadvise(file, 0, None, Advice::DontNeed)?)
}

/// Makes the kernel write the dirty pages of a part of `file` to its disk, without waiting for
/// them.
///
/// # Errors
/// When the file has no page cache, or the disk is full. A later sync reports errors of the disk.
pub fn start_write_back(file: &File, part: Range<u64>) -> io::Result<()> {
    write_back(file, part, libc::SYNC_FILE_RANGE_WRITE)
}

/// Waits until the disk has the pages of a part of `file` that are being written. This does not
/// make them stable: the disk may have a cache of its own, and how to find them may not be stable
/// yet.
///
/// # Errors
/// When the disk has failed. A later sync of this open file may not report that again.
pub fn finish_write_back(file: &File, part: Range<u64>) -> io::Result<()> {
    write_back(file, part, libc::SYNC_FILE_RANGE_WAIT_BEFORE)
}

/// Makes the kernel read a part of `file` into the page cache, without waiting for it.
///
/// # Errors
/// When the file has no page cache.
pub fn read_ahead(file: &File, part: Range<u64>) -> io::Result<()> {
    advise(file, part, Advice::WillNeed)
}

/// Drops the clean pages of a part of `file` from the page cache.
///
/// # Errors
/// When the file has no page cache.
pub fn forget_part(file: &File, part: Range<u64>) -> io::Result<()> {
    advise(file, part, Advice::DontNeed)
}

fn advise(file: &File, part: Range<u64>, advice: Advice) -> io::Result<()> {
    // A length of 0 would mean the whole rest of the file.
    let Some(length) = NonZeroU64::new(part.end.saturating_sub(part.start)) else { return Ok(()) };
    Ok(fadvise(file, part.start, Some(length), advice)?)
}

fn write_back(file: &File, part: Range<u64>, flags: libc::c_uint) -> io::Result<()> {
    let number = |value| i64::try_from(value).map_err(|_| io::ErrorKind::FileTooLarge);
    let length = part.end.saturating_sub(part.start);
    if length == 0 {
        return Ok(());
    }
    let start = number(part.start)?;
    let length = number(length)?;
    // SAFETY: the call takes an open descriptor and numbers only.
    let result = unsafe { libc::sync_file_range(file.as_raw_fd(), start, length, flags) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn by_cachestat(file: &File, length: u64) -> io::Result<u64> {
    let range = Queried { offset: 0, length };
    let mut statistics = Statistics::default();
    // SAFETY: both structures have the kernel's layout and live through the call.
    let result = unsafe {
        libc::syscall(CACHESTAT, file.as_raw_fd(), &raw const range, &raw mut statistics, 0_u32)
    };
    if result == 0 { Ok(statistics.cached) } else { Err(io::Error::last_os_error()) }
}

fn by_mincore(file: &File, length: u64) -> io::Result<u64> {
    let page = rustix::param::page_size();
    let length = usize::try_from(length).map_err(|_| io::ErrorKind::FileTooLarge)?;
    let mut states = vec![0_u8; length.div_ceil(page)];
    // SAFETY: a new shared mapping at an address that the kernel chooses. No code reads through it,
    // so a file that changes or shrinks does no harm; `states` has one byte for each page of it.
    unsafe {
        let shared = libc::MAP_SHARED;
        let read = libc::PROT_READ;
        let start = libc::mmap(std::ptr::null_mut(), length, read, shared, file.as_raw_fd(), 0);
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        let result = libc::mincore(start, length, states.as_mut_ptr());
        let error = io::Error::last_os_error();
        libc::munmap(start, length);
        if result != 0 {
            return Err(error);
        }
    }
    Ok(states.iter().filter(|&&state| state & 1 != 0).count() as u64)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::FileExt;

    use super::*;

    #[test]
    fn what_was_written_is_cached_until_it_is_forgotten() {
        // Not in the system's temporary directory: that may be a tmpfs, whose pages cannot be
        // dropped.
        let program = std::env::current_exe().unwrap();
        let path = program.with_file_name(format!("cache-test-{}", std::process::id()));
        let file = File::options().read(true).write(true).create(true).truncate(true).open(&path);
        let file = file.unwrap();
        std::fs::remove_file(&path).unwrap();
        let length = 8 << 20;
        file.write_all_at(&vec![7; length as usize], 0).unwrap();
        assert_eq!(residency(&file, length).unwrap().cached, length / 4096);
        assert_eq!(by_mincore(&file, length).unwrap(), length / 4096);
        file.sync_all().unwrap();
        forget(&file).unwrap();
        assert_eq!(residency(&file, length).unwrap().cached, 0);
        assert_eq!(by_mincore(&file, length).unwrap(), 0);
        read_ahead(&file, 0..length).unwrap();
        // It is read in the background.
        while residency(&file, length).unwrap().cached < length / 4096 {
            std::thread::yield_now();
        }
        // Their contents may still be on the way.
        file.read_exact_at(&mut vec![0; length as usize], 0).unwrap();
        // Pages are kept in groups, which are dropped as a whole.
        let half = length / 2;
        forget_part(&file, 0..half).unwrap();
        assert_eq!(residency(&file, length).unwrap().cached, half / 4096);
        file.write_all_at(&vec![8; length as usize], 0).unwrap();
        start_write_back(&file, 0..half).unwrap();
        finish_write_back(&file, 0..half).unwrap();
        forget_part(&file, 0..half).unwrap();
        assert_eq!(residency(&file, length).unwrap().cached, half / 4096);
        file.sync_all().unwrap();
        forget(&file).unwrap();
        let mut byte = [0];
        file.read_exact_at(&mut byte, 4096 * 100).unwrap();
        assert!(residency(&file, length).unwrap().cached > 0);
        assert!(by_mincore(&file, length).unwrap() > 0);
    }
}

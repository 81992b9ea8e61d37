//! Measures how much of a file is in the page cache, and drops it from there. Uses cachestat(2), or
//! mincore(2) on kernels before 6.5.

use std::fs::File;
use std::io;
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
struct Range {
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

fn by_cachestat(file: &File, length: u64) -> io::Result<u64> {
    let range = Range { offset: 0, length };
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
        let (shared, read) = (libc::MAP_SHARED, libc::PROT_READ);
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
        let mut byte = [0];
        file.read_exact_at(&mut byte, 4096 * 100).unwrap();
        assert!(residency(&file, length).unwrap().cached > 0);
        assert!(by_mincore(&file, length).unwrap() > 0);
    }
}

//! Memory shared by processes of one machine: a memfd, which has no name and is freed after its
//! last use. Another process of the same user opens it through `/proc`.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::AtomicU64;

use rustix::fs::{
    CWD, FileType, MemfdFlags, Mode, OFlags, SealFlags, fcntl_add_seals, fstat, ftruncate,
    memfd_create, openat,
};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

/// The name of segments, and their path as the kernel shows it (memfd_create(2)).
const SEGMENT_NAME: &str = "garland-segment";
const SEGMENT_PATH: &str = "/memfd:garland-segment (deleted)";

/// A segment of shared memory: 64-bit words that all processes load and store atomically.
#[derive(Debug)]
pub struct Segment {
    fd: OwnedFd,
    start: *mut AtomicU64,
    words: usize,
}

// SAFETY: this value owns the mapping until it is dropped, in whichever thread, and all accesses
// are atomic.
unsafe impl Send for Segment {}
// SAFETY: as above.
unsafe impl Sync for Segment {}

impl Segment {
    /// Creates a zeroed segment of `words` words.
    ///
    /// # Errors
    /// When the system has no memory or descriptor left.
    pub fn new(words: usize) -> io::Result<Self> {
        let bytes = words.checked_mul(8).filter(|&b| b > 0).ok_or(io::ErrorKind::InvalidInput)?;
        let fd = memfd_create(SEGMENT_NAME, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
        ftruncate(&fd, bytes as u64)?;
        // Seal the size: no process can truncate the segment.
        fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Self::map(fd, bytes)
    }

    /// Opens the segment that the process `pid` has open as descriptor `fd`. Whoever names both may
    /// mean another process's segment: its owner must show that it is meant.
    ///
    /// # Errors
    /// When there is no such segment, it belongs to another user, or it is not sealed against
    /// truncation.
    pub fn of_process(pid: u32, fd: u32) -> io::Result<Self> {
        let path = format!("/proc/{pid}/fd/{fd}");
        // What else it is, such as a device, is not opened.
        let found = openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        let found_path = format!("/proc/self/fd/{}", found.as_raw_fd());
        let is_file = FileType::from_raw_mode(fstat(&found)?.st_mode) == FileType::RegularFile;
        if !is_file || std::fs::read_link(&found_path)?.as_os_str() != SEGMENT_PATH {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let file = File::options().read(true).write(true).open(found_path)?;
        let fd = OwnedFd::from(file);
        if !rustix::fs::fcntl_get_seals(&fd)?.contains(SealFlags::SHRINK) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let bytes = usize::try_from(fstat(&fd)?.st_size).unwrap_or(0);
        if bytes == 0 || !bytes.is_multiple_of(8) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Self::map(fd, bytes)
    }

    fn map(fd: OwnedFd, bytes: usize) -> io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let shared = MapFlags::SHARED;
        // SAFETY: a new mapping at an address that the kernel chooses overlaps no other memory.
        let start = unsafe { mmap(std::ptr::null_mut(), bytes, access, shared, &fd, 0)? };
        Ok(Self { fd, start: start.cast(), words: bytes / 8 })
    }

    /// Returns the shared words of the segment.
    #[must_use]
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: the mapping is page-aligned, has this many words, lives as long as `self`, cannot
        // be truncated (it is sealed), and every value of a word is a valid atomic.
        unsafe { std::slice::from_raw_parts(self.start, self.words) }
    }

    /// Returns the number of this process in the PID namespace of `/proc`, which may differ from
    /// getpid(2).
    ///
    /// # Errors
    /// When there is no `/proc`.
    pub fn owner() -> io::Result<u32> {
        let own = std::fs::read_link("/proc/self")?;
        own.to_str().and_then(|own| own.parse().ok()).ok_or(io::ErrorKind::NotFound.into())
    }

    /// Returns the number of the segment's descriptor in this process.
    #[must_use]
    pub fn number(&self) -> u32 {
        u32::try_from(self.fd.as_raw_fd()).unwrap_or(u32::MAX)
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, which has this length, and no borrow of it is left.
        // A failure would only leave it mapped.
        let _ = unsafe { munmap(self.start.cast(), self.words * 8) };
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;

    #[test]
    fn what_one_stores_the_other_loads() {
        let one = Segment::new(1024).unwrap();
        let two = Segment::of_process(Segment::owner().unwrap(), one.number()).unwrap();
        one.words()[1023].store(42, Ordering::Release);
        assert_eq!(two.words().len(), 1024);
        assert_eq!(two.words()[1023].load(Ordering::Acquire), 42);
    }

    #[test]
    fn what_is_no_shared_memory_is_refused() {
        assert!(Segment::new(0).is_err());
        let file = File::open("/proc/self/exe").unwrap();
        let number = u32::try_from(file.as_raw_fd()).unwrap();
        assert!(Segment::of_process(std::process::id(), number).is_err());
        assert!(Segment::of_process(u32::MAX, 0).is_err());
        // Memory that other programs share is sealed, too.
        let other = memfd_create("other", MemfdFlags::ALLOW_SEALING).unwrap();
        ftruncate(&other, 4096).unwrap();
        fcntl_add_seals(&other, SealFlags::SHRINK | SealFlags::GROW).unwrap();
        let number = u32::try_from(other.as_raw_fd()).unwrap();
        let refused = Segment::of_process(Segment::owner().unwrap(), number).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
    }
}

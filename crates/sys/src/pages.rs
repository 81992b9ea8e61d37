//! Page-aligned memory, which direct I/O requires, outside of the allocator.

use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// A page-aligned buffer, zeroed when it is created, and given back to the system when it is
/// dropped.
#[derive(Debug)]
pub struct Pages {
    start: NonNull<u8>,
    length: usize,
}

// SAFETY: the mapping is private and owned by this value alone, as a Vec's memory is.
unsafe impl Send for Pages {}
// SAFETY: shared references only read it.
unsafe impl Sync for Pages {}

impl Pages {
    /// Allocates `length` zeroed bytes.
    ///
    /// # Errors
    /// When the system has no memory left.
    pub fn new(length: usize) -> io::Result<Self> {
        let length = length.max(1);
        // SAFETY: a new anonymous mapping at an address that the kernel chooses overlaps no other
        // memory.
        let start = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        match NonNull::new(start.cast::<u8>()) {
            Some(start) if start.as_ptr().cast::<libc::c_void>() != libc::MAP_FAILED => {
                Ok(Self { start, length })
            }
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Deref for Pages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the mapping is `length` bytes long, initialised with zeroes, and lives as long as
        // `self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl DerefMut for Pages {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, and `&mut self` guarantees exclusive access.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, and no reference to it is left.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_begin_at_a_page_and_can_be_written() {
        let mut pages = Pages::new(10_000).unwrap();
        assert_eq!(pages.as_ptr() as usize % 4096, 0);
        assert!(pages.iter().all(|&byte| byte == 0));
        pages[9_999] = 7;
        assert_eq!(pages[9_999], 7);
    }
}

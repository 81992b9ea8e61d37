//! The memory that operations read and write: two rings of slots, and space for the words that end
//! rounds. It is not a slice, since NICs and other processes access it as well. Bytes are copied
//! into it and out of it between rounds.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::c_void;

use super::words::stride;

/// The alignment of the memory and of its parts, in bytes.
const PAGE: usize = 4096;

/// The period of a pattern in bytes. The bytes of a pattern are 1 to 251, never 0, so that memory
/// that was never written differs.
const PERIOD: usize = 251;

/// The memory of an endpoint.
pub struct Memory {
    start: *mut u8,
    layout: Layout,
    ring: usize,
}

/// One of the two rings of slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ring {
    /// The ring of bytes that the peer reads, or that are sent to the peer.
    Source,
    /// The ring of bytes that the peer writes, or that are received from the peer.
    Sink,
}

impl Memory {
    /// Allocates two rings of at least `ring` bytes each, filled with zeros; `None` if there is not
    /// enough memory.
    pub fn new(ring: u64) -> Option<Self> {
        let ring = usize::try_from(ring).ok()?.max(1).checked_next_multiple_of(PAGE)?;
        let bytes = ring.checked_mul(2)?.checked_add(PAGE)?;
        let layout = Layout::from_size_align(bytes, PAGE).ok()?;
        // SAFETY: the layout isn't of size 0.
        let start = unsafe { alloc_zeroed(layout) };
        (!start.is_null()).then_some(Self { start, layout, ring })
    }

    /// Returns the address of the first byte, for the library.
    pub fn start(&self) -> *mut c_void {
        self.start.cast()
    }

    /// Returns the total length in bytes.
    pub fn length(&self) -> usize {
        self.layout.size()
    }

    /// Returns the offset in bytes of slot `number` of a ring whose slots have `size` bytes; `None`
    /// if it is not inside the ring.
    pub fn slot(&self, ring: Ring, number: usize, size: u32) -> Option<usize> {
        let at = number.checked_mul(usize::try_from(stride(size)).ok()?)?;
        let base = if ring == Ring::Source { 0 } else { self.ring };
        (at.checked_add(size as usize)? <= self.ring).then_some(base + at)
    }

    /// Returns the offset in bytes from which the word that ends a round is sent. The word is
    /// received 8 bytes further on.
    pub fn word(&self) -> usize {
        2 * self.ring
    }

    /// Returns the address of the byte at `offset`, for the library.
    ///
    /// # Panics
    /// If `offset` is not inside the memory.
    pub fn at(&self, offset: usize) -> *mut c_void {
        assert!(offset < self.length(), "an offset that `slot` or `word` has given");
        // SAFETY: the offset is inside the allocation.
        unsafe { self.start.add(offset) }.cast()
    }

    /// Writes the pattern of round `serial` into the first slot, of `size` bytes, of a ring.
    pub fn stamp(&mut self, ring: Ring, size: u32, serial: u32) {
        self.write(ring, &pattern(size, serial));
    }

    /// Fills a ring with the pattern of round 0.
    pub fn fill(&mut self, ring: Ring) {
        let length = u32::try_from(self.ring).unwrap_or(u32::MAX);
        self.write(ring, &pattern(length, 0));
    }

    /// Fills the first slot, of `size` bytes, of a ring with zeros.
    pub fn clear(&mut self, ring: Ring, size: u32) {
        self.write(ring, &vec![0; size as usize]);
    }

    fn write(&mut self, ring: Ring, bytes: &[u8]) {
        let base = if ring == Ring::Source { 0 } else { self.ring };
        let length = bytes.len().min(self.ring);
        // SAFETY: these bytes belong to this value. No operation accesses them between rounds; if
        // one did, only bytes without a meaning would be mixed.
        unsafe { self.start.add(base).copy_from_nonoverlapping(bytes.as_ptr(), length) };
    }

    /// Returns whether the first slot, of `size` bytes, of a ring contains the pattern of round
    /// `serial`.
    pub fn holds(&self, ring: Ring, size: u32, serial: u32) -> bool {
        let length = (size as usize).min(self.ring);
        let base = if ring == Ring::Source { 0 } else { self.ring };
        let mut bytes = vec![0_u8; length];
        // SAFETY: as in `write`.
        unsafe { self.start.add(base).copy_to_nonoverlapping(bytes.as_mut_ptr(), length) };
        bytes == pattern(u32::try_from(length).unwrap_or(0), serial)
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: this value allocated it with this layout; the endpoint that used it is closed.
        unsafe { dealloc(self.start, self.layout) };
    }
}

/// Returns the first `size` bytes of the pattern of round `serial`. Patterns of consecutive rounds
/// differ.
fn pattern(size: u32, serial: u32) -> Vec<u8> {
    let first = (serial as usize * 37) % PERIOD;
    let period: Vec<u8> = (0..PERIOD).map(|at| ((first + at) % PERIOD) as u8 + 1).collect();
    let mut bytes = period.repeat((size as usize).div_ceil(PERIOD));
    bytes.truncate(size as usize);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_stay_inside_and_hold_what_was_stamped() {
        let mut memory = Memory::new(3 * 128).unwrap();
        assert_eq!(memory.slot(Ring::Source, 2, 100), Some(256));
        assert_eq!(memory.slot(Ring::Sink, 1, 100), Some(4096 + 128));
        assert_eq!(memory.slot(Ring::Sink, 1000, 100), None);
        assert_eq!(memory.slot(Ring::Sink, usize::MAX, 100), None);
        memory.stamp(Ring::Sink, 100, 3);
        assert!(memory.holds(Ring::Sink, 100, 3));
        assert!(!memory.holds(Ring::Sink, 100, 4) && !memory.holds(Ring::Source, 100, 3));
        memory.clear(Ring::Sink, 100);
        assert!(!memory.holds(Ring::Sink, 100, 3));
        memory.fill(Ring::Source);
        assert!(memory.holds(Ring::Source, 4096, 0));
    }
}

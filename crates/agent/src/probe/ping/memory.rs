//! A ring of bytes to send, which contains a whole number of operations.

/// The approximate minimum size of the ring in bytes. Small operations that follow each other can
/// be sent together.
const WINDOW: usize = 64 << 10;

/// A ring of bytes to send, for operations of one size.
pub struct Memory {
    bytes: Vec<u8>,
}

impl Memory {
    /// Creates memory for operations of `each` bytes.
    pub fn new(each: u64) -> Self {
        let each = usize::try_from(each).unwrap_or(1).max(1);
        let whole = each * (WINDOW / each).max(1);
        // No byte is zero, so that bytes that were never written differ.
        Self { bytes: (0..whole).map(|at| (at % 251) as u8 + 1).collect() }
    }

    /// Returns contiguous bytes to send: from byte `sent` of the stream on, and at most up to byte
    /// `until`.
    pub fn next(&self, sent: u64, until: u64) -> &[u8] {
        let length = self.bytes.len() as u64;
        let start = sent % length;
        let end = length.min(start + (until - sent));
        &self.bytes[start as usize..end as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sending_wraps_around_in_the_ring() {
        let memory = Memory::new(3);
        let whole = 64 << 10 >> 1 << 1;
        assert_eq!(memory.next(0, 6), [1, 2, 3, 4, 5, 6]);
        let length = (whole / 3 * 3) as u64;
        assert_eq!(memory.next(length - 1, length + 2).len(), 1);
        assert_eq!(memory.next(length, length + 2), [1, 2]);
        assert_eq!(Memory::new(1 << 20).next(5, 1 << 20).len(), (1 << 20) - 5);
    }
}

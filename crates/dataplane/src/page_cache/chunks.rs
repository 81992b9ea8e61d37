//! The chunks of a file: it is read ahead and written back by chunks.

use std::collections::BTreeMap;
use std::ops::Range;

/// The length of a chunk in bytes: several requests for each queue of a disk.
pub const CHUNK: u64 = 8 << 20;

/// The largest number of incomplete chunks that are counted. A resumed copy may leave many of them.
const COUNTED: usize = 256;

/// Returns the range of the bytes of chunk `index`.
pub fn bytes_of(index: u64) -> Range<u64> {
    let start = index.saturating_mul(CHUNK);
    start..start.saturating_add(CHUNK)
}

/// Counts the bytes of a file that were read or written, by chunks.
#[derive(Debug, Default)]
pub struct Chunks {
    /// The number of bytes by the index of the chunk, of chunks that were begun and are not
    /// complete.
    counts: BTreeMap<u64, u64>,
}

impl Chunks {
    /// Counts `length` bytes at `offset`, and returns the indexes of the chunks that are complete
    /// by them.
    pub fn count(&mut self, offset: u64, length: usize) -> Vec<u64> {
        let end = offset.saturating_add(length as u64);
        let mut at = offset;
        let mut complete = Vec::new();
        while at < end {
            let index = at / CHUNK;
            let next = end.min(bytes_of(index).end);
            let count = self.counts.entry(index).or_default();
            *count += next - at;
            if *count >= CHUNK {
                self.counts.remove(&index);
                complete.push(index);
            }
            at = next;
        }
        while self.counts.len() > COUNTED {
            self.counts.pop_first();
        }
        complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [u64; 0] = [];

    #[test]
    fn chunks_are_complete_in_any_order_and_incomplete_ones_are_bounded() {
        let mut chunks = Chunks::default();
        let half = CHUNK as usize / 2;
        assert_eq!(chunks.count(0, half), NONE);
        assert_eq!(chunks.count(3 * CHUNK, half), NONE);
        assert_eq!(chunks.count(3 * CHUNK + half as u64, half), [3]);
        // The rest of the first chunk, all of the second one, and the beginning of the third one.
        assert_eq!(chunks.count(half as u64, half + 2 * half + 1), [0, 1]);
        assert_eq!(chunks.count(2 * CHUNK + 1, 2 * half - 1), [2]);
        assert!(chunks.counts.is_empty());
        for index in 0..1000 {
            assert_eq!(chunks.count(index * CHUNK, 1), NONE);
        }
        assert_eq!(chunks.counts.len(), COUNTED);
        assert_eq!(chunks.count(999 * CHUNK + 1, CHUNK as usize - 1), [999]);
        assert_eq!(chunks.count(u64::MAX - 1, 10), NONE, "it ends at the largest offset");
    }
}

//! The digests of a copy's blocks, with memory only for those that were noted.

/// The length of a digest in bytes.
const DIGEST_LEN: usize = 32;

/// A digest for each block, zeros until it is noted.
///
/// A member may claim a file of any length. Memory that is asked for as zeroed bytes is none until
/// it is written, so what nobody sends the digests of costs next to nothing; an array of digests
/// would be written at once, 512 MiB for the longest file.
#[derive(Clone, Debug, Default)]
pub(crate) struct DigestTable {
    bytes: Vec<u8>,
}

impl DigestTable {
    /// Creates the table of so many blocks.
    ///
    /// # Panics
    /// If the table of so many blocks cannot be addressed.
    pub(crate) fn new(blocks: u64) -> Self {
        let blocks = usize::try_from(blocks).expect("the block table fits into memory");
        Self { bytes: vec![0; blocks * DIGEST_LEN] }
    }

    /// Returns the number of blocks that have a place.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() / DIGEST_LEN
    }

    /// Returns the digest of block `index`, zeros if none was noted.
    ///
    /// # Panics
    /// If the block has no place.
    pub(crate) fn get(&self, index: usize) -> [u8; DIGEST_LEN] {
        self.all()[index]
    }

    /// Notes the digest of block `index`. The table of a stream grows with the stream.
    pub(crate) fn set(&mut self, index: usize, digest: [u8; DIGEST_LEN]) {
        let begin = index * DIGEST_LEN;
        let end = begin + DIGEST_LEN;
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        self.bytes[begin..end].copy_from_slice(&digest);
    }

    /// Returns the digests of all blocks.
    pub(crate) fn all(&self) -> &[[u8; DIGEST_LEN]] {
        self.bytes.as_chunks().0
    }
}

impl From<Vec<[u8; DIGEST_LEN]>> for DigestTable {
    fn from(digests: Vec<[u8; DIGEST_LEN]>) -> Self {
        Self { bytes: digests.into_flattened() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The memory of this process that is resident, in bytes.
    fn resident() -> usize {
        let status = std::fs::read_to_string("/proc/self/statm").expect("a process has it");
        let pages = status.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
        pages.expect("a number of pages") * 4096
    }

    #[test]
    fn a_claimed_length_takes_no_memory() {
        let before = resident();
        let mut table = DigestTable::new(1 << 24);
        table.set(9_000_000, [7; DIGEST_LEN]);
        assert!(resident() < before + (100 << 20), "512 MiB if all were written");
        assert_eq!(table.len(), 1 << 24);
        assert_eq!(table.get(9_000_000), [7; DIGEST_LEN]);
        assert_eq!(table.get((1 << 24) - 1), [0; DIGEST_LEN]);
    }

    #[test]
    fn the_table_of_a_stream_grows() {
        let mut table = DigestTable::new(0);
        table.set(1, [1; DIGEST_LEN]);
        assert_eq!(table.all(), [[0; DIGEST_LEN], [1; DIGEST_LEN]]);
    }
}

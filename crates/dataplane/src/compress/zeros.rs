//! Detects blocks of zeros, whose bytes need not be sent.

use garland_protocol::copy::content_digest;
use garland_sys::sync::Mutex;

/// Returns whether all of `bytes` are zero. Stops at the first group of 64 bytes that has another
/// byte.
pub fn are_zeros(bytes: &[u8]) -> bool {
    const STEP: usize = 64;
    let chunks = bytes.chunks_exact(STEP);
    let rest = chunks.remainder();
    let or = |bytes: &[u8]| bytes.iter().fold(0, |all, byte| all | byte);
    chunks.into_iter().all(|chunk| or(chunk) == 0) && or(rest) == 0
}

/// The digest of a block of zeros, cached for one length: all blocks of a copy but the last have
/// the same length.
#[derive(Debug, Default)]
pub struct Zeros(Mutex<Option<(usize, [u8; 32])>>);

impl Zeros {
    /// Returns the digest of `length` zeros.
    pub fn digest(&self, length: usize) -> [u8; 32] {
        let mut known = self.0.lock();
        match *known {
            Some((of, digest)) if of == length => digest,
            _ => {
                let digest = content_digest(&vec![0; length]);
                *known = Some((length, digest));
                digest
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_other_byte_is_found_anywhere() {
        for length in [0, 1, 63, 64, 65, 1000] {
            let mut bytes = vec![0; length];
            assert!(are_zeros(&bytes));
            for at in 0..length {
                bytes[at] = 1;
                assert!(!are_zeros(&bytes), "{at} of {length}");
                bytes[at] = 0;
            }
        }
    }

    #[test]
    fn digests_are_those_of_the_bytes() {
        let zeros = Zeros::default();
        for length in [4096, 4096, 100] {
            assert_eq!(zeros.digest(length), content_digest(&vec![0; length]));
        }
    }
}

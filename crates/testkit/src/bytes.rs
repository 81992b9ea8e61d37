//! Pseudorandom bytes, which do not compress. Equal seeds give equal bytes.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

/// A generator of pseudorandom numbers (xorshift64*, Vigna 2016), chosen for its speed.
struct Numbers(u64);

impl Numbers {
    fn new(seed: u64) -> Self {
        // The generator's state must not be 0.
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
}

/// Returns `length` pseudorandom bytes, which depend on `seed` only.
#[must_use]
pub fn random_bytes(length: usize, seed: u64) -> Vec<u8> {
    let mut numbers = Numbers::new(seed);
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        bytes.extend(numbers.next().to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// Creates the file `path` with `length` pseudorandom bytes, the same as [`random_bytes`] returns.
///
/// # Panics
/// When the file cannot be written.
pub fn random_file(path: &Path, length: u64, seed: u64) {
    let fail = |error| -> ! { panic!("writing {}: {error}", path.display()) };
    let file = File::create(path).unwrap_or_else(|error| fail(error));
    let mut file = BufWriter::with_capacity(1 << 20, file);
    let mut numbers = Numbers::new(seed);
    let mut left = length;
    while left > 0 {
        let part = left.min(8);
        let bytes = numbers.next().to_le_bytes();
        file.write_all(&bytes[..part as usize]).unwrap_or_else(|error| fail(error));
        left -= part;
    }
    file.flush().unwrap_or_else(|error| fail(error));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_bytes() {
        let bytes = random_bytes(1001, 7);
        assert_eq!(bytes.len(), 1001);
        assert_eq!(random_bytes(1001, 7), bytes);
        assert_ne!(random_bytes(1001, 8), bytes);
        assert!(!bytes.windows(8).any(|window| window == [0; 8]));
    }

    #[test]
    fn a_file_holds_the_same_bytes() {
        let scratch = crate::Scratch::new("bytes");
        let path = scratch.path("x");
        random_file(&path, 1001, 7);
        assert_eq!(std::fs::read(path).expect("the file exists"), random_bytes(1001, 7));
    }
}

//! Checks that a node makes by reading back what it has written.

use aws_lc_rs::digest;
use serde::{Deserialize, Serialize};

/// The checks of a file before it gets its final name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadBack {
    /// Whether to compare the file on the medium with the received bytes, block by block and
    /// bypassing the page cache.
    pub verify: bool,
    /// The digest of the whole file to report, if any.
    pub checksum: Option<Checksum>,
}

/// A digest of files for which common tools exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Checksum {
    /// SHA-256, as in `sha256sum`.
    Sha256,
    /// BLAKE3, as in `b3sum`.
    B3,
}

/// The digest of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summed {
    /// The kind of the digest.
    pub checksum: Checksum,
    /// The digest of all bytes of the file.
    pub digest: [u8; 32],
    /// The path of the file on the node (raw bytes).
    pub path: Vec<u8>,
}

/// A digest in computation.
pub enum Summing {
    /// See [`Checksum::Sha256`].
    Sha256(digest::Context),
    /// See [`Checksum::B3`].
    B3(Box<blake3::Hasher>),
}

impl Summing {
    /// Starts a digest.
    #[must_use]
    pub fn new(checksum: Checksum) -> Self {
        match checksum {
            Checksum::Sha256 => Self::Sha256(digest::Context::new(&digest::SHA256)),
            Checksum::B3 => Self::B3(Box::default()),
        }
    }

    /// Adds the bytes that follow.
    pub fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(context) => context.update(bytes),
            Self::B3(hasher) => drop(hasher.update(bytes)),
        }
    }

    /// Returns the digest of all bytes.
    #[must_use]
    pub fn finish(self) -> [u8; 32] {
        match self {
            Self::Sha256(context) => {
                context.finish().as_ref().try_into().expect("a SHA-256 digest has 32 bytes")
            }
            Self::B3(hasher) => hasher.finalize().into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_known_programs() {
        let of = |checksum| {
            let mut summing = Summing::new(checksum);
            summing.update(b"a");
            summing.update(b"bc");
            summing.finish().map(|byte| format!("{byte:02x}")).concat()
        };
        // The test vectors of FIPS 180-4 and of b3sum.
        let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let b3 = "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85";
        assert_eq!((of(Checksum::Sha256).as_str(), of(Checksum::B3).as_str()), (sha256, b3));
    }
}

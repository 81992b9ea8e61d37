//! What a node finds out by reading back what it has written.

use aws_lc_rs::digest;
use serde::{Deserialize, Serialize};

/// What is to be found out before a file gets its name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadBack {
    /// Whether the medium has what came: block by block, none of it from memory.
    pub verify: bool,
    /// A digest of the whole file.
    pub checksum: Option<Checksum>,
}

/// A digest of files that people know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Checksum {
    /// SHA-256, as `sha256sum` has it.
    Sha256,
    /// BLAKE3, as `b3sum` has it.
    B3,
}

/// A file's digest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summed {
    /// Of which kind.
    pub checksum: Checksum,
    /// The digest.
    pub digest: [u8; 32],
    /// The file's path on the node, in the system's bytes.
    pub path: Vec<u8>,
}

/// A digest on its way.
pub enum Summing {
    /// See [`Checksum::Sha256`].
    Sha256(digest::Context),
    /// See [`Checksum::B3`].
    B3(Box<blake3::Hasher>),
}

impl Summing {
    /// Of nothing so far.
    #[must_use]
    pub fn new(checksum: Checksum) -> Self {
        match checksum {
            Checksum::Sha256 => Self::Sha256(digest::Context::new(&digest::SHA256)),
            Checksum::B3 => Self::B3(Box::default()),
        }
    }

    /// Takes the bytes that follow.
    pub fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(context) => context.update(bytes),
            Self::B3(hasher) => drop(hasher.update(bytes)),
        }
    }

    /// The digest of all of them.
    #[must_use]
    pub fn finish(self) -> [u8; 32] {
        match self {
            Self::Sha256(context) => {
                let mut bytes = [0; 32];
                bytes.copy_from_slice(context.finish().as_ref());
                bytes
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
        // FIPS 180-4, and BLAKE3's own b3sum.
        let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let b3 = "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85";
        assert_eq!((of(Checksum::Sha256).as_str(), of(Checksum::B3).as_str()), (sha256, b3));
    }
}

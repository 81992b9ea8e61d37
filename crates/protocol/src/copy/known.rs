//! Records of the attributes of files and the digests of their blocks, as last read. While the
//! change time shows that a file is unchanged, its bytes need not be read again.

use std::io::{self, Write};

use garland_core::plan::{BLOCKS_MAX, Layout};
use serde::{Deserialize, Serialize};
use thiserror::Error;

const MAGIC: &[u8; 8] = b"GLKNOWN1";

/// The length of the digest at the end of a record in bytes.
const SUM: usize = 32;

/// The attributes that reveal a change of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileStamp {
    /// The number of the device that the file is on.
    pub device: u64,
    /// The inode number on that device.
    pub inode: u64,
    /// The length in bytes.
    pub length: u64,
    /// The modification time (mtime), which programs can set: seconds and nanoseconds.
    pub modified: (i64, u32),
    /// The change time (ctime), which programs cannot set: seconds and nanoseconds.
    pub changed: (i64, u32),
}

/// The record of a file: its attributes and digests when it was last read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// The attributes of the file when it was read.
    pub stamp: FileStamp,
    /// The boot id of the machine when the file was read. Devices may get other numbers at the next
    /// boot, and bytes that were not on stable storage may be lost.
    pub boot: [u8; 16],
    /// The block layout of the digests.
    pub layout: Layout,
    /// The digests of the blocks; `None` where unknown.
    pub digests: Vec<Option<[u8; 32]>>,
}

/// Why bytes are not accepted as a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum KnownError {
    /// The bytes do not begin as a record does, or another version wrote them.
    #[error("the file is not a record of this version")]
    Version,
    /// The bytes differ from those that were written.
    #[error("the record was changed or truncated")]
    Changed,
    /// The numbers in the record contradict each other.
    #[error("the numbers in the record contradict each other")]
    Nonsense,
}

/// The body of a record on disk: the fields of [`Known`], with the digests one after another, and
/// zeros where a digest is unknown.
type Body = (FileStamp, [u8; 16], Layout, Vec<u8>);

impl Known {
    /// Writes a record: its fields but for the digests, and `count` digests, which are not gathered
    /// in memory: a file of 1 TiB has 8 MiB of them.
    ///
    /// # Errors
    /// When `out` cannot be written.
    pub fn write(
        mut out: impl Write,
        head: (FileStamp, [u8; 16], Layout),
        count: u64,
        digests: impl Iterator<Item = Option<[u8; 32]>>,
    ) -> io::Result<()> {
        let mut sum = blake3::Hasher::new();
        let mut write = |bytes: &[u8]| {
            sum.update(bytes);
            out.write_all(bytes)
        };
        write(MAGIC)?;
        // The same bytes as those of a `Body`: its fields, the last one with its length before it.
        write(&postcard::to_stdvec(&(head, count * 32)).map_err(io::Error::other)?)?;
        for digest in digests {
            write(&digest.unwrap_or_default())?;
        }
        let sum = sum.finalize();
        out.write_all(sum.as_bytes())
    }

    /// Returns the bytes of a record that is in memory.
    ///
    /// # Panics
    /// Never: memory can always be written.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let head = (self.stamp, self.boot, self.layout);
        let count = self.digests.len() as u64;
        let written = Self::write(&mut bytes, head, count, self.digests.iter().copied());
        written.expect("memory can be written");
        bytes
    }

    /// Parses a record.
    ///
    /// # Errors
    /// Fails if the bytes are not an intact record of this version.
    pub fn parse(bytes: &[u8]) -> Result<Self, KnownError> {
        let body = bytes.strip_prefix(MAGIC).ok_or(KnownError::Version)?;
        let whole = bytes.len().checked_sub(SUM).filter(|_| body.len() >= SUM);
        let (said, sum) = bytes.split_at(whole.ok_or(KnownError::Changed)?);
        if blake3::hash(said).as_bytes() != sum {
            return Err(KnownError::Changed);
        }
        let body = &body[..body.len() - SUM];
        let (stamp, boot, layout, digests): Body =
            postcard::from_bytes(body).map_err(|_| KnownError::Nonsense)?;
        let layout =
            Layout::new(layout.length, layout.block_size).map_err(|_| KnownError::Nonsense)?;
        let (digests, rest) = digests.as_chunks::<32>();
        let fits = layout.length == stamp.length
            && rest.is_empty()
            && layout.blocks() <= BLOCKS_MAX
            && layout.blocks() == digests.len() as u64;
        if !fits {
            return Err(KnownError::Nonsense);
        }
        let digests = digests.iter().map(|digest| Some(*digest).filter(|it| *it != [0; 32]));
        Ok(Self { stamp, boot, layout, digests: digests.collect() })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn known(length: u64) -> Known {
        let layout = Layout::new(length, 4096).unwrap();
        let stamp =
            FileStamp { device: 1, inode: 2, length, modified: (3, 4), changed: (-5, 999_999_999) };
        let digest = |index: u64| Some([index as u8; 32]).filter(|it| *it != [0; 32]);
        Known { stamp, boot: [9; 16], layout, digests: (0..layout.blocks()).map(digest).collect() }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        for length in [0, 1, 4096, 100_000] {
            let blocks = known(length);
            assert_eq!(Known::parse(&blocks.to_bytes()), Ok(blocks));
        }
    }

    #[test]
    fn contradictory_records_are_refused() {
        let mut other = known(10_000);
        other.digests.pop();
        assert_eq!(Known::parse(&other.to_bytes()), Err(KnownError::Nonsense));
        let mut other = known(10_000);
        other.stamp.length += 1;
        assert_eq!(Known::parse(&other.to_bytes()), Err(KnownError::Nonsense));
        let mut other = known(10_000);
        other.layout.block_size = 0;
        assert_eq!(Known::parse(&other.to_bytes()), Err(KnownError::Nonsense));
        assert_eq!(Known::parse(b"GLKNOWN0"), Err(KnownError::Version));
        assert_eq!(Known::parse(b"GLKNOWN1"), Err(KnownError::Changed));
    }

    proptest! {
        #[test]
        fn a_changed_byte_is_noticed(length in 0..50_000_u64, at in any::<prop::sample::Index>(), bit in 0..8) {
            let mut bytes = known(length).to_bytes();
            let at = at.index(bytes.len());
            bytes[at] ^= 1u8 << bit;
            prop_assert!(Known::parse(&bytes).is_err());
            prop_assert!(Known::parse(&bytes[..at]).is_err());
        }

        #[test]
        fn any_bytes_are_parsed_or_refused(body in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut bytes = [&MAGIC[..], &body].concat();
            let _ = Known::parse(&bytes);
            let sum = blake3::hash(&bytes);
            bytes.extend_from_slice(sum.as_bytes());
            let _ = Known::parse(&bytes);
        }
    }
}

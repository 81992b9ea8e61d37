//! The division of a source into blocks.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The block size in bytes unless a source is very short or very long: 1 MiB.
pub const DEFAULT_BLOCK_SIZE: u32 = 1 << 20;

/// The maximum block size in bytes: agents hold several blocks, and stay below 64 MiB of memory.
const MAX_BLOCK_SIZE: u32 = 4 << 20;

/// The minimum block size in bytes: below it, headers and system calls cost too much.
const MIN_BLOCK_SIZE: u32 = 4 << 10;

/// The maximum number of blocks of a source: each node holds 32 bytes of digest per block.
pub const BLOCKS_MAX: u64 = 1 << 24;

/// A source's length and the size of the blocks it is cut into. The last block may be shorter; an
/// empty source has no blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// The length of the source in bytes; the maximum length if `open`.
    pub length: u64,
    /// The length in bytes of every block but the last.
    pub block_size: u32,
    /// Whether the source is a stream: its length is known only at its end, and may be less than
    /// `length`.
    #[serde(default)]
    pub open: bool,
}

/// The error for an impossible layout.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LayoutError {
    /// The block size has this many bytes, which is out of range.
    #[error("the block size is {0} bytes: use {MIN_BLOCK_SIZE} to {MAX_BLOCK_SIZE}")]
    BlockSize(u64),
    /// The source has too many blocks.
    #[error("{length} bytes are more than {BLOCKS_MAX} blocks of {block_size} bytes")]
    Length {
        /// The length of the source in bytes.
        length: u64,
        /// The block size in bytes.
        block_size: u32,
    },
}

impl Layout {
    /// Divides `length` bytes into blocks of `block_size` bytes.
    ///
    /// # Errors
    /// If the block size is not 4 KiB to 4 MiB, or there are more than [`BLOCKS_MAX`] blocks.
    pub fn new(length: u64, block_size: u32) -> Result<Self, LayoutError> {
        if !(MIN_BLOCK_SIZE..=MAX_BLOCK_SIZE).contains(&block_size) {
            return Err(LayoutError::BlockSize(block_size.into()));
        }
        Self { length, block_size, open: false }.checked()
    }

    /// Returns the layout if its table of digests is not too large. A length that another machine
    /// reported is checked before anything is allocated for it.
    ///
    /// # Errors
    /// If there are more than [`BLOCKS_MAX`] blocks.
    pub fn checked(self) -> Result<Self, LayoutError> {
        match self.blocks() <= BLOCKS_MAX {
            true => Ok(self),
            false => Err(LayoutError::Length { length: self.length, block_size: self.block_size }),
        }
    }

    /// Divides a stream of unknown length into blocks of `block_size` bytes.
    ///
    /// # Errors
    /// If the block size is not 4 KiB to 4 MiB.
    pub fn open_ended(block_size: u32) -> Result<Self, LayoutError> {
        let most = BLOCKS_MAX * u64::from(block_size);
        Ok(Self { open: true, ..Self::new(most, block_size)? })
    }

    /// Sets the length of a stream in bytes, once it is known.
    #[must_use]
    pub fn ended_at(self, length: u64) -> Self {
        Self { length, open: false, ..self }
    }

    /// Divides `length` bytes into blocks of a suitable size.
    ///
    /// A node decrypts a block only when all of it has arrived, so the last block's time on the
    /// wire is added to every copy. Short sources therefore have short blocks: at least 64 of them,
    /// down to 64 KiB. The table of digests grows with the number of blocks, so sources of 256 GiB
    /// and more have longer blocks.
    pub fn fitting(length: u64) -> Self {
        const SHORT: u64 = 64;
        const MANY: u64 = 1 << 18;
        let mut block_size = DEFAULT_BLOCK_SIZE;
        while block_size > 64 << 10 && length / u64::from(block_size) < SHORT {
            block_size /= 2;
        }
        while block_size < MAX_BLOCK_SIZE && length / u64::from(block_size) > MANY {
            block_size *= 2;
        }
        Self { length, block_size, open: false }
    }

    /// Returns the number of blocks; the maximum number if `open`.
    pub fn blocks(&self) -> u64 {
        self.length.div_ceil(u64::from(self.block_size))
    }

    /// Returns the offset in bytes of block `index`.
    pub fn offset(&self, index: u64) -> u64 {
        index * u64::from(self.block_size)
    }

    /// Returns the length in bytes of block `index`; 0 beyond the last block. The last block of a
    /// stream may be shorter.
    pub fn block_length(&self, index: u64) -> u32 {
        if index >= self.blocks() {
            return 0;
        }
        let rest = self.length - self.offset(index);
        u32::try_from(rest).map_or(self.block_size, |rest| rest.min(self.block_size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_block_is_shorter_and_the_lengths_sum_up() {
        for length in [0, 1, 4095, 4096, 4097, 1 << 20, (1 << 20) + 1] {
            let layout = Layout::new(length, 4096).expect("4096 is allowed");
            let sum: u64 = (0..layout.blocks()).map(|i| u64::from(layout.block_length(i))).sum();
            assert_eq!(sum, length);
            assert_eq!(layout.block_length(layout.blocks()), 0);
        }
    }

    #[test]
    fn short_sources_get_short_blocks_and_long_ones_long() {
        assert_eq!(Layout::fitting(10 << 20).block_size, 128 << 10);
        assert_eq!(Layout::fitting(0).block_size, 64 << 10);
        assert_eq!(Layout::fitting(1 << 30).block_size, DEFAULT_BLOCK_SIZE);
        assert_eq!(Layout::fitting(1 << 40).block_size, MAX_BLOCK_SIZE);
    }

    #[test]
    fn a_stream_has_room_until_it_has_ended() {
        let layout = Layout::open_ended(4096).unwrap();
        assert_eq!((layout.blocks(), layout.block_length(BLOCKS_MAX - 1)), (BLOCKS_MAX, 4096));
        let ended = layout.ended_at(5000);
        assert_eq!((ended.blocks(), ended.block_length(1), ended.open), (2, 904, false));
    }

    #[test]
    fn a_block_size_beyond_memory_is_refused() {
        assert!(Layout::new(1, 64 << 20).is_err());
        assert!(Layout::new(1, 0).is_err());
    }

    #[test]
    fn more_blocks_than_have_digests_are_refused() {
        let longest = BLOCKS_MAX * u64::from(MAX_BLOCK_SIZE);
        assert_eq!(Layout::fitting(longest).checked().map(|it| it.blocks()), Ok(BLOCKS_MAX));
        for length in [longest + 1, u64::MAX] {
            let refused = LayoutError::Length { length, block_size: MAX_BLOCK_SIZE };
            assert_eq!(Layout::fitting(length).checked(), Err(refused));
        }
        assert!(Layout::new(BLOCKS_MAX * 4096, 4096).is_ok());
        let refused = Layout::new(BLOCKS_MAX * 4096 + 1, 4096).unwrap_err().to_string();
        insta::assert_snapshot!(refused, @"68719476737 bytes are more than 16777216 blocks of 4096 bytes");
    }
}

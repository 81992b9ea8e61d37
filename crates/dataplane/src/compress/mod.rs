//! Compression of blocks. The node that reads the source compresses blocks before it encrypts them;
//! relays forward them unchanged, and each node decompresses them for its own store. A node that
//! feeds another one from its store compresses what it sends as it received it.

mod pace;
mod wires;
mod zeros;

use garland_protocol::copy::Encoding;
use zstd::bulk::{Compressor, Decompressor};

pub use self::pace::PackingPace;
pub use self::zeros::{Zeros, are_zeros};

/// The compression level of Zstandard. Higher levels take several times as long and save only
/// another tenth.
const LEVEL: i32 = 1;

/// How blocks are compressed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Packing {
    /// Blocks are not compressed.
    #[default]
    None,
    /// Blocks are compressed with LZ4, which is fast.
    Lz4,
    /// Blocks are compressed with Zstandard, which is slower and compresses more.
    Zstd,
    /// Blocks are compressed with LZ4, with Zstandard, or not at all: whichever makes the copy
    /// fastest, as measured during the copy. Until then they have this encoding.
    Auto(Encoding),
}

impl Packing {
    /// Returns the same way of compressing; if it depends on measurements, blocks have the encoding
    /// `first` until there are any.
    #[must_use]
    pub fn beginning_with(self, first: Encoding) -> Self {
        if matches!(self, Self::Auto(_)) { Self::Auto(first) } else { self }
    }
}

/// Compresses blocks, one at a time.
#[derive(Default)]
pub struct Packer {
    zstd: Option<Compressor<'static>>,
}

impl Packer {
    /// Compresses `bytes` into `room` in the encoding `form`. Returns the compressed length; none
    /// if compression does not make the block shorter, or `form` is not a compression.
    pub fn pack(&mut self, form: Encoding, bytes: &[u8], room: &mut [u8]) -> Option<usize> {
        let packed = match form {
            Encoding::Lz4 => lz4_flex::block::compress_into(bytes, room).ok(),
            Encoding::Zstd => {
                if self.zstd.is_none() {
                    self.zstd = Compressor::new(LEVEL).ok();
                }
                self.zstd.as_mut()?.compress_to_buffer(bytes, room).ok()
            }
            Encoding::Plain | Encoding::Zeros | Encoding::Hole => None,
        };
        packed.filter(|&packed| packed > 0 && packed < bytes.len())
    }
}

/// Returns the size in bytes of a buffer in which compressing `length` bytes cannot fail.
pub fn room(length: usize) -> usize {
    lz4_flex::block::get_maximum_output_size(length).max(zstd::zstd_safe::compress_bound(length))
}

/// Decompresses blocks, one at a time.
#[derive(Default)]
pub struct Unpacker {
    zstd: Option<Decompressor<'static>>,
}

impl Unpacker {
    /// Decompresses `packed`, in the encoding `form`, into `bytes`. Never writes beyond its end.
    /// Returns whether the result fills `bytes` exactly.
    pub fn unpack(&mut self, form: Encoding, packed: &[u8], bytes: &mut [u8]) -> bool {
        let length = match form {
            Encoding::Lz4 => lz4_flex::block::decompress_into(packed, bytes).ok(),
            Encoding::Zstd => {
                if self.zstd.is_none() {
                    self.zstd = Decompressor::new().ok();
                }
                let unpacker = self.zstd.as_mut();
                unpacker.and_then(|zstd| zstd.decompress_to_buffer(packed, bytes).ok())
            }
            Encoding::Plain | Encoding::Zeros | Encoding::Hole => None,
        };
        length == Some(bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FORMS: [Encoding; 2] = [Encoding::Lz4, Encoding::Zstd];

    fn packed(form: Encoding, bytes: &[u8]) -> Option<Vec<u8>> {
        let mut packed = vec![0; room(bytes.len())];
        let length = Packer::default().pack(form, bytes, &mut packed)?;
        packed.truncate(length);
        Some(packed)
    }

    #[test]
    fn a_bomb_is_no_larger_than_its_block() {
        for form in FORMS {
            let bomb = packed(form, &vec![0; 4 << 20]).unwrap();
            assert!(bomb.len() < 32 << 10);
            for length in [0, 1, 4096, (4 << 20) - 1, (4 << 20) + 1] {
                let mut bytes = vec![1; length];
                assert!(!Unpacker::default().unpack(form, &bomb, &mut bytes), "{form:?} {length}");
            }
        }
    }

    #[test]
    fn what_does_not_get_smaller_is_not_packed() {
        let noise: Vec<u8> =
            (0..4096_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()).collect();
        for form in FORMS {
            assert!(packed(form, &noise[..1]).is_none(), "{form:?}");
            assert!(packed(form, &[]).is_none(), "{form:?}");
        }
        assert!(packed(Encoding::Plain, &[0; 100]).is_none());
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_back(words in proptest::collection::vec(0..4_u64, 1..2000)) {
            let bytes: Vec<u8> = words.iter().flat_map(|word| (word * 77).to_le_bytes()).collect();
            for form in FORMS {
                let Some(packed) = packed(form, &bytes) else { continue };
                prop_assert!(packed.len() < bytes.len());
                let mut back = vec![9; bytes.len()];
                prop_assert!(Unpacker::default().unpack(form, &packed, &mut back));
                prop_assert!(back == bytes);
            }
        }

        #[test]
        fn any_bytes_are_a_block_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..300), length in 0..2000_usize) {
            for form in FORMS {
                let mut room = vec![0; length];
                Unpacker::default().unpack(form, &bytes, &mut room);
            }
        }

        #[test]
        fn a_changed_block_does_no_harm(at in any::<prop::sample::Index>(), bit in 0..8_u8) {
            let text = b"some text that is said again and again ".repeat(50);
            for form in FORMS {
                let mut packed = packed(form, &text).expect("it repeats itself");
                let at = at.index(packed.len());
                packed[at] ^= 1 << bit;
                Unpacker::default().unpack(form, &packed, &mut vec![0; text.len()]);
            }
        }
    }
}

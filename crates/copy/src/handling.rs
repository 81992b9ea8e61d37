//! What the options of a copy do to the costs of its bytes: encryption, compression and
//! `--bwlimit`.

use std::hint::black_box;

use garland_core::plan::Layout;
use garland_dataplane::compress::Packing;
use garland_dataplane::compress::{self, Packer, Unpacker, are_zeros};
use garland_predict::Payload;
use garland_protocol::copy::Encoding;
use garland_sys::clock;

use super::source::CopySource;
use super::spec::CopySpec;
use crate::known_wires::Handling;

/// The size in bytes of a piece of the source that is compressed to learn what compression saves.
const PIECE: u32 = 64 << 10;

/// The most pieces, and the smallest fraction of the source that they may be: reading them must not
/// take longer than it saves.
const PIECES: u64 = 16;
const FRACTION: u64 = 32;

/// Pieces that lie evenly spread in a source, with at least one byte.
struct Pieces(Vec<Vec<u8>>);

/// What encoding pieces of the source took.
#[derive(Default)]
struct Sample {
    bytes: usize,
    sent: usize,
    pack_ns: u64,
    unpack_ns: u64,
}

/// Returns the form of blocks that are not compressed.
pub fn plain(spec: &CopySpec) -> Payload {
    Payload { sealed: spec.tuning.is_sealed, ..Payload::USUAL }
}

/// Returns how the options of a request handle the bytes of `given`; with `--compress auto`, each
/// way that the copy may choose, without compression first. What cannot be sampled is taken for
/// incompressible.
pub fn handlings(spec: &CopySpec, given: &CopySource) -> Vec<Handling> {
    let uncompressed = plain(spec);
    let encodings = match spec.tuning.packing {
        Packing::None => &[][..],
        Packing::Lz4 => &[Encoding::Lz4],
        Packing::Zstd => &[Encoding::Zstd],
        Packing::Auto(_) => &[Encoding::Lz4, Encoding::Zstd],
    };
    let pieces = if encodings.is_empty() { None } else { Pieces::read(given) };
    let limit = spec.tuning.link_limit;
    let packed = |encoding: &Encoding| {
        let pieces = pieces.as_ref();
        let form = pieces
            .map_or(uncompressed, |pieces| pieces.encoded(*encoding).payload(uncompressed.sealed));
        Handling::new(form, *encoding, limit)
    };
    let may_be_plain = matches!(spec.tuning.packing, Packing::None | Packing::Auto(_));
    let unpacked = may_be_plain.then(|| Handling::new(uncompressed, Encoding::Plain, limit));
    unpacked.into_iter().chain(encodings.iter().map(packed)).collect()
}

/// Returns the form of a request's blocks before the copy has measured anything.
pub fn usual(spec: &CopySpec, given: &CopySource) -> Payload {
    match spec.tuning.packing {
        Packing::None | Packing::Auto(_) => plain(spec),
        Packing::Lz4 | Packing::Zstd => handlings(spec, given)[0].payload,
    }
}

impl Pieces {
    /// Reads pieces of a source of which any part can be read at any time; `None` if it is another
    /// one, or is empty. Pieces that cannot be read are none.
    fn read(given: &CopySource) -> Option<Self> {
        // Objects are read ahead in their order.
        let is_random = match given {
            CopySource::File(..) => true,
            CopySource::Tree(tree) => !tree.is_of_objects(),
            _ => false,
        };
        let content = is_random.then(|| given.content())?;
        let layout = Layout::new(content.length(), PIECE).ok()?;
        let all = layout.blocks();
        let count = (all / FRACTION).clamp(1, PIECES).min(all);
        let read = |piece: u64| {
            let index = (2 * piece + 1) * all / (2 * count);
            let mut bytes = vec![0; layout.block_length(index) as usize];
            content.sample(layout, index, &mut bytes).ok()?;
            Some(bytes)
        };
        let pieces: Vec<Vec<u8>> = (0..count).filter_map(read).collect();
        pieces.iter().any(|piece| !piece.is_empty()).then_some(Self(pieces))
    }

    /// Encodes the pieces, and decodes them again.
    fn encoded(&self, encoding: Encoding) -> Sample {
        let mut sample = Sample::default();
        let mut packer = Packer::default();
        let mut unpacker = Unpacker::default();
        for piece in &self.0 {
            sample.add(piece, encoding, &mut packer, &mut unpacker);
        }
        sample
    }
}

impl Sample {
    fn add(
        &mut self,
        bytes: &[u8],
        encoding: Encoding,
        packer: &mut Packer,
        unpacker: &mut Unpacker,
    ) {
        self.bytes += bytes.len();
        // Blocks of zeros are not sent, with any option.
        if are_zeros(bytes) {
            return;
        }
        let mut room = vec![0; compress::room(bytes.len())];
        let began = clock::thread_cpu_ns();
        let packed = packer.pack(encoding, bytes, &mut room);
        self.pack_ns += clock::thread_cpu_ns() - began;
        self.sent += packed.unwrap_or(bytes.len());
        let Some(packed) = packed else { return };
        let mut back = vec![0; bytes.len()];
        let began = clock::thread_cpu_ns();
        black_box(unpacker.unpack(encoding, &room[..packed], &mut back));
        self.unpack_ns += clock::thread_cpu_ns() - began;
    }

    fn payload(&self, sealed: bool) -> Payload {
        let bytes = self.bytes as f64;
        Payload {
            sealed,
            // Headers are sent in any case.
            ratio: (self.sent as f64 / bytes).max(1e-3),
            pack: self.pack_ns as f64 / 1e9 / bytes,
            unpack: self.unpack_ns as f64 / 1e9 / bytes,
        }
    }
}

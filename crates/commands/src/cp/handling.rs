//! What the options of a copy do to the costs of its bytes: encryption, compression and `--bwlimit`.

use std::hint::black_box;

use garland_core::plan::Layout;
use garland_dataplane::compress::{self, Packer, Unpacker, are_zeros};
use garland_dataplane::{Content, Packing};
use garland_predict::Payload;
use garland_protocol::Encoding;
use garland_sys::clock;

use super::request::CopyRequest;
use super::source::CopySource;
use crate::known_wires::Handling;

/// The size in bytes of a piece of the source that is compressed to learn what compression saves.
const PIECE: u32 = 64 << 10;

/// The most pieces, and the smallest fraction of the source that they may be: reading them must not
/// take longer than it saves.
const PIECES: u64 = 16;
const FRACTION: u64 = 32;

/// What encoding a sample of the source took.
#[derive(Default)]
struct Sample {
    bytes: usize,
    sent: usize,
    pack_ns: u64,
    unpack_ns: u64,
}

/// Returns the form of blocks that are not compressed.
pub fn plain(request: &CopyRequest<'_>) -> Payload {
    Payload { sealed: !request.args.no_encrypt, ..Payload::USUAL }
}

/// Returns how the options of a request handle the bytes of `given`; with `--compress auto`, each way
/// that the copy may choose, without compression first.
pub fn handlings(request: &CopyRequest<'_>, given: &CopySource) -> Vec<Handling> {
    let args = request.args;
    let link = match args.checks.pace() {
        0 => f64::INFINITY,
        pace => pace as f64,
    };
    let plain = plain(request);
    let packed = |encoding: Encoding| {
        let sample = Sample::of(&*sampled(given)?, encoding)?;
        Some(sample.payload(plain.sealed))
    };
    let payloads = match args.compress {
        Packing::None => vec![Some(plain)],
        Packing::Lz4 => vec![packed(Encoding::Lz4)],
        Packing::Zstd => vec![packed(Encoding::Zstd)],
        Packing::Auto => vec![Some(plain), packed(Encoding::Lz4), packed(Encoding::Zstd)],
    };
    // What cannot be sampled is taken for incompressible.
    let known = payloads.into_iter().map(|payload| payload.unwrap_or(plain));
    known.map(|payload| Handling { payload, link }).collect()
}

/// Returns the content of a source of which any part can be read at any time.
fn sampled(given: &CopySource) -> Option<std::sync::Arc<dyn Content>> {
    matches!(given, CopySource::File(..) | CopySource::Tree(_)).then(|| given.content())
}

impl Sample {
    /// Compresses pieces that lie evenly spread in a source, and decompresses them again; `None` if it
    /// is empty or cannot be read.
    fn of(content: &dyn Content, encoding: Encoding) -> Option<Self> {
        let layout = Layout::new(content.length(), PIECE).ok()?;
        let all = layout.blocks();
        let pieces = (all / FRACTION).clamp(1, PIECES).min(all);
        let mut sample = Self::default();
        let (mut packer, mut unpacker) = (Packer::default(), Unpacker::default());
        for piece in 0..pieces {
            let index = (2 * piece + 1) * all / (2 * pieces);
            let mut bytes = vec![0; layout.block_length(index) as usize];
            content.read(layout, index, &mut bytes).ok()?;
            sample.add(&bytes, encoding, (&mut packer, &mut unpacker));
        }
        (sample.bytes > 0).then_some(sample)
    }

    fn add(
        &mut self,
        bytes: &[u8],
        encoding: Encoding,
        (packer, unpacker): (&mut Packer, &mut Unpacker),
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

//! Decides from measurements during a copy whether compression makes the copy faster.
//!
//! Some threads prepare blocks while others send, so the slower of the two activities determines
//! the time per block. Without compression it is the time to send all bytes of the block. With
//! compression it is the time to compress, or the time to send the fewer bytes, whichever is
//! longer. The time to send is measured by acknowledgements ([`Wires`]). The time and ratio of an
//! encoding are known from the blocks it has compressed, or else from a sample of one block in
//! sixteen.

use garland_protocol::copy::Encoding;
use garland_sys::sync::Mutex;
use garland_sys::tcp_info::TcpInfo;

use super::wires::{Wires, mixed};
use super::{Packer, Packing};

/// The size of a sample in bytes.
const SAMPLE: usize = 64 << 10;

/// Of one block in this many, a piece is also compressed with the encodings not in use.
const EVERY: u32 = 16;

/// An encoding is used if its time per block is less than this fraction of the time without
/// compression.
const GAIN: f64 = 0.9;

/// Measures sending and compression in one copy, and chooses the encoding of the next block.
#[derive(Debug)]
pub struct PackingPace {
    packing: Packing,
    /// The number of lanes over which the copy sends its blocks.
    lanes: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    wires: Wires,
    lz4: Figures,
    zstd: Figures,
    /// The number of blocks so far. A sample is due when this is a multiple of [`EVERY`].
    blocks: u32,
    /// The encoding of the last block that arrived; none before the first one.
    received: Option<Encoding>,
}

/// The time in nanoseconds to compress a byte with all threads together, and the ratio of the
/// compressed to the original length; none before the first measurement.
#[derive(Clone, Copy, Debug, Default)]
struct Figures(Option<(f64, f64)>);

impl PackingPace {
    /// Returns an instance without measurements, for copies over `lanes` lanes that compress as
    /// `packing` says.
    pub fn new(packing: Packing, lanes: usize) -> Self {
        Self { packing, lanes, state: Mutex::default() }
    }

    /// Returns whether blocks may be compressed.
    pub fn is_on(&self) -> bool {
        self.packing != Packing::None
    }

    /// Returns whether the encoding of a block depends on measurements.
    pub fn measures(&self) -> bool {
        matches!(self.packing, Packing::Auto(_))
    }

    /// Records the counters of links downstream: the lane, the index in the plan of the node at the
    /// far end, and the kernel's counters. Returns whether the rate of any of them is known.
    pub fn observe(&self, links: Vec<(usize, u16, TcpInfo)>) -> bool {
        let wires = &mut self.state.lock().wires;
        links.into_iter().for_each(|(lane, peer, info)| wires.observe(lane, peer, info));
        wires.byte_ns(self.lanes).is_some()
    }

    /// Records that sending `bytes` bytes over `lane`, whose links have no counters, took `ns`
    /// nanoseconds.
    pub fn sent(&self, lane: usize, bytes: usize, ns: u64) {
        if bytes > 0 {
            self.state.lock().wires.sent(lane, bytes, ns);
        }
    }

    /// Records that one of `threads` threads took `ns` nanoseconds to compress `bytes` bytes to
    /// `packed` bytes.
    pub fn packed(&self, form: Encoding, bytes: usize, packed: usize, ns: u64, threads: usize) {
        if !self.measures() || bytes == 0 {
            return;
        }
        let took = ns as f64 / bytes as f64 / threads.max(1) as f64;
        let left = packed as f64 / bytes as f64;
        let mut state = self.state.lock();
        let Some(figures) = state.of(form) else { return };
        let (old_took, old_left) = figures.0.unzip();
        figures.0 = Some((mixed(old_took, took, 1.0), mixed(old_left, left, 1.0)));
    }

    /// Records the encoding of a block that arrived from another node.
    pub fn received(&self, form: Encoding) {
        if !matches!(form, Encoding::Zeros | Encoding::Hole) {
            self.state.lock().received = Some(form);
        }
    }

    /// Returns the encoding for a block that this node received and now feeds to another one: that
    /// of the last block that arrived, since the node that reads the source found it useful.
    pub fn as_received(&self) -> Encoding {
        self.state.lock().received.unwrap_or(Encoding::Plain)
    }

    /// Returns the encoding for the next block; with [`Packing::Auto`] the fastest one.
    pub fn choose(&self) -> Encoding {
        match self.packing {
            Packing::None => Encoding::Plain,
            Packing::Lz4 => Encoding::Lz4,
            Packing::Zstd => Encoding::Zstd,
            Packing::Auto(first) => self.state.lock().choose(self.lanes, first),
        }
    }

    /// If a sample is due, compresses a piece of the block `bytes` into `room` with each encoding
    /// that is not in use, and records the time by one of `threads` threads. `clock` returns
    /// nanoseconds.
    pub fn sample(
        &self,
        packer: &mut Packer,
        bytes: &[u8],
        room: &mut [u8],
        threads: usize,
        clock: impl Fn() -> u64,
    ) {
        let Packing::Auto(first) = self.packing else {
            return;
        };
        let chosen = {
            let mut state = self.state.lock();
            let due = state.blocks.is_multiple_of(EVERY);
            state.blocks = state.blocks.wrapping_add(1);
            if !due {
                return;
            }
            state.choose(self.lanes, first)
        };
        let middle = bytes.len().saturating_sub(SAMPLE) / 2;
        let piece = &bytes[middle..bytes.len().min(middle + SAMPLE)];
        for form in [Encoding::Lz4, Encoding::Zstd].into_iter().filter(|form| *form != chosen) {
            let began = clock();
            let packed = packer.pack(form, piece, room).unwrap_or(piece.len());
            self.packed(form, piece.len(), packed, clock().saturating_sub(began), threads);
        }
    }
}

impl State {
    fn of(&mut self, form: Encoding) -> Option<&mut Figures> {
        match form {
            Encoding::Lz4 => Some(&mut self.lz4),
            Encoding::Zstd => Some(&mut self.zstd),
            Encoding::Plain | Encoding::Zeros | Encoding::Hole => None,
        }
    }

    /// Returns the fastest encoding over `lanes` lanes; `first` while their rate is unknown.
    fn choose(&self, lanes: usize, first: Encoding) -> Encoding {
        let Some(wire) = self.wires.byte_ns(lanes) else { return first };
        let time = |figures: Figures| figures.0.map(|(took, left)| took.max(left * wire));
        let packings = [(Encoding::Lz4, time(self.lz4)), (Encoding::Zstd, time(self.zstd))];
        let known = packings.into_iter().filter_map(|(form, time)| Some((form, time?)));
        let best = known.min_by(|(_, one), (_, other)| one.total_cmp(other));
        best.filter(|(_, time)| *time < GAIN * wire).map_or(Encoding::Plain, |(form, _)| form)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AUTO: Packing = Packing::Auto(Encoding::Plain);

    /// A wire with `wire` ns per byte. LZ4 halves in 1 ns per byte, Zstandard leaves `left`
    /// permille in 3.
    fn pace(wire: u64, left: usize) -> PackingPace {
        let pace = PackingPace::new(AUTO, 1);
        for _ in 0..50 {
            pace.sent(0, 1000, wire * 1000);
            pace.packed(Encoding::Lz4, 1000, 500.max(left), 2000, 2);
            pace.packed(Encoding::Zstd, 1000, left, 6000, 2);
        }
        pace
    }

    #[test]
    fn what_is_fed_again_is_encoded_as_it_came() {
        let relay = PackingPace::new(Packing::None, 1);
        assert_eq!(relay.as_received(), Encoding::Plain);
        for form in [Encoding::Zstd, Encoding::Zeros, Encoding::Hole] {
            relay.received(form);
            assert_eq!((relay.as_received(), relay.choose()), (Encoding::Zstd, Encoding::Plain));
        }
        relay.received(Encoding::Plain);
        assert_eq!(relay.as_received(), Encoding::Plain);
    }

    #[test]
    fn slow_wires_get_compressed_blocks_and_fast_ones_do_not() {
        assert_eq!(pace(80, 300).choose(), Encoding::Zstd);
        assert_eq!(pace(8, 300).choose(), Encoding::Zstd, "3 ns a byte against 4");
        assert_eq!(pace(4, 300).choose(), Encoding::Lz4);
        assert_eq!(pace(1, 300).choose(), Encoding::Plain, "packing takes as long as the wire");
    }

    #[test]
    fn what_does_not_get_smaller_is_left_as_it_is() {
        assert_eq!(pace(80, 990).choose(), Encoding::Plain);
        assert_eq!(PackingPace::new(AUTO, 1).choose(), Encoding::Plain, "nothing is known");
        let expected = PackingPace::new(Packing::Auto(Encoding::Zstd), 1);
        assert_eq!(expected.choose(), Encoding::Zstd, "nothing is known but what was expected");
        expected.packed(Encoding::Zstd, 1000, 990, 6000, 2);
        expected.sent(0, 1000, 80_000);
        assert_eq!(expected.choose(), Encoding::Plain, "it does not get smaller");
        assert_eq!(PackingPace::new(Packing::Lz4, 1).choose(), Encoding::Lz4);
    }

    #[test]
    fn what_is_not_in_use_is_tried_now_and_then() {
        let pace = PackingPace::new(AUTO, 1);
        let text = b"again and ".repeat(10_000);
        let mut room = vec![0; 200_000];
        for number in 0..40 {
            let clock = std::cell::Cell::new(0);
            let tick = || clock.replace(clock.get() + 1000);
            pace.sample(&mut Packer::default(), &text, &mut room, 1, tick);
            assert_eq!(clock.get(), if u32::is_multiple_of(number, EVERY) { 4000 } else { 0 });
        }
        pace.sent(0, 1000, 1_000_000);
        assert_ne!(pace.choose(), Encoding::Plain);
    }
}

//! Blocks that a node has before they arrive. When a link opens, the node reports them to its
//! upstream, which then skips them.

use super::down::Down;
use super::{Relay, RelayOrder};
use crate::sink::Sink;
use garland_core::plan::BlockSet;

/// The number of blocks that one frame reports.
const TOLD: u64 = 256;

impl Down {
    /// Whether the downstream has reported that it has block `index`.
    pub(super) fn has(&self, index: u64) -> bool {
        self.has.as_ref().is_some_and(|has| has.contains(index))
    }
}

impl Relay {
    /// Reports to the upstream which of the remaining blocks of the lane are present.
    pub(super) fn tell_holdings(&mut self, sink: &Sink) {
        if !sink.is_foreknown() {
            return;
        }
        let here = |index: u64| {
            let rest = self.blocks.ordinal(index).is_some_and(|place| place >= self.cursor);
            rest && sink.has(index)
        };
        for chunk in 0..self.blocks.end.div_ceil(TOLD) {
            let first = chunk * TOLD;
            let mut bits = [0; 32];
            for (at, index) in (first..self.blocks.end.min(first + TOLD)).enumerate() {
                bits[at / 8] |= u8::from(here(index)) << (at % 8);
            }
            if bits != [0; 32] {
                self.orders.push_back(RelayOrder::TellUp(first, bits));
            }
        }
    }

    /// Takes the report of a downstream. The downstream still gets blocks that it requests
    /// (`Again`).
    pub(super) fn told(&mut self, epoch: u32, first: u64, bits: &[u8; 32]) {
        let end = self.blocks.end;
        let down = self.downs.iter_mut().find(|down| down.epoch == epoch);
        let Some(down) = down.filter(|_| first < end) else { return };
        let has = down.has.get_or_insert_with(|| BlockSet::new(end));
        for at in (0..TOLD).filter(|at| bits[(at / 8) as usize] >> (at % 8) & 1 == 1) {
            has.insert(first.saturating_add(at));
        }
    }
}

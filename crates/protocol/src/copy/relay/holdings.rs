//! Blocks that a node has without receiving them. When a link opens, the node reports them to its
//! upstream, which then skips them.

use garland_core::index_set::IndexSet;

use super::{Relay, RelayOrder};
use crate::copy::sink::Sink;

/// The number of blocks that one frame reports.
const BLOCKS_PER_FRAME: u64 = 256;

impl Relay {
    /// Reports to the upstream which of the remaining blocks of the lane are present.
    pub(super) fn send_have(&mut self, sink: &Sink) {
        if !sink.knows_all_digests() {
            return;
        }
        let here = |index: u64| {
            let rest = self.blocks.ordinal(index).is_some_and(|place| place >= self.cursor);
            rest && sink.has(index)
        };
        for chunk in 0..self.blocks.end.div_ceil(BLOCKS_PER_FRAME) {
            let first = chunk * BLOCKS_PER_FRAME;
            let mut bits = [0; 32];
            for (at, index) in (first..self.blocks.end.min(first + BLOCKS_PER_FRAME)).enumerate() {
                bits[at / 8] |= u8::from(here(index)) << (at % 8);
            }
            if bits != [0; 32] {
                self.orders.push_back(RelayOrder::SendHave(first, bits));
            }
        }
    }

    /// Notes the blocks that a downstream reports as present. If the downstream requests one of
    /// them (`Again`), it still gets the block.
    pub(super) fn note_have(&mut self, epoch: u32, first: u64, bits: &[u8; 32]) {
        let end = self.blocks.end;
        let Some(down) = self.downs.iter_mut().find(|down| down.epoch == epoch) else { return };
        if !down.resumed {
            // Frames without end would keep the link from becoming overdue.
            down.reports += 1;
            if down.reports > end / BLOCKS_PER_FRAME + 1 {
                return self.refuse_down(epoch, "more reports of blocks than there are blocks");
            }
        }
        if first >= end {
            return;
        }
        let has = down.has.get_or_insert_with(|| IndexSet::new(end));
        for at in (0..BLOCKS_PER_FRAME).filter(|at| bits[(at / 8) as usize] >> (at % 8) & 1 == 1) {
            has.insert(first.saturating_add(at));
        }
    }
}

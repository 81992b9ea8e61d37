//! Asking upstream again for blocks that this node, or its downstream, lacks.

use super::{Relay, RelayOrder};
use crate::frame::Kind;
use crate::sink::Sink;

/// How many blocks one node may have asked for again and not yet received.
const ASKED_MAX: usize = 16;

/// How many blocks a node that was let drop what its disk can't take has under way to it or with its
/// writer while it fetches them; the writer has room for more.
const CATCH_UP_MAX: usize = 4;

impl Relay {
    /// Asks upstream for what the downstream wants and this node can't give, and for what this
    /// node itself lacks: a changed block at once, what its disk couldn't take when the stream is
    /// over.
    pub(super) fn ask_for_missing(&mut self, sink: &Sink) -> Option<RelayOrder> {
        let open = matches!(self.up, Some((_, true)));
        if self.is_source || !open || self.asked.len() >= ASKED_MAX || !self.doubts.is_empty() {
            return None;
        }
        let wanted = self.downs.iter().flat_map(|down| &down.again).copied();
        let wanted = wanted.filter(|&index| {
            let place = self.blocks.ordinal(index);
            let passed = place.is_some_and(|place| place < self.cursor);
            passed && !sink.can_serve(index) && !sink.will_serve(index)
        });
        // A node whose disk is behind asks for what it had to drop when the stream is over, and for
        // no more than its disk takes: it would only have to drop it again.
        let behind = self.flying + self.asked.len() >= CATCH_UP_MAX;
        let now = !self.detached || self.up_ended && !behind;
        let own = || self.next_own(now, sink.lacking(), |index| sink.wants(index));
        let wanted = wanted.into_iter().find(|index| !self.asked.contains(index));
        let index = wanted.or_else(own)?;
        self.asked.insert(index);
        Some(RelayOrder::AskUp(Kind::Again, index))
    }

    /// The first of the `lacking` blocks that this node may ask for, if it may ask for any `now`. A
    /// node whose disk is behind may lack most of the file: these blocks are not looked at before it
    /// may ask for one of them.
    fn next_own(
        &self,
        now: bool,
        lacking: impl Iterator<Item = u64>,
        wants: impl Fn(u64) -> bool,
    ) -> Option<u64> {
        let mut lacking = now.then_some(lacking)?;
        lacking.find(|index| {
            let passed = self.blocks.ordinal(*index).is_some_and(|place| place < self.cursor);
            let suspect = self.unsettled.iter().any(|block| block.index == *index);
            passed && !suspect && wants(*index) && !self.asked.contains(index)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;
    use garland_core::plan::LaneBlocks;

    #[test]
    fn what_a_detached_node_lacks_is_not_walked_while_it_may_not_ask() {
        let blocks = 1_000_000;
        let relay = Relay { cursor: blocks, ..Relay::new(LaneBlocks::all(blocks), false) };
        let looks = Cell::new(0_u64);
        let lacking = || (0..blocks).inspect(|_| looks.set(looks.get() + 1));
        assert_eq!(relay.next_own(false, lacking(), |_| true), None);
        assert_eq!(looks.get(), 0);
        assert_eq!(relay.next_own(true, lacking(), |_| true), Some(0));
        assert_eq!(looks.get(), 1);
    }
}

//! Requests to the upstream for blocks that this node, or its downstream, lacks.

use super::{Relay, RelayOrder};
use crate::copy::frame::Kind;
use crate::copy::sink::Sink;

/// The maximum number of blocks that a node has requested and not yet received.
const REQUESTED_MAX: usize = 16;

/// The maximum number of blocks in flight to a detached node, or with its writer, while it fetches
/// the blocks that it dropped. The writer has room for more.
const CATCH_UP_MAX: usize = 4;

impl Relay {
    /// Returns the order to request a block from upstream: one that a downstream requested and this
    /// node cannot serve, or one that this node lacks. Corrupt blocks are requested at once. Blocks
    /// that were dropped because the disk was too slow are requested after the lane's end.
    pub(super) fn request_missing(&mut self, sink: &Sink) -> Option<RelayOrder> {
        if self.is_source
            || !self.up_is_open
            || self.requested.len() >= REQUESTED_MAX
            || !self.unverified.is_empty()
        {
            return None;
        }
        let wanted = self.downs.iter().flat_map(|down| &down.again).copied();
        let wanted = wanted.filter(|&index| {
            let place = self.blocks.ordinal(index);
            let passed = place.is_some_and(|place| place < self.cursor);
            passed && !sink.can_serve(index) && !sink.will_serve(index)
        });
        // A detached node requests the blocks that it dropped only after the lane's end, and at the
        // rate of its disk. Otherwise it would have to drop them again.
        let behind = self.in_flight + self.requested.len() >= CATCH_UP_MAX;
        let now = !self.detached || self.up_ended && !behind;
        let own = || self.next_own(now, sink.missing(), |index| sink.wants(index));
        let wanted = wanted.into_iter().find(|index| !self.requested.contains(index));
        let index = wanted.or_else(own)?;
        self.requested.insert(index);
        Some(RelayOrder::SendUp(Kind::Again, index))
    }

    /// Returns the first of the `missing` blocks that this node may request; `None` if it may not
    /// request one `now`. In that case `missing` is not searched, since a node with a slow disk may
    /// lack most of the file.
    fn next_own(
        &self,
        now: bool,
        missing: impl Iterator<Item = u64>,
        wants: impl Fn(u64) -> bool,
    ) -> Option<u64> {
        let mut missing = now.then_some(missing)?;
        missing.find(|index| {
            let passed = self.blocks.ordinal(*index).is_some_and(|place| place < self.cursor);
            let suspect = self.unsettled.iter().any(|block| block.index == *index);
            passed && !suspect && wants(*index) && !self.requested.contains(index)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use garland_core::plan::LaneBlocks;

    use super::*;

    #[test]
    fn missing_blocks_of_a_detached_node_are_not_searched_while_it_may_not_request() {
        let blocks = 1_000_000;
        let relay = Relay { cursor: blocks, ..Relay::new(LaneBlocks::all(blocks), false) };
        let looks = Cell::new(0_u64);
        let missing = || (0..blocks).inspect(|_| looks.set(looks.get() + 1));
        assert_eq!(relay.next_own(false, missing(), |_| true), None);
        assert_eq!(looks.get(), 0);
        assert_eq!(relay.next_own(true, missing(), |_| true), Some(0));
        assert_eq!(looks.get(), 1);
    }
}

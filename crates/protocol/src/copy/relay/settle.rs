//! Blocks that may have been cut off. A corrupt block is a fault of its hop only if it arrived
//! completely.

use super::{Relay, RelayOrder, Unsettled};
use crate::copy::frame::Kind;
use crate::copy::sink::Landing;

impl Relay {
    pub(super) fn void(&mut self, index: u64) {
        let Some(place) = self.blocks.ordinal(index) else { return };
        if place + 1 == self.cursor {
            self.cursor = place;
        }
        let Some(at) = self.unsettled.iter().position(|block| block.index == index) else { return };
        let mut block = self.unsettled.remove(at);
        self.void_down(&block);
        block.forwarded.clear();
        if block.is_unchecked() {
            self.unverified.push(block);
        }
    }

    /// Declares a block void on the links on which it was forwarded.
    pub(super) fn void_down(&mut self, block: &Unsettled) {
        let Some(place) = self.blocks.ordinal(block.index) else { return };
        let downs = self.downs.iter_mut().filter(|down| down.resumed);
        for down in downs.filter(|down| block.forwarded.contains(&down.epoch)) {
            if down.next == place + 1 {
                down.next = place;
            }
            self.orders.push_back(RelayOrder::SendDown(down.epoch, Kind::Void, block.index));
        }
    }

    /// Notes that the next block in the lane's order, or the lane's end, arrived. So corrupt blocks
    /// before it were complete: they were corrupted in transit, not cut off.
    pub(super) fn settle(&mut self) {
        for block in self.unsettled.drain(..).filter(|block| block.changed) {
            self.orders.push_back(RelayOrder::ReportBad(block.index));
        }
    }

    /// Notes that a block arrived once more. What arrived of it before was complete: else the
    /// upstream would have declared it void first. What the writer still checks remains.
    pub(super) fn settle_earlier(&mut self, index: u64) {
        let is_earlier = |block: &Unsettled| block.index == index && !block.is_unchecked();
        if let Some(earlier) = self.unsettled.iter().find(|block| is_earlier(block)) {
            if earlier.changed {
                self.orders.push_back(RelayOrder::ReportBad(index));
            }
            self.unsettled.retain(|block| !is_earlier(block));
        }
    }

    pub(super) fn landed(&mut self, index: u64, landing: Landing) {
        if landing != Landing::Opened {
            self.in_flight = self.in_flight.saturating_sub(1);
        }
        if landing != Landing::Changed {
            self.unverified.retain(|block| block.index != index);
            let unsettled = self.unsettled.iter_mut().filter(|block| block.index == index);
            unsettled.for_each(|block| block.opened = true);
            // Only nodes to which it was forwarded would have to be told that it is void.
            self.unsettled.retain(|block| block.index != index || !block.forwarded.is_empty());
            return;
        }
        let block = self.unverified.iter().position(|block| block.index == index);
        let block = block.map(|at| self.unverified.remove(at));
        if let Some(block) = block {
            self.void_down(&block);
        } else if let Some(block) = self.unsettled.iter_mut().find(|block| block.index == index) {
            block.changed = true;
        } else {
            self.orders.push_back(RelayOrder::ReportBad(index));
        }
    }
}

#[cfg(test)]
mod tests {
    use garland_core::plan::{LaneBlocks, Layout, NodeId};

    use super::*;
    use crate::copy::relay::RelayEvent;
    use crate::copy::route::{LinkSide, Route};
    use crate::copy::sink::Sink;

    const BLOCKS: u64 = 8;

    /// A node that is fed, and feeds nobody.
    struct Last {
        relay: Relay,
        sink: Sink,
    }

    impl Last {
        fn open() -> Self {
            let layout = Layout::new(BLOCKS * 4096, 4096).expect("a layout");
            let relay = Relay::new(LaneBlocks::all(BLOCKS), false);
            let mut last = Self { relay, sink: Sink::new(layout, true) };
            let upstream = Some((NodeId(1), 1, None));
            last.after(RelayEvent::Route(Route { upstream, ..Route::default() }));
            last.after(RelayEvent::Opened(LinkSide::Up, 1));
            last
        }

        fn after(&mut self, event: RelayEvent) -> Vec<RelayOrder> {
            if let RelayEvent::Landed(index, landing) = event {
                self.sink.landed(index, landing);
            }
            self.relay.handle(event, &mut self.sink);
            std::iter::from_fn(|| self.relay.poll(&self.sink)).collect()
        }

        fn arrives(&mut self, index: u64) -> Vec<RelayOrder> {
            let mut orders = self.after(RelayEvent::Block(index, [4; 32]));
            orders.extend(self.after(RelayEvent::Received { stored: true }));
            orders
        }
    }

    #[test]
    fn blocks_that_come_again_and_again_take_no_memory() {
        let mut last = Last::open();
        for index in 0..BLOCKS {
            last.arrives(index);
            last.after(RelayEvent::Landed(index, Landing::Written));
        }
        let before = last.relay.unsettled.len();
        for _ in 0..1_000 {
            last.arrives(3);
        }
        assert_eq!(last.relay.unsettled.len(), before);
    }

    #[test]
    fn corrupt_blocks_that_come_again_and_again_take_no_memory_and_are_reported() {
        let mut last = Last::open();
        for again in 0..1_000 {
            let orders = last.arrives(0);
            let reports = orders.iter().filter(|it| matches!(it, RelayOrder::ReportBad(0)));
            assert_eq!(reports.count(), usize::from(again > 0));
            last.after(RelayEvent::Landed(0, Landing::Changed));
            assert_eq!(last.relay.unsettled.len(), 1);
        }
    }
}

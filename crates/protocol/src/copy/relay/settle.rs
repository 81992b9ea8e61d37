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

    pub(super) fn landed(&mut self, index: u64, landing: Landing) {
        if landing != Landing::Opened {
            self.in_flight = self.in_flight.saturating_sub(1);
        }
        if landing != Landing::Changed {
            self.unverified.retain(|block| block.index != index);
            let unsettled = self.unsettled.iter_mut().filter(|block| block.index == index);
            unsettled.for_each(|block| block.opened = true);
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

//! Blocks that arrive: stored, forwarded, or cut off on the way.

use super::down::Down;
use super::{Busy, Relay, RelayOrder, Store, Unsettled};
use crate::copy::frame::Kind;
use crate::copy::route::LinkSide;
use crate::copy::sink::Sink;

impl Relay {
    pub(super) fn block(&mut self, index: u64, content: [u8; 32], sink: &mut Sink) {
        let Some(place) = self.blocks.ordinal(index) else { return };
        if place >= self.cursor {
            self.settle();
        }
        self.pass(place, sink);
        let streamed = place == self.cursor;
        // If this node writes a stream, its downstreams do, too: blocks that were skipped because
        // this node lacked them are sent first, because blocks after a gap would be dropped there.
        let owes = |down: &Down| {
            let mut gap = (down.next..place).map(|place| self.blocks.index(place));
            let serves = |index| sink.can_serve(index) || sink.will_surely_serve(index);
            sink.front().is_some() && gap.any(|index| !down.has(index) && serves(index))
        };
        let wants = |down: &&Down| {
            let next = streamed && down.next <= place && !down.has(index) && !owes(down);
            down.resumed && (next || down.again.contains(&index))
        };
        let to: Vec<u32> = self.downs.iter().filter(wants).map(|down| down.epoch).collect();
        let mut store = Store::No;
        if sink.wants(index) {
            if let Err(error) = sink.take(index, content) {
                self.orders.push_back(RelayOrder::Fail(error));
                return;
            }
            store = if self.detached { Store::IfRoom } else { Store::Yes };
        }
        self.busy = Busy::Receiving { index, store, to: to.clone() };
        self.orders.push_back(RelayOrder::Receive { index, store, forward: to });
    }

    /// Notes that the upstream skipped the blocks from the cursor up to the ordinal `place`.
    pub(super) fn pass(&mut self, place: u64, sink: &mut Sink) {
        while self.cursor < place {
            sink.miss(self.blocks.index(self.cursor));
            self.cursor += 1;
        }
    }

    pub(super) fn end(&mut self, blocks: u64, sink: &mut Sink) {
        self.settle();
        // That of a stream is checked before: the source has signed it.
        let is_right = match sink.layout().open {
            true => sink.end_at(blocks).is_ok(),
            false => blocks == self.blocks.end,
        };
        if !is_right {
            return self.refuse_end(blocks);
        }
        self.blocks.end = blocks;
        self.pass(self.blocks.len(), sink);
        self.up_ended = true;
    }

    /// Gives up the link to an upstream that names a false end.
    fn refuse_end(&mut self, blocks: u64) {
        let Some(epoch) = self.route.epoch_up() else { return };
        self.orders.push_back(RelayOrder::Close(LinkSide::Up, epoch));
        let reason = format!("protocol error: its upstream ended the lane after block {blocks}");
        self.lost(LinkSide::Up, epoch, reason);
    }

    pub(super) fn received_block(&mut self, stored: bool, sink: &mut Sink) {
        let Some((index, store, to)) = self.end_receiving() else { return };
        self.requested.remove(&index);
        if store != Store::No && !stored {
            sink.untake(index);
        }
        sink.arrived(index);
        sink.miss(index);
        let Some(place) = self.blocks.ordinal(index) else { return };
        self.settle_earlier(index);
        let is_next = place == self.cursor;
        if is_next {
            self.cursor += 1;
        }
        let mut forwarded = Vec::new();
        for down in self.downs.iter_mut().filter(|down| to.contains(&down.epoch)) {
            down.sent(index, place);
            forwarded.push(down.epoch);
        }
        let stored = stored && store != Store::No;
        self.in_flight += usize::from(stored);
        // Of a block that is in nobody's hands nothing is left to declare void: an upstream may
        // send it as often as it likes.
        if is_next || stored || !forwarded.is_empty() {
            let block = Unsettled { index, stored, forwarded, changed: false, opened: false };
            self.unsettled.push(block);
        }
    }

    pub(super) fn cut_off(&mut self, sink: &mut Sink) {
        let Some((index, store, to)) = self.end_receiving() else { return };
        if store != Store::No {
            sink.untake(index);
        }
        if self.blocks.ordinal(index).is_some_and(|place| place < self.cursor) {
            sink.miss(index);
        }
        let downs = self.downs.iter().filter(|down| down.resumed && to.contains(&down.epoch));
        for down in downs {
            self.orders.push_back(RelayOrder::SendDown(down.epoch, Kind::Void, index));
        }
    }

    /// Ends the receipt of a block. Returns the block's index, whether it goes to the writer, and
    /// the epochs of the links on which it was forwarded.
    fn end_receiving(&mut self) -> Option<(u64, Store, Vec<u32>)> {
        let Busy::Receiving { index, store, to } = &mut self.busy else { return None };
        let receiving = (*index, *store, std::mem::take(to));
        self.busy = Busy::No;
        Some(receiving)
    }
}

//! Blocks that come: stored, passed on, or cut off on the way.

use super::doubt::Unsettled;
use super::{Busy, Relay, RelayOrder, Store};
use crate::proto::frame::Kind;
use crate::proto::sink::Sink;

impl Relay {
    pub(super) fn block(&mut self, index: u64, content: [u8; 32], sink: &mut Sink) {
        let Some(place) = self.blocks.ordinal(index) else { return };
        if place >= self.cursor {
            self.settle();
        }
        self.pass(place, sink);
        let streamed = place == self.cursor;
        let to = self.down.as_ref().and_then(|down| {
            let next = streamed && down.next <= place;
            (down.resumed && (next || down.again.contains(&index))).then_some(down.epoch)
        });
        let mut store = Store::No;
        if sink.wants(index) {
            if let Err(error) = sink.take(index, content) {
                self.orders.push_back(RelayOrder::Fail(error));
                return;
            }
            store = if self.detached { Store::IfRoom } else { Store::Yes };
        }
        self.busy = Busy::Receiving { index, store, to };
        self.orders.push_back(RelayOrder::Receive { index, store, forward: to.is_some() });
    }

    /// The upstream goes on at `place`: what lies before it was left out.
    pub(super) fn pass(&mut self, place: u64, sink: &mut Sink) {
        while self.cursor < place {
            sink.miss(self.blocks.index(self.cursor));
            self.cursor += 1;
        }
    }

    pub(super) fn end(&mut self, sink: &mut Sink) {
        self.settle();
        self.pass(self.blocks.len(), sink);
        self.up_ended = true;
    }

    pub(super) fn received_block(&mut self, stored: bool, sink: &mut Sink) {
        let Busy::Receiving { index, store, to } = self.busy else { return };
        self.busy = Busy::No;
        self.asked.remove(&index);
        if store != Store::No && !stored {
            sink.untake(index);
        }
        sink.miss(index);
        let Some(place) = self.blocks.ordinal(index) else { return };
        if place == self.cursor {
            self.cursor += 1;
        }
        let down = self.down.as_mut().filter(|down| Some(down.epoch) == to);
        let forwarded = down.map(|down| down.sent(index, place)).is_some();
        let stored = stored && store != Store::No;
        self.flying += usize::from(stored);
        self.unsettled.push(Unsettled { index, stored, forwarded, changed: false, opened: false });
    }

    pub(super) fn cut_off(&mut self, sink: &mut Sink) {
        let Busy::Receiving { index, store, to } = self.busy else { return };
        self.busy = Busy::No;
        if store != Store::No {
            sink.untake(index);
        }
        if self.blocks.ordinal(index).is_some_and(|place| place < self.cursor) {
            sink.miss(index);
        }
        if self.down.as_ref().is_some_and(|down| Some(down.epoch) == to && down.resumed) {
            self.orders.push_back(RelayOrder::SendDown(Kind::Void, index));
        }
    }
}

//! Feeding the downstream what it lacks and this node holds.

use super::{Busy, Relay, RelayOrder};
use crate::proto::frame::Kind;
use crate::proto::sink::Sink;

impl Relay {
    /// Feeds the downstream what it lacks and this node holds: first what it asked for again.
    pub(super) fn feed(&mut self, sink: &Sink) -> Option<RelayOrder> {
        let down = self.down.as_mut().filter(|down| down.resumed)?;
        if let Some(&index) = down.again.iter().find(|&&index| sink.can_serve(index)) {
            // The same block may have gone out under the last key already.
            self.incarnation += 1;
            return Some(RelayOrder::Feed { index, incarnation: self.start_feeding(index) });
        }
        while down.next < self.cursor {
            let index = self.blocks.index(down.next);
            if sink.can_serve(index) {
                return Some(RelayOrder::Feed { index, incarnation: self.start_feeding(index) });
            }
            if sink.will_serve(index) {
                return None;
            }
            // Not here: the downstream sees the gap and asks again, and then so do we.
            down.next += 1;
        }
        // The end would settle what may yet be void.
        let settled = !self.unsettled.iter().any(|block| block.forwarded);
        let over = self.up_ended && settled && down.next >= self.blocks.len();
        if over && !down.ended {
            down.ended = true;
            return Some(RelayOrder::SendDown(Kind::End, 0));
        }
        None
    }

    fn start_feeding(&mut self, index: u64) -> u32 {
        if let Some(down) = &self.down {
            self.busy = Busy::Feeding { index, to: down.epoch };
        }
        self.incarnation
    }

    pub(super) fn fed(&mut self) {
        let Busy::Feeding { index, to } = self.busy else { return };
        self.busy = Busy::No;
        let Some(place) = self.blocks.ordinal(index) else { return };
        if let Some(down) = self.down.as_mut().filter(|down| down.epoch == to) {
            down.sent(index, place);
        }
    }
}

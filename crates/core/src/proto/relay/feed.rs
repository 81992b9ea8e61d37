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
            if down.has(index) {
                down.next += 1;
                continue;
            }
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
            return Some(RelayOrder::SendDown(Kind::End, self.blocks.end));
        }
        None
    }

    fn start_feeding(&mut self, index: u64) -> u32 {
        if let Some(down) = &self.down {
            self.busy = Busy::Feeding { index, to: down.epoch };
        }
        self.incarnation
    }

    pub(super) fn unfed(&mut self) {
        if matches!(self.busy, Busy::Feeding { .. }) {
            self.busy = Busy::No;
        }
    }

    /// Who asks for what all have asked before it had it.
    pub(super) fn pass_over(&mut self) {
        let Busy::Feeding { index, to } = self.busy else { return };
        self.busy = Busy::No;
        let Some(place) = self.blocks.ordinal(index) else { return };
        if let Some(down) = self.down.as_mut().filter(|down| down.epoch == to) {
            down.again.retain(|&again| again != index);
            down.next += u64::from(down.next == place);
        }
    }

    /// The source has turned out to have so many blocks.
    pub(super) fn source_ended(&mut self, blocks: u64, sink: &mut Sink) {
        self.unfed();
        if self.ends_at(blocks, sink) {
            self.cursor = self.cursor.min(self.blocks.len());
        }
    }

    /// Notes that a stream has no block from `blocks` on, if that isn't known; says whether it can be.
    pub(super) fn ends_at(&mut self, blocks: u64, sink: &mut Sink) -> bool {
        if blocks == self.blocks.end {
            return true;
        }
        if let Err(error) = sink.end_at(blocks) {
            self.orders.push_back(RelayOrder::Fail(error));
            return false;
        }
        self.blocks.end = blocks;
        true
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

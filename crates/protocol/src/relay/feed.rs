//! Feeds downstreams with blocks that this node holds.

use super::down::Down;
use super::{Busy, Relay, RelayOrder};
use crate::frame::Kind;
use crate::route::LinkSide;
use crate::sink::Sink;

impl Relay {
    /// Returns the next order to feed downstreams; `None` if there is none now. Requested blocks
    /// (`Again`) come first. Then comes the next block of the downstream that is farthest behind,
    /// which is sent to all downstreams that expect it. The end of the lane comes last.
    pub(super) fn feed(&mut self, sink: &Sink) -> Option<RelayOrder> {
        if self.is_side_feed
            && let Some(end) = sink.end().filter(|&end| end < self.blocks.end)
        {
            // Only the node's own lane receives the end of a stream.
            self.end_at(end);
        }
        let again = self.downs.iter().filter(|down| down.resumed).find_map(|down| {
            let index = down.again.iter().find(|&&index| sink.can_serve(index));
            index.map(|&index| (index, vec![down.epoch]))
        });
        if let Some((index, to)) = again {
            // The block may have been sent under the lane's incarnation already, in another
            // encoding.
            let incarnation = self.next_incarnation();
            return self.start_feeding(index, incarnation, true, to);
        }
        // No downstream may get ahead while another one is being linked: a stream behind the former
        // may need blocks that the latter lacks, in another lane.
        while self.downs.iter().all(|down| down.resumed) {
            let cursor = self.cursor;
            let behind = self.downs.iter().filter(|down| down.next < cursor);
            let Some(place) = behind.map(|down| down.next).min() else { break };
            let index = self.blocks.index(place);
            let there = |down: &&mut Down| down.next == place;
            // A downstream that already has the block skips it.
            let has = self.downs.iter_mut().filter(there).filter(|down| down.has(index));
            if has.map(|down| down.next += 1).count() > 0 {
                continue;
            }
            if sink.can_serve(index) {
                let to = self.downs.iter_mut().filter(there).map(|down| down.epoch).collect();
                return self.start_feeding(index, self.incarnation, false, to);
            }
            if sink.will_serve(index) || self.is_side_feed {
                return None;
            }
            // The block is missing here: the downstream notices the gap and requests it, and then
            // this relay does.
            self.downs.iter_mut().filter(there).for_each(|down| down.next += 1);
        }
        // The end would settle blocks that may still be declared void.
        for down in self.downs.iter_mut().filter(|down| down.resumed && !down.ended) {
            let unsettled = &self.unsettled;
            let settled = !unsettled.iter().any(|block| block.forwarded.contains(&down.epoch));
            if self.up_ended && settled && down.next >= self.blocks.len() {
                down.ended = true;
                return Some(RelayOrder::SendDown(down.epoch, Kind::End, self.blocks.end));
            }
        }
        None
    }

    fn start_feeding(
        &mut self,
        index: u64,
        incarnation: u64,
        again: bool,
        to: Vec<u32>,
    ) -> Option<RelayOrder> {
        self.busy = Busy::Feeding { index, to: to.clone() };
        Some(RelayOrder::Feed { index, incarnation, again, to })
    }

    pub(super) fn unfed(&mut self) {
        if matches!(self.busy, Busy::Feeding { .. }) {
            self.busy = Busy::No;
        }
    }

    /// Skips a block that cannot be read any more. If this node is the source, the block is lost
    /// for nodes that need it; otherwise a downstream that requests the block gets it from
    /// upstream.
    pub(super) fn pass_over(&mut self) {
        let Some((index, place, to)) = self.end_feed() else { return };
        for down in self.downs.iter_mut().filter(|down| to.contains(&down.epoch)) {
            if self.is_source {
                down.again.retain(|&again| again != index);
            }
            down.next += u64::from(down.next == place);
        }
    }

    /// Gives up the links of a feed whose block cannot be read: the nodes behind them need another
    /// feeder.
    pub(super) fn give_up_feed(&mut self) {
        let Some((.., to)) = self.end_feed() else { return };
        for epoch in to {
            self.orders.push_back(RelayOrder::Close(LinkSide::Down, epoch));
            let reason = "this node cannot read the next block".to_owned();
            self.lost(LinkSide::Down, epoch, reason);
        }
    }

    /// Ends a feed whose block does not exist: the source has this number of blocks.
    pub(super) fn source_ended(&mut self, blocks: u64, sink: &mut Sink) {
        self.unfed();
        if blocks != self.blocks.end
            && let Err(error) = sink.end_at(blocks)
        {
            return self.orders.push_back(RelayOrder::Fail(error));
        }
        self.end_at(blocks);
    }

    fn end_at(&mut self, blocks: u64) {
        self.blocks.end = blocks;
        self.cursor = self.cursor.min(self.blocks.len());
    }

    /// Ends a feed. Returns the block's index and ordinal, and the epochs of the links.
    fn end_feed(&mut self) -> Option<(u64, u64, Vec<u32>)> {
        let Busy::Feeding { index, to } = &mut self.busy else { return None };
        let (index, to) = (*index, std::mem::take(to));
        self.busy = Busy::No;
        Some((index, self.blocks.ordinal(index)?, to))
    }

    /// Notes that the order `Feed` is done.
    pub(super) fn fed(&mut self) {
        let Some((index, place, to)) = self.end_feed() else { return };
        for down in self.downs.iter_mut().filter(|down| to.contains(&down.epoch)) {
            down.sent(index, place);
        }
    }
}

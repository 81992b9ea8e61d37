//! Feeds downstreams with blocks that this node holds.

use super::down::Down;
use super::links::REPEATS;
use super::{Busy, Relay, RelayOrder};
use crate::copy::frame::Kind;
use crate::copy::route::LinkSide;
use crate::copy::sink::Sink;

/// What there is to feed in the lane's order.
enum InOrder {
    /// A block, by this order.
    Feed(RelayOrder),
    /// The next block, when this node can serve it.
    Waits,
    /// Nothing: the downstreams are up to date, or one of them is being linked.
    Done,
}

impl Relay {
    /// Returns the next order to feed downstreams; `None` if there is none now. Requested blocks
    /// (`Again`) come first: what goes ahead of them might have to be requested, too. But if others
    /// wait for the next block in the lane's order, it comes after each of them: a downstream that
    /// requests blocks without end does not hold up the others. Likewise, downstreams take turns
    /// with their requests. In the lane's order comes the next block of the downstream that is
    /// farthest behind, which is sent to all downstreams that expect it. The end of the lane comes
    /// last.
    pub(super) fn feed(&mut self, sink: &Sink) -> Option<RelayOrder> {
        if self.is_side_feed
            && let Some(end) = sink.end().filter(|&end| end < self.blocks.end)
        {
            // Only the node's own lane receives the end of a stream.
            self.end_at(end);
        }
        if !(self.was_requested && self.others_wait())
            && let Some(order) = self.feed_requested(sink)
        {
            return Some(order);
        }
        match self.feed_in_order(sink) {
            InOrder::Feed(order) => {
                self.was_requested = false;
                Some(order)
            }
            InOrder::Waits => self.feed_requested(sink),
            InOrder::Done if sink.end().is_none() => {
                self.feed_requested(sink).or_else(|| self.look_for_end(sink))
            }
            InOrder::Done => self.feed_requested(sink).or_else(|| self.end_downs()),
        }
    }

    /// Returns whether another downstream than the last one that requested a block expects one in
    /// the lane's order.
    fn others_wait(&self) -> bool {
        let others = self.downs.iter().filter(|down| Some(down.epoch) != self.last_requester);
        others.filter(|down| down.resumed).any(|down| down.next < self.cursor)
    }

    /// Returns the order to feed a block that a downstream has requested; `None` if there is none
    /// that this node can serve. The downstreams take turns.
    fn feed_requested(&mut self, sink: &Sink) -> Option<RelayOrder> {
        let last = self.downs.iter().position(|down| Some(down.epoch) == self.last_requester);
        let (before, after) = self.downs.split_at(last.map_or(0, |last| last + 1));
        let in_turns = after.iter().chain(before).filter(|down| down.resumed);
        let (epoch, index) = in_turns.into_iter().find_map(|down| {
            let index = down.again.iter().find(|&&index| sink.can_serve(index))?;
            Some((down.epoch, *index))
        })?;
        self.was_requested = true;
        self.last_requester = Some(epoch);
        // The block may have been sent under the lane's incarnation already, in another encoding.
        let incarnation = self.next_incarnation();
        Some(self.start_feeding(index, incarnation, true, vec![epoch]))
    }

    /// Feeds the next block in the lane's order.
    fn feed_in_order(&mut self, sink: &Sink) -> InOrder {
        // No downstream may get ahead while another one is being linked: a stream behind the former
        // may need blocks that the latter lacks, in another lane.
        while self.downs.iter().all(|down| down.resumed) {
            let cursor = self.cursor;
            let behind = self.downs.iter().filter(|down| down.next < cursor);
            let Some(place) = behind.map(|down| down.next).min() else { return InOrder::Done };
            let index = self.blocks.index(place);
            let there = |down: &&mut Down| down.next == place;
            // A downstream that already has the block skips it.
            let has = self.downs.iter_mut().filter(there).filter(|down| down.has(index));
            if has.map(|down| down.next += 1).count() > 0 {
                continue;
            }
            if sink.can_serve(index) {
                let to = self.downs.iter_mut().filter(there).map(|down| down.epoch).collect();
                let order = self.start_feeding(index, self.incarnation, false, to);
                return InOrder::Feed(order);
            }
            if sink.will_serve(index) || self.is_side_feed {
                return InOrder::Waits;
            }
            // The block is missing here: the downstream notices the gap and requests it, and then
            // this relay does.
            self.downs.iter_mut().filter(there).for_each(|down| down.next += 1);
        }
        InOrder::Done
    }

    /// Returns the order to feed the block after the last one that a stream can have, when all
    /// downstreams have that one; `None` if this node is not the source. Usually the source ends
    /// while there are blocks to feed. A stream that has as many as there can be ends here as well,
    /// or is too long: that its last block was sent does not tell which.
    fn look_for_end(&mut self, sink: &Sink) -> Option<RelayOrder> {
        let last = self.blocks.len();
        let has_all = self.downs.iter().all(|down| down.resumed && down.next >= last);
        if !sink.is_source() || self.downs.is_empty() || !has_all {
            return None;
        }
        let to = self.downs.iter().map(|down| down.epoch).collect();
        Some(self.start_feeding(self.blocks.end, self.incarnation, false, to))
    }

    /// Returns the order to tell a downstream that the lane has ended; `None` if it has not, or all
    /// of them know it.
    fn end_downs(&mut self) -> Option<RelayOrder> {
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
    ) -> RelayOrder {
        self.busy = Busy::Feeding { index, to: to.clone() };
        RelayOrder::Feed { index, incarnation, again, to }
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
        if let Err(error) = sink.end_at(blocks) {
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
        let index = *index;
        let to = std::mem::take(to);
        self.busy = Busy::No;
        Some((index, self.blocks.ordinal(index)?, to))
    }

    /// Notes that the order `Feed` is done: the block had `bytes` bytes on the wire.
    pub(super) fn fed(&mut self, bytes: u64, sink: &Sink) {
        let Some((index, place, to)) = self.end_feed() else { return };
        let block_size = sink.layout().block_size;
        let mut refused = Vec::new();
        for down in self.downs.iter_mut().filter(|down| to.contains(&down.epoch)) {
            // The next block in the lane's order is no repair because the node has requested it,
            // too.
            let is_in_order = down.next == place;
            down.sent(index, place);
            let repeats = self.repeats.entry(down.node).or_default();
            match is_in_order {
                true => repeats.add(place, bytes),
                false => repeats.add_repair(bytes),
            }
            if repeats.are_too_many(block_size, self.blocks.len()) {
                refused.push(down.epoch);
            }
        }
        // On the side it holds up nobody.
        if !self.is_side_feed {
            refused.into_iter().for_each(|epoch| self.refuse_down(epoch, REPEATS));
        }
    }
}

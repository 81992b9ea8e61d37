//! The links of a relay.

use super::down::Down;
use super::{Busy, RESUME_WITHIN_NS, Relay, RelayOrder};
use crate::copy::frame::Kind;
use crate::copy::route::{Downstream, LinkSide, Route};
use crate::copy::sink::Sink;

/// The maximum number of pending requests of a downstream; further ones are ignored. All of them
/// together are not bounded: a node whose disk hangs drops blocks, and requests them, for as long.
const AGAIN_MAX: usize = 64;

/// Why the link to a node is refused that is sent the same blocks again and again.
pub(super) const REPEATS: &str = "it asks again for more blocks than it can have lost";

impl Relay {
    pub(super) fn take_route(&mut self, route: Route) {
        let before = self.route.epoch_up();
        if before != route.epoch_up() {
            if let Some(epoch) = before.filter(|_| self.up_is_open) {
                self.orders.push_back(RelayOrder::Close(LinkSide::Up, epoch));
            }
            self.up_is_open = false;
            if let Some((node, epoch, Some(_))) = route.upstream {
                self.orders.push_back(RelayOrder::Open(LinkSide::Up, node, epoch));
            }
        }
        let stays = |epoch: u32| route.epochs_down().any(|other| other == epoch);
        for down in self.downs.iter().filter(|down| !stays(down.epoch)) {
            self.orders.push_back(RelayOrder::Close(LinkSide::Down, down.epoch));
            self.repeats.entry(down.node).or_default().end(down);
        }
        self.downs.retain(|down| stays(down.epoch));
        for block in self.unsettled.iter_mut().chain(&mut self.unverified) {
            block.forwarded.retain(|&epoch| stays(epoch));
        }
        for &Downstream { node, epoch, .. } in &route.downstreams {
            if self.downs.iter().all(|down| down.epoch != epoch) {
                self.downs.push(Down::new(node, epoch));
                self.orders.push_back(RelayOrder::Open(LinkSide::Down, node, epoch));
            }
        }
        self.route = route;
    }

    pub(super) fn lost(&mut self, side: LinkSide, epoch: u32, reason: String) {
        let known = match side {
            LinkSide::Up => self.up_lost(epoch),
            LinkSide::Down => self.down_lost(epoch),
        };
        if known {
            self.orders.push_back(RelayOrder::ReportLost(side, epoch, reason));
        }
    }

    /// Notes that the upstream link of epoch `lost` broke. Returns whether this link is part of the
    /// route.
    fn up_lost(&mut self, lost: u32) -> bool {
        let known = self.route.epoch_up() == Some(lost);
        self.up_is_open &= !known;
        known
    }

    /// Notes that the downstream link of epoch `lost` broke. Returns whether this link is part of
    /// the route.
    fn down_lost(&mut self, lost: u32) -> bool {
        if let Busy::Feeding { to, .. } = &mut self.busy {
            to.retain(|&epoch| epoch != lost);
            if to.is_empty() {
                // Reporting the loss counts as the end of the feed.
                self.busy = Busy::No;
            }
        }
        // The entry stays until the head names the next downstream, and reading stops: blocks that
        // are read now would have to be sealed again for the new downstream.
        let down = self.downs.iter_mut().find(|down| down.epoch == lost);
        let Some(down) = down else { return false };
        down.is_open = false;
        down.resumed = false;
        down.again.clear();
        true
    }

    /// Gives up the downstream link of epoch `epoch` if its other end has not sent `Resume`: the
    /// others wait for it.
    pub(super) fn overdue(&mut self, epoch: u32) {
        if !self.awaits_resume(epoch) {
            return;
        }
        self.orders.push_back(RelayOrder::Close(LinkSide::Down, epoch));
        let seconds = RESUME_WITHIN_NS / 1_000_000_000;
        let reason = format!("its other end asked for no blocks for {seconds} s");
        self.lost(LinkSide::Down, epoch, reason);
    }

    /// Whether the downstream link with this epoch is open, and its other end has not sent
    /// `Resume`.
    #[must_use]
    pub fn awaits_resume(&self, epoch: u32) -> bool {
        self.downs.iter().any(|down| down.epoch == epoch && down.is_awaited())
    }

    pub(super) fn requested_by_down(&mut self, epoch: u32, kind: Kind, index: u64) {
        let Some(down) = self.downs.iter_mut().find(|down| down.epoch == epoch) else { return };
        match kind {
            // A repeated frame: the downstream would be fed the same blocks again under the same
            // keys.
            Kind::Resume if down.resumed => {
                self.refuse_down(epoch, "second Resume on one link");
            }
            Kind::Resume => {
                let place = index.min(self.blocks.len());
                down.resumed = true;
                down.ended = false;
                down.next = place;
            }
            // Frames without end would keep the link from becoming overdue.
            _ if down.is_awaited() => self.refuse_down(epoch, "a request before Resume"),
            Kind::Again => {
                let room = down.again.len() < AGAIN_MAX && !down.again.contains(&index);
                // What was not sent comes in the lane's order. To send it now, out of order, would
                // cost a source that is read ahead, or a stream, the order of its readers.
                let was_sent = self.blocks.ordinal(index).is_some_and(|place| place < down.next);
                if room && was_sent {
                    down.again.push_back(index);
                }
            }
            _ => {}
        }
    }

    /// Closes a link downstream on which came what no honest node sends.
    pub(super) fn refuse_down(&mut self, epoch: u32, what: &str) {
        self.orders.push_back(RelayOrder::Close(LinkSide::Down, epoch));
        self.lost(LinkSide::Down, epoch, format!("protocol error: {what}"));
    }

    pub(super) fn opened(&mut self, side: LinkSide, epoch: u32, sink: &mut Sink) {
        match side {
            LinkSide::Up if self.route.epoch_up() == Some(epoch) => self.up_opened(sink),
            LinkSide::Up => {}
            LinkSide::Down => {
                self.incarnation = self.next_incarnation();
                let opened = self.downs.iter_mut().filter(|down| down.epoch == epoch);
                opened.for_each(|down| down.is_open = true);
            }
        }
    }

    fn up_opened(&mut self, sink: &mut Sink) {
        self.up_is_open = true;
        self.up_ended = false;
        self.requested.clear();
        self.send_have(sink);
        self.orders.push_back(RelayOrder::SendUp(Kind::Resume, self.cursor));
        if std::mem::replace(&mut self.was_open, true) {
            self.miss_next(sink);
        }
        // The old upstream may have been cut off in these blocks, and the link lost before it could
        // report that.
        for block in std::mem::take(&mut self.unsettled) {
            if block.is_unchecked() {
                self.unverified.push(block);
            } else if block.changed || !block.stored {
                self.void_down(&block);
            }
        }
    }

    /// Marks the first missing block of this lane as missed. Blocks in flight on a broken link may
    /// be lost, and the other lanes of a stream must not wait for them, because this lane's
    /// upstream may itself wait for those lanes.
    fn miss_next(&self, sink: &mut Sink) {
        if sink.front().is_some() {
            let rest = (self.cursor..self.blocks.len()).map(|place| self.blocks.index(place));
            let lacked = rest.into_iter().find(|index| !sink.has(*index));
            lacked.into_iter().for_each(|index| sink.miss(index));
        }
    }
}

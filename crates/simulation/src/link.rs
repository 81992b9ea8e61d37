//! The connection of one hop, as its two ends see it.

use std::collections::VecDeque;

use garland_protocol::{HopReport, Kind, RelayEvent};

use crate::vault::Sealed;
use crate::world::nanoseconds;

/// The index of a link among all that were ever opened.
pub(crate) type LinkId = u32;

/// The time of an event that never happens.
pub(crate) const NEVER: u64 = u64::MAX;

/// An end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// The end towards the head.
    Near,
    /// The end away from the head.
    Far,
}

/// A frame on its way downstream, with its block if it has one.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) kind: Kind,
    pub(crate) index: u64,
    /// The time at which its header and first slice are at the far end.
    pub(crate) first: u64,
    /// The time at which all of it is at the far end.
    pub(crate) last: u64,
    /// Its bytes differ from those that were sealed.
    pub(crate) garbled: bool,
    /// Its bytes, in a checked run.
    pub(crate) sealed: Option<Box<Sealed>>,
}

/// A connection from a node to the next one of a lane.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) lane: usize,
    /// The thread of the near end.
    pub(crate) thread: usize,
    pub(crate) epoch: u32,
    /// The rate which both ends' wires carry, in bytes per second.
    pub(crate) rate: u64,
    pub(crate) near: usize,
    pub(crate) far: usize,
    /// The near end has closed it or knows that it is broken.
    pub(crate) near_closed: bool,
    /// The far end has closed or refused it, or knows that it is broken.
    pub(crate) far_closed: bool,
    /// The far end has accepted it.
    pub(crate) accepted: bool,
    /// Nothing follows what is in `items`.
    pub(crate) ended: bool,
    /// Nothing passes any longer, and no end is notified.
    pub(crate) frozen: bool,
    /// Data in transit when the near end closed is lost.
    pub(crate) reset: bool,
    /// The time at which its wire has carried everything that was sent.
    pub(crate) free: u64,
    /// Bytes of all sent blocks but the last one, and the bytes of that.
    pub(crate) sent: (u64, u64),
    /// The time at which it was opened.
    pub(crate) began: u64,
    /// Nanoseconds in which the far end took nothing and nothing was in transit.
    pub(crate) blocked_ns: u64,
    pub(crate) items: VecDeque<Item>,
    /// The first item is being received.
    pub(crate) reading: bool,
    pub(crate) asks: VecDeque<RelayEvent>,
}

impl Link {
    pub(crate) fn new(lane: usize, epoch: u32, near: usize, far: usize, rate: u64) -> Self {
        Self {
            lane,
            thread: lane,
            epoch,
            rate,
            near,
            far,
            near_closed: false,
            far_closed: false,
            accepted: false,
            ended: false,
            frozen: false,
            reset: false,
            free: 0,
            sent: (0, 0),
            began: 0,
            blocked_ns: 0,
            items: VecDeque::new(),
            reading: false,
            asks: VecDeque::new(),
        }
    }

    /// The time which its wire needs for `bytes`.
    pub(crate) fn wire_ns(&self, bytes: u64) -> u64 {
        nanoseconds(bytes, self.rate)
    }

    /// A block of `bytes` bytes is sent from `began` on.
    pub(crate) fn sends(&mut self, bytes: u64, began: u64) {
        self.sent = (self.sent.0 + self.sent.1, bytes);
        self.began = began;
    }

    /// The report of its near end.
    pub(crate) fn report(&self, now: u64, waits_since: Option<u64>) -> HopReport {
        let (before, last) = self.sent;
        let (all, gone) = (self.free.saturating_sub(self.began), now.saturating_sub(self.began));
        let part = u128::from(last) * u128::from(gone.min(all)) / u128::from(all.max(1));
        let sent = before + u64::try_from(part).unwrap_or(last);
        let blocked_ns = self.blocked_ns + waits_since.map_or(0, |since| self.idle(since, now));
        HopReport { epoch: self.epoch, sent, busy_ns: self.wire_ns(sent) + blocked_ns, blocked_ns }
    }

    /// The time which its near end has waited until now for the far end alone.
    pub(crate) fn idle(&self, since: u64, now: u64) -> u64 {
        now.saturating_sub(since.max(self.free))
    }

    /// The number of blocks that were sent and are not being received.
    pub(crate) fn backlog(&self) -> usize {
        self.items.len() - usize::from(self.reading)
    }

    /// Whether the far end takes nothing any longer.
    pub(crate) fn is_dead(&self) -> bool {
        self.far_closed || self.ended
    }

    /// Stops all data from `now` on.
    pub(crate) fn freeze(&mut self, now: u64) {
        self.frozen = true;
        for item in &mut self.items {
            if item.first > now {
                item.first = NEVER;
            }
            if item.last > now {
                item.last = NEVER;
            }
        }
    }

    /// Drops what is not being received.
    pub(crate) fn discard(&mut self) {
        self.items.truncate(usize::from(self.reading));
    }
}

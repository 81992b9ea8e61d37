//! The connection of one hop, with the state of its two ends.

use std::collections::VecDeque;

use garland_protocol::copy::{HopReport, Kind, RelayEvent};

use crate::vault::Sealed;
use crate::world::nanoseconds;

/// The index of a link among all links that were ever opened.
pub(crate) type LinkId = u32;

/// The time of events that never happen.
pub(crate) const NEVER: u64 = u64::MAX;

/// An end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    /// The end towards the head.
    Near,
    /// The end away from the head.
    Far,
}

/// A frame on its way downstream, with its block if the frame has one.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) kind: Kind,
    pub(crate) index: u64,
    /// When the frame's header and first slice reach the far end, in nanoseconds.
    pub(crate) first: u64,
    /// When the whole frame reaches the far end, in nanoseconds; [`NEVER`] if a part is lost.
    pub(crate) last: u64,
    /// Whether the block's bytes differ from those that were sealed.
    pub(crate) garbled: bool,
    /// The real bytes of the block in a checked run; `None` in other runs.
    pub(crate) sealed: Option<Box<Sealed>>,
}

/// A connection from a node to the next one of a lane.
#[derive(Debug, Default)]
pub(crate) struct Link {
    pub(crate) lane: usize,
    /// The index of the sending thread on the near end.
    pub(crate) thread: usize,
    pub(crate) epoch: u32,
    /// The rate of the link in bytes per second: the lower rate of the wires of both ends.
    pub(crate) rate: u64,
    pub(crate) near: usize,
    pub(crate) far: usize,
    /// Whether the near end has closed the link or knows that it is broken.
    pub(crate) near_closed: bool,
    /// Whether the far end has closed or refused the link, or knows that it is broken.
    pub(crate) far_closed: bool,
    /// Whether the far end has accepted the link.
    pub(crate) accepted: bool,
    /// Whether no further item will be sent after those in `items`.
    pub(crate) ended: bool,
    /// Whether the link no longer carries data, without notice to either end.
    pub(crate) frozen: bool,
    /// Whether data in transit is lost when the near end closes.
    pub(crate) reset: bool,
    /// When the wire will have carried everything that was sent, in nanoseconds.
    pub(crate) free: u64,
    /// The total length of all sent blocks except the last one, and the length of the last one.
    pub(crate) sent: (u64, u64),
    /// When the sending of the last block began, in nanoseconds.
    pub(crate) began: u64,
    /// Nanoseconds in which the far end took nothing and nothing was in transit.
    pub(crate) blocked_ns: u64,
    pub(crate) items: VecDeque<Item>,
    /// Whether the first item is being received.
    pub(crate) reading: bool,
    pub(crate) asks: VecDeque<RelayEvent>,
}

impl Link {
    /// Returns the time that the wire needs for `bytes` bytes, in nanoseconds.
    pub(crate) fn wire_ns(&self, bytes: u64) -> u64 {
        nanoseconds(bytes, self.rate)
    }

    /// Records that the sending of a block of `bytes` bytes begins at the time `began`.
    pub(crate) fn sends(&mut self, bytes: u64, began: u64) {
        self.sent = (self.sent.0 + self.sent.1, bytes);
        self.began = began;
    }

    /// Returns the report of the near end at the time `now`. The near end has waited for the far
    /// end since `waits_since`; `None` if it does not wait.
    pub(crate) fn report(&self, now: u64, waits_since: Option<u64>) -> HopReport {
        let (before, last) = self.sent;
        let all = self.free.saturating_sub(self.began);
        let gone = now.saturating_sub(self.began);
        let part = u128::from(last) * u128::from(gone.min(all)) / u128::from(all.max(1));
        let sent = before + u64::try_from(part).unwrap_or(last);
        let blocked_ns = self.blocked_ns + waits_since.map_or(0, |since| self.idle(since, now));
        HopReport { epoch: self.epoch, sent, busy_ns: self.wire_ns(sent) + blocked_ns, blocked_ns }
    }

    /// Returns the nanoseconds since `since` in which the near end waited only for the far end.
    pub(crate) fn idle(&self, since: u64, now: u64) -> u64 {
        now.saturating_sub(since.max(self.free))
    }

    /// Returns the number of blocks that were sent and are not being received.
    pub(crate) fn backlog(&self) -> usize {
        self.items.len() - usize::from(self.reading)
    }

    /// Returns whether the far end no longer takes data.
    pub(crate) fn is_dead(&self) -> bool {
        self.far_closed || self.ended
    }

    /// Freezes the link at the time `now`: items that have not arrived yet never will.
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

    /// Drops all items that are not being received.
    pub(crate) fn discard(&mut self) {
        self.items.truncate(usize::from(self.reading));
    }
}

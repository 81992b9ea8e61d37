//! The agenda of a run: future events in the order of time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::link::{LinkId, Side};

/// A future event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Event {
    /// The header and first slice of a frame reach the far end of the link.
    Arrive(LinkId),
    /// A request reaches the near end of the link.
    Asked(LinkId),
    /// The request to open a link reaches its far end.
    Accept(LinkId),
    /// The far end of a new link stops waiting for the route that the link names.
    Expire(LinkId),
    /// The near end of the link learns that the link is open.
    Opened(LinkId),
    /// The far end of the link must have sent `Resume` by now.
    Overdue(LinkId),
    /// An end of the link learns that the link is broken.
    Broken(LinkId, Side),
    /// The work of a lane's thread on a block may be complete.
    Done { node: u32, lane: u16, serial: u32 },
    /// The writer of a node has finished a block.
    Landed(u32),
    /// A control message reaches a node.
    ToNode(u32),
    /// A control message of a node reaches the head.
    FromNode(u32),
    /// A control message of a node reaches the head again.
    Again(u32),
    /// The head learns that the control connection of a node is closed.
    Lost(u32),
    /// A heartbeat of a node is due.
    Heartbeat(u32),
    /// The file of a node gets its final name.
    Committed(u32),
    /// A deadline of the head is due.
    Tick,
    /// A mishap of the schedule happens.
    Mishap(u32),
}

/// Events ordered by time; events with the same time are in the order in which they were added.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    /// For each event, its time in nanoseconds and its serial number. The earliest event is
    /// returned first.
    heap: BinaryHeap<Reverse<(u64, u64, Event)>>,
    serial: u64,
}

impl Agenda {
    pub(crate) fn add(&mut self, at: u64, event: Event) {
        self.serial += 1;
        self.heap.push(Reverse((at, self.serial, event)));
    }

    pub(crate) fn next(&mut self) -> Option<(u64, Event)> {
        self.heap.pop().map(|Reverse((at, _, event))| (at, event))
    }

    /// Returns the number of events that were added so far.
    pub(crate) fn added(&self) -> u64 {
        self.serial
    }
}

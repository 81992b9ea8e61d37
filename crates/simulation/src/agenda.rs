//! The agenda of a run: future events in the order of time.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::link::{LinkId, Side};

/// A future event.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// The header and first slice of a frame reach the far end.
    Arrive(LinkId),
    /// A request reaches the near end.
    Asked(LinkId),
    /// A new link reaches the far end.
    Accept(LinkId),
    /// The far end has waited long enough for the route that a new link names.
    Expire(LinkId),
    /// The near end learns that the link is open.
    Opened(LinkId),
    /// An end learns that the link is broken.
    Broken(LinkId, Side),
    /// The work of a node on a block may be done.
    Done { node: u32, lane: u16, serial: u32 },
    /// The writer of a node has finished a block.
    Landed(u32),
    /// A control message reaches a node.
    ToNode(u32),
    /// A control message of a node reaches the head.
    FromNode(u32),
    /// The head learns that the control connection of a node is closed.
    Lost(u32),
    /// A heartbeat of a node.
    Heartbeat(u32),
    /// The file of a node gets its final name.
    Committed(u32),
    /// The head's deadline.
    Tick,
    /// A mishap of the schedule happens.
    Mishap(u32),
}

#[derive(Debug)]
struct Entry {
    at: u64,
    serial: u64,
    event: Event,
}

/// Events ordered by time; events with the same time are ordered by their addition.
#[derive(Debug, Default)]
pub(crate) struct Agenda {
    heap: BinaryHeap<Entry>,
    serial: u64,
}

impl Agenda {
    pub(crate) fn add(&mut self, at: u64, event: Event) {
        self.serial += 1;
        self.heap.push(Entry { at, serial: self.serial, event });
    }

    pub(crate) fn next(&mut self) -> Option<(u64, Event)> {
        self.heap.pop().map(|entry| (entry.at, entry.event))
    }

    /// The number of events that were added so far.
    pub(crate) fn added(&self) -> u64 {
        self.serial
    }
}

impl Ord for Entry {
    fn cmp(&self, other: &Self) -> Ordering {
        // The heap returns the greatest first.
        (other.at, other.serial).cmp(&(self.at, self.serial))
    }
}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Entry {}

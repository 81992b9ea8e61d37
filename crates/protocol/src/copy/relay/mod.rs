//! The relay machine: one lane on one node.
//!
//! Every node of a lane, from the head to the last one of the chain, runs the same machine. The
//! head has no upstream and a sink that holds everything, so it only feeds. A relay forwards a
//! block while the block still arrives, to one or several downstreams; it feeds from its own sink
//! if a downstream is behind (because a dead node was spliced out, or a block arrived corrupt). The
//! last node has no downstream. For each node that is fed on the side, its feeder runs a separate
//! machine that sends what the feeder holds, so the lane never waits for such a node. The driver
//! calls `handle` for each event, and then `poll` until it returns `None`.

mod down;
mod event;
mod feed;
mod holdings;
mod links;
mod receive;
mod repair;
mod repeats;
mod settle;
mod wire;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use garland_core::plan::{LaneBlocks, NodeId};

use self::down::Down;
pub use self::event::{RESUME_WITHIN_NS, RelayEvent, RelayOrder, Store};
use self::repeats::Repeats;
pub use self::wire::{Taking, WireFacts};
use crate::copy::route::Route;
use crate::copy::sink::Sink;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum Busy {
    #[default]
    No,
    /// A block is arriving; `to` has the epochs of the links on which it is forwarded.
    Receiving {
        index: u64,
        store: Store,
        to: Vec<u32>,
    },
    Feeding {
        index: u64,
        to: Vec<u32>,
    },
}

/// A block from upstream that may have been cut off on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unsettled {
    pub(super) index: u64,
    pub(super) stored: bool,
    /// The epochs of the links on which the block was forwarded; if the block is void, these
    /// downstreams are notified.
    pub(super) forwarded: Vec<u32>,
    /// Whether the block arrived corrupt.
    pub(super) changed: bool,
    /// Whether the block was decrypted and checked.
    pub(super) opened: bool,
}

impl Unsettled {
    /// Whether the block is with the writer, which has not checked it yet.
    fn is_unchecked(&self) -> bool {
        self.stored && !self.opened && !self.changed
    }
}

/// The relay of one lane on one node.
#[derive(Debug, Default)]
pub struct Relay {
    blocks: LaneBlocks,
    /// The present route. The head has no upstream.
    route: Route,
    /// Whether the link from upstream is open.
    up_is_open: bool,
    /// Whether a link from upstream has ever been open.
    was_open: bool,
    is_source: bool,
    /// The ordinal of the next block from upstream.
    cursor: u64,
    /// Whether the upstream has sent the lane's last block.
    up_ended: bool,
    downs: Vec<Down>,
    /// For each node that this one fed before: what it was sent.
    repeats: BTreeMap<NodeId, Repeats>,
    /// Whether the block that was fed last had been requested.
    was_requested: bool,
    /// The epoch of the downstream whose request was served last.
    last_requester: Option<u32>,
    /// Whether the relay feeds a node on the side, and therefore waits for blocks that are not held
    /// yet.
    is_side_feed: bool,
    busy: Busy,
    /// The incarnation of the sealing key for blocks in the lane's order; new whenever a downstream
    /// link opens.
    incarnation: u64,
    /// The newest incarnation; each block that is sent again uses a new one.
    newest: u64,
    /// Blocks that were requested and have not arrived.
    requested: BTreeSet<u64>,
    /// Blocks that may still be declared void: the last block in the lane's order, and requested
    /// blocks that followed it. A requested block settles nothing: a neighbour may send it before
    /// it knows whether the block that it forwarded was cut off.
    unsettled: Vec<Unsettled>,
    /// Blocks that may have been cut off and are with the writer, which checks them.
    unverified: Vec<Unsettled>,
    detached: bool,
    /// The number of this lane's blocks that are with the writer.
    in_flight: usize,
    orders: VecDeque<RelayOrder>,
}

impl Relay {
    /// Creates the relay of a node in the lane `blocks`.
    #[must_use]
    pub fn new(blocks: LaneBlocks, is_source: bool) -> Self {
        let cursor = if is_source { blocks.len() } else { 0 };
        Self { blocks, is_source, cursor, up_ended: is_source, ..Self::default() }
    }

    /// Creates a relay that feeds one downstream on the side of the lane `blocks`, from what the
    /// node holds or will hold. The incarnations of its keys are derived from the link's `epoch`.
    #[must_use]
    pub fn side_feed(blocks: LaneBlocks, epoch: u32) -> Self {
        // The lane's own incarnations count from 1; those of each side link have 32 bits.
        let newest = 1 << 63 | u64::from(epoch) << 32;
        Self { is_side_feed: true, newest, ..Self::new(blocks, true) }
    }

    /// Returns a new incarnation.
    fn next_incarnation(&mut self) -> u64 {
        self.newest += 1;
        self.newest
    }

    /// Returns the present route.
    #[must_use]
    pub fn route(&self) -> &Route {
        &self.route
    }

    /// Whether the relay feeds a node on the side.
    #[must_use]
    pub fn is_side_feed(&self) -> bool {
        self.is_side_feed
    }

    /// Returns the number of blocks from the lane's start that the upstream has sent or skipped.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.cursor
    }

    /// Whether the upstream link is done: the lane's last block has arrived, and this node holds
    /// the whole source.
    #[must_use]
    pub fn is_up_over(&self, sink: &Sink) -> bool {
        let quiet =
            self.busy == Busy::No && self.requested.is_empty() && self.unverified.is_empty();
        self.up_is_open && self.up_ended && quiet && sink.is_complete()
    }

    /// Whether the link with this epoch is done: the lane's end was sent, and nothing was requested
    /// since.
    #[must_use]
    pub fn is_down_over(&self, epoch: u32) -> bool {
        let over = |down: &Down| down.resumed && down.ended && down.again.is_empty();
        let down = self.downs.iter().find(|down| down.epoch == epoch);
        self.busy == Busy::No && down.is_some_and(over)
    }

    /// Whether the next frame from upstream may be read. A frame that may not be read stays in the
    /// socket, which causes the back-pressure of the chain.
    #[must_use]
    pub fn may_read(&self, sink: &Sink) -> bool {
        let settled = self.unverified.is_empty();
        let down_ready = self.downs.iter().all(|down| {
            let behind = down.next < self.cursor;
            let waiting = behind && sink.will_surely_serve(self.blocks.index(down.next));
            down.resumed && !waiting
        });
        let free = self.busy == Busy::No && settled && down_ready;
        self.up_is_open && free && !self.is_held(sink)
    }

    /// Whether the next block from upstream must wait for the node's own stream (a pipe). The
    /// stream waits for its reader, or for blocks of other lanes.
    #[must_use]
    pub fn is_held(&self, sink: &Sink) -> bool {
        if self.detached || sink.front().is_none() {
            return false;
        }
        // Blocks that are present will not be sent.
        let rest = (self.cursor..self.blocks.len()).map(|place| self.blocks.index(place));
        let next = rest.into_iter().find(|&index| sink.is_far(index) || !sink.has(index));
        next.is_some_and(|index| sink.is_ahead(index))
    }

    /// Whether the node waits for a block from upstream: the lane is not finished, or a requested
    /// block has not arrived.
    #[must_use]
    pub fn is_owed(&self) -> bool {
        self.up_is_open && (!self.up_ended || !self.requested.is_empty())
    }

    /// Whether the lane waits for this node's writer: a downstream needs a block that is still with
    /// the writer, or all blocks have arrived and some are not written.
    #[must_use]
    pub fn is_behind_writer(&self, sink: &Sink) -> bool {
        if self.is_source {
            return false;
        }
        let lacked_below = self.downs.iter().any(|down| {
            let next = (down.next < self.cursor).then(|| self.blocks.index(down.next));
            down.again.iter().copied().chain(next).any(|index| sink.will_surely_serve(index))
        });
        let all_came = self.up_ended && self.requested.is_empty();
        lacked_below || !self.unverified.is_empty() || all_came && self.in_flight > 0
    }

    /// Handles an event.
    pub fn handle(&mut self, event: RelayEvent, sink: &mut Sink) {
        match event {
            RelayEvent::Route(route) => self.take_route(route),
            RelayEvent::Opened(side, epoch) => self.opened(side, epoch, sink),
            RelayEvent::Lost(side, epoch, reason) => self.lost(side, epoch, reason),
            RelayEvent::Overdue(epoch) => self.overdue(epoch),
            RelayEvent::Requested(epoch, kind, index) => {
                self.requested_by_down(epoch, kind, index);
            }
            RelayEvent::Have(epoch, first, bits) => self.note_have(epoch, first, &bits),
            RelayEvent::Block(index, content) => self.block(index, content, sink),
            RelayEvent::Void(index) => self.void(index),
            RelayEvent::End(blocks) => self.end(blocks, sink),
            RelayEvent::Received { stored } => self.received_block(stored, sink),
            RelayEvent::CutOff => self.cut_off(sink),
            RelayEvent::Fed(bytes) => self.fed(bytes, sink),
            RelayEvent::NotYet => self.unfed(),
            RelayEvent::Gone => self.pass_over(),
            RelayEvent::Ended(blocks) => self.source_ended(blocks, sink),
            RelayEvent::Unreadable => self.give_up_feed(),
            RelayEvent::Landed(index, landing) => self.landed(index, landing),
            RelayEvent::Detached => self.detached = true,
        }
    }

    /// Returns the next order; `None` if there is none until the next event.
    pub fn poll(&mut self, sink: &Sink) -> Option<RelayOrder> {
        if let Some(order) = self.orders.pop_front() {
            return Some(order);
        }
        if self.busy != Busy::No {
            return None;
        }
        self.feed(sink).or_else(|| self.request_missing(sink))
    }
}

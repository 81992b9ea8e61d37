//! The relay machine: one lane on one node, from the head's first hop to the chain's tail.
//!
//! Every node runs the same machine. The head's has no upstream and a sink that holds everything,
//! so it feeds; a relay forwards a block while it still arrives, and feeds from its own sink when
//! its downstream is behind (a dead node was spliced out, a block came in changed); the tail has no
//! downstream. The driver calls `handle` for what happened and `poll` until it says `None`.

use std::collections::{BTreeSet, VecDeque};

use super::frame::Kind;
use super::message::{LinkSide, Route};
use super::sink::{Landing, Sink, SinkError};
use crate::plan::{LaneBlocks, NodeId};

/// How many blocks one node may have asked for again and not yet received.
const ASKED_MAX: usize = 16;

/// How many blocks a node that was let drop what its disk can't take has under way to it or with its
/// writer while it fetches them; the writer has room for more.
const CATCH_UP_MAX: usize = 4;

/// How many blocks a downstream may ask for again at a time; what it asks beyond is forgotten.
const AGAIN_MAX: usize = 64;

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelayEvent {
    /// The head changed this lane's hops.
    Route(Route),
    /// The link to the downstream is open.
    DownOpened(u32),
    /// The link to the downstream of this epoch broke, or couldn't be opened.
    DownLost(u32, String),
    /// The downstream asked (`Resume` with a place in the lane, `Again` with a block's index).
    Asked(Kind, u64),
    /// The upstream has opened its link.
    UpOpened(u32),
    /// The link from the upstream of this epoch broke.
    UpLost(u32, String),
    /// A block's header came from upstream.
    Block(u64, [u8; 32]),
    /// The upstream says that the block it sent was cut off.
    Void(u64),
    /// The upstream has sent the lane's last block.
    End,
    /// A `Receive` is done.
    Received {
        /// Whether the writer has the block.
        stored: bool,
    },
    /// A `Receive` ended early because the upstream broke; what had been forwarded was padded.
    CutOff,
    /// A `Feed` is done.
    Fed,
    /// A block that was stored ended.
    Landed(u64, Landing),
    /// The head lets this node drop what its disk can't take.
    Detached,
}

/// Whether a received block goes to the node's writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// Not wanted.
    No,
    /// If the writer has room: this node was told not to hold the others up.
    IfRoom,
    /// Yes; waiting for room if need be.
    Yes,
}

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelayOrder {
    /// Connect to the downstream that the route names, for this epoch.
    OpenDown(NodeId, u32),
    /// Close the link to the downstream.
    CloseDown,
    /// Close the link from the upstream.
    CloseUp,
    /// Send a frame upstream.
    AskUp(Kind, u64),
    /// Send a frame without a block downstream.
    SendDown(Kind, u64),
    /// Receive the block whose header has come; answer with `Received` or `CutOff`.
    Receive {
        /// Its index.
        index: u64,
        /// Whether it goes to the writer.
        store: Store,
        /// Whether it is passed on while it arrives.
        forward: bool,
    },
    /// Read the block from the sink, seal it under this incarnation and send it downstream; answer
    /// with `Fed`.
    Feed {
        /// Its index.
        index: u64,
        /// The incarnation of this node's key.
        incarnation: u32,
    },
    /// Tell the head that a block came in changed.
    ReportBad(u64),
    /// Tell the head that a link is lost.
    ReportLost(LinkSide, u32, String),
    /// The copy can't go on here.
    Fail(SinkError),
}

#[derive(Debug)]
struct Down {
    node: NodeId,
    epoch: u32,
    /// The downstream has said where it stands.
    resumed: bool,
    /// The place in the lane of the next block that it expects.
    next: u64,
    again: VecDeque<u64>,
    ended: bool,
}

impl Down {
    /// Takes note that the block `index`, at `place` in the lane, has gone out on this link.
    fn sent(&mut self, index: u64, place: u64) {
        let again = self.again.iter().position(|&again| again == index);
        if let Some(at) = again {
            self.again.remove(at);
            // A frame must follow every block, or its receiver couldn't tell cut off from changed.
            self.ended = false;
        }
        if place == self.next || place > self.next && again.is_none() {
            self.next = place + 1;
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Busy {
    No,
    /// `to` is the epoch of the link that the block is forwarded on.
    Receiving {
        index: u64,
        store: Store,
        to: Option<u32>,
    },
    Feeding {
        index: u64,
        to: u32,
    },
}

/// A block that came from upstream, and may have been cut off on the way there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Unsettled {
    index: u64,
    stored: bool,
    /// It was passed on, and the downstream has to hear if it is void.
    forwarded: bool,
    /// It came in changed.
    changed: bool,
}

/// One lane on one node.
#[derive(Debug)]
pub struct Relay {
    blocks: LaneBlocks,
    /// The link from upstream: its epoch, and whether it is open. The head has none.
    up: Option<(u32, bool)>,
    is_head: bool,
    /// The place in the lane of the next block that the upstream will send.
    cursor: u64,
    /// The upstream has sent its last block.
    up_ended: bool,
    down: Option<Down>,
    busy: Busy,
    incarnation: u32,
    /// Blocks that went by and are neither held nor with the writer.
    lacking: BTreeSet<u64>,
    /// Blocks asked for again, not yet received.
    asked: BTreeSet<u64>,
    /// Blocks that may yet be declared void: those received since the stream last went on. (Blocks
    /// asked for again prove nothing: a neighbour sends them while it still waits to hear whether
    /// what it passed on was cut off.)
    unsettled: Vec<Unsettled>,
    /// Blocks with the writer that were cut off, or may have been.
    doubts: Vec<Unsettled>,
    detached: bool,
    /// How many of this lane's blocks are with the writer.
    flying: usize,
    orders: VecDeque<RelayOrder>,
}

impl Relay {
    /// The relay of a node in the lane `blocks`.
    #[must_use]
    pub fn new(blocks: LaneBlocks, is_head: bool) -> Self {
        Self {
            blocks,
            up: None,
            is_head,
            cursor: if is_head { blocks.len() } else { 0 },
            up_ended: is_head,
            down: None,
            busy: Busy::No,
            incarnation: 0,
            lacking: BTreeSet::new(),
            asked: BTreeSet::new(),
            unsettled: Vec::new(),
            doubts: Vec::new(),
            detached: false,
            flying: 0,
            orders: VecDeque::new(),
        }
    }

    /// Blocks that have come from upstream, counting from the lane's start.
    #[must_use]
    pub fn received(&self) -> u64 {
        self.cursor
    }

    /// Whether nothing more of this copy comes from upstream: the lane's last block has come, and
    /// this node, which holds the whole source, has nothing to ask for.
    #[must_use]
    pub fn is_up_over(&self, sink: &Sink) -> bool {
        let open = matches!(self.up, Some((_, true)));
        let quiet = self.busy == Busy::No && self.asked.is_empty() && self.doubts.is_empty();
        open && self.up_ended && quiet && sink.is_complete()
    }

    /// Whether this node has nothing more to send downstream: it has sent the lane's end, and was
    /// asked for nothing since.
    #[must_use]
    pub fn is_down_over(&self) -> bool {
        let over = |down: &Down| down.resumed && down.ended && down.again.is_empty();
        self.busy == Busy::No && self.down.as_ref().is_some_and(over)
    }

    /// Whether the next frame from upstream may be read. A relay leaves it in the socket while it
    /// would have nowhere to go: that is the chain's back-pressure.
    #[must_use]
    pub fn may_read(&self, sink: &Sink) -> bool {
        let open = matches!(self.up, Some((_, true)));
        let settled = self.doubts.is_empty();
        let down_ready = self.down.as_ref().is_none_or(|down| {
            let behind = down.next < self.cursor;
            let waiting = behind && sink.will_serve(self.blocks.index(down.next));
            down.resumed && !waiting
        });
        open && self.busy == Busy::No && settled && down_ready
    }

    /// Takes note of what happened.
    pub fn handle(&mut self, event: RelayEvent, sink: &mut Sink) {
        match event {
            RelayEvent::Route(route) => self.route(&route),
            RelayEvent::DownOpened(_) => self.incarnation += 1,
            RelayEvent::DownLost(epoch, reason) => self.down_lost(epoch, reason),
            RelayEvent::Asked(kind, index) => self.asked_by_down(kind, index),
            RelayEvent::UpOpened(epoch) => self.up_opened(epoch, sink),
            RelayEvent::UpLost(epoch, reason) => self.up_lost(epoch, reason),
            RelayEvent::Block(index, content) => self.block(index, content, sink),
            RelayEvent::Void(index) => self.void(index, sink),
            RelayEvent::End => self.end(sink),
            RelayEvent::Received { stored } => self.received_block(stored, sink),
            RelayEvent::CutOff => self.cut_off(sink),
            RelayEvent::Fed => self.fed(),
            RelayEvent::Landed(index, landing) => self.landed(index, landing, sink),
            RelayEvent::Detached => self.detached = true,
        }
    }

    /// The next thing to do; `None` when there is nothing until something happens.
    pub fn poll(&mut self, sink: &Sink) -> Option<RelayOrder> {
        if let Some(order) = self.orders.pop_front() {
            return Some(order);
        }
        if self.busy != Busy::No {
            return None;
        }
        self.feed(sink).or_else(|| self.ask_for_missing(sink))
    }

    fn route(&mut self, route: &Route) {
        let epoch = route.upstream.map(|(_, epoch)| epoch);
        if self.up.map(|(epoch, _)| epoch) != epoch {
            if matches!(self.up, Some((_, true))) {
                self.orders.push_back(RelayOrder::CloseUp);
            }
            self.up = epoch.map(|epoch| (epoch, false));
        }
        let epoch = route.downstream.map(|(_, epoch, _)| epoch);
        if self.down.as_ref().map(|down| down.epoch) != epoch {
            if self.down.is_some() {
                self.orders.push_back(RelayOrder::CloseDown);
            }
            self.down = route.downstream.map(|(node, epoch, _)| Down {
                node,
                epoch,
                resumed: false,
                next: 0,
                again: VecDeque::new(),
                ended: false,
            });
            for block in self.unsettled.iter_mut().chain(&mut self.doubts) {
                block.forwarded = false;
            }
            if let Some(down) = &self.down {
                self.orders.push_back(RelayOrder::OpenDown(down.node, down.epoch));
            }
        }
    }

    fn down_lost(&mut self, lost: u32, reason: String) {
        if matches!(self.busy, Busy::Feeding { to, .. } if to == lost) {
            // The loss is the answer to the feed: none other comes.
            self.busy = Busy::No;
        }
        if let Some(down) = self.down.as_mut().filter(|down| down.epoch == lost) {
            // The place stays taken until the head says who comes next: reading on would only mean
            // sealing again what a new downstream has yet to get.
            down.resumed = false;
            down.again.clear();
            self.orders.push_back(RelayOrder::ReportLost(LinkSide::Down, lost, reason));
        }
    }

    fn asked_by_down(&mut self, kind: Kind, index: u64) {
        let Some(down) = &mut self.down else { return };
        match kind {
            Kind::Resume => {
                down.resumed = true;
                down.ended = false;
                down.next = index.min(self.blocks.len());
            }
            Kind::Again => {
                let room = down.again.len() < AGAIN_MAX && !down.again.contains(&index);
                if room && self.blocks.ordinal(index).is_some() {
                    down.again.push_back(index);
                }
            }
            _ => {}
        }
    }

    fn up_opened(&mut self, opened: u32, sink: &Sink) {
        let Some((epoch, open)) = &mut self.up else { return };
        if *epoch != opened {
            return;
        }
        *open = true;
        self.up_ended = false;
        self.asked.clear();
        self.orders.push_back(RelayOrder::AskUp(Kind::Resume, self.cursor));
        // The old upstream may have been cut off in these and lost before it could say so.
        for block in std::mem::take(&mut self.unsettled) {
            if block.stored && sink.is_flying(block.index) {
                self.doubts.push(block);
            } else if block.changed || !block.stored {
                self.void_down(block);
            }
        }
    }

    fn up_lost(&mut self, lost: u32, reason: String) {
        if let Some((epoch, open)) = &mut self.up
            && *epoch == lost
        {
            *open = false;
            self.orders.push_back(RelayOrder::ReportLost(LinkSide::Up, lost, reason));
        }
    }

    fn block(&mut self, index: u64, content: [u8; 32], sink: &mut Sink) {
        let Some(place) = self.blocks.ordinal(index) else { return };
        if place >= self.cursor {
            self.settle();
        }
        self.pass(place, sink);
        let streamed = place == self.cursor;
        let to = self.down.as_ref().and_then(|down| {
            let next = streamed && down.next <= place;
            (down.resumed && (next || down.again.contains(&index))).then_some(down.epoch)
        });
        let mut store = Store::No;
        if sink.wants(index) {
            if let Err(error) = sink.take(index, content) {
                self.orders.push_back(RelayOrder::Fail(error));
                return;
            }
            store = if self.detached { Store::IfRoom } else { Store::Yes };
        }
        self.busy = Busy::Receiving { index, store, to };
        self.orders.push_back(RelayOrder::Receive { index, store, forward: to.is_some() });
    }

    /// The upstream goes on at `place`: what lies before it was left out.
    fn pass(&mut self, place: u64, sink: &Sink) {
        while self.cursor < place {
            let index = self.blocks.index(self.cursor);
            if !sink.has(index) {
                self.lacking.insert(index);
            }
            self.cursor += 1;
        }
    }

    fn end(&mut self, sink: &Sink) {
        self.settle();
        self.pass(self.blocks.len(), sink);
        self.up_ended = true;
    }

    fn received_block(&mut self, stored: bool, sink: &mut Sink) {
        let Busy::Receiving { index, store, to } = self.busy else { return };
        self.busy = Busy::No;
        self.asked.remove(&index);
        if store != Store::No && !stored {
            sink.untake(index);
        }
        if sink.has(index) {
            self.lacking.remove(&index);
        } else {
            self.lacking.insert(index);
        }
        let Some(place) = self.blocks.ordinal(index) else { return };
        if place == self.cursor {
            self.cursor += 1;
        }
        let down = self.down.as_mut().filter(|down| Some(down.epoch) == to);
        let forwarded = down.map(|down| down.sent(index, place)).is_some();
        let stored = stored && store != Store::No;
        self.flying += usize::from(stored);
        self.unsettled.push(Unsettled { index, stored, forwarded, changed: false });
    }

    fn cut_off(&mut self, sink: &mut Sink) {
        let Busy::Receiving { index, store, to } = self.busy else { return };
        self.busy = Busy::No;
        if store != Store::No {
            sink.untake(index);
        }
        if self.down.as_ref().is_some_and(|down| Some(down.epoch) == to && down.resumed) {
            self.orders.push_back(RelayOrder::SendDown(Kind::Void, index));
        }
    }

    fn void(&mut self, index: u64, sink: &Sink) {
        let Some(place) = self.blocks.ordinal(index) else { return };
        if place + 1 == self.cursor {
            self.cursor = place;
        }
        let Some(at) = self.unsettled.iter().position(|block| block.index == index) else { return };
        let block = self.unsettled.remove(at);
        self.void_down(block);
        if block.stored && sink.is_flying(index) {
            self.doubts.push(Unsettled { forwarded: false, ..block });
        }
    }

    /// Tells the downstream that a block which was passed on to it is void.
    fn void_down(&mut self, block: Unsettled) {
        let Some(place) = self.blocks.ordinal(block.index) else { return };
        if let Some(down) = self.down.as_mut().filter(|down| block.forwarded && down.resumed) {
            if down.next == place + 1 {
                down.next = place;
            }
            self.orders.push_back(RelayOrder::SendDown(Kind::Void, block.index));
        }
    }

    /// The stream goes on: whatever came in changed before was changed on the way, not cut off.
    fn settle(&mut self) {
        for block in self.unsettled.drain(..).filter(|block| block.changed) {
            self.orders.push_back(RelayOrder::ReportBad(block.index));
        }
    }

    fn landed(&mut self, index: u64, landing: Landing, sink: &mut Sink) {
        sink.landed(index, landing);
        self.flying = self.flying.saturating_sub(1);
        let doubt = self.doubts.iter().position(|block| block.index == index);
        let doubt = doubt.map(|at| self.doubts.remove(at));
        if landing == Landing::Written {
            return;
        }
        self.lacking.insert(index);
        if let Some(block) = doubt {
            self.void_down(block);
        } else if let Some(block) = self.unsettled.iter_mut().find(|block| block.index == index) {
            block.changed = true;
        } else {
            self.orders.push_back(RelayOrder::ReportBad(index));
        }
    }

    fn fed(&mut self) {
        let Busy::Feeding { index, to } = self.busy else { return };
        self.busy = Busy::No;
        let Some(place) = self.blocks.ordinal(index) else { return };
        if let Some(down) = self.down.as_mut().filter(|down| down.epoch == to) {
            down.sent(index, place);
        }
    }

    /// Feeds the downstream what it lacks and this node holds: first what it asked for again.
    fn feed(&mut self, sink: &Sink) -> Option<RelayOrder> {
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

    /// Asks upstream for what the downstream wants and this node can't give, and for what this
    /// node itself lacks: a changed block at once, what its disk couldn't take when the stream is
    /// over.
    fn ask_for_missing(&mut self, sink: &Sink) -> Option<RelayOrder> {
        let open = matches!(self.up, Some((_, true)));
        if self.is_head || !open || self.asked.len() >= ASKED_MAX || !self.doubts.is_empty() {
            return None;
        }
        let wanted = self.down.iter().flat_map(|down| &down.again).copied();
        let wanted = wanted.filter(|&index| {
            let place = self.blocks.ordinal(index);
            let passed = place.is_some_and(|place| place < self.cursor);
            passed && !sink.can_serve(index) && !sink.will_serve(index)
        });
        // A node whose disk is behind asks for what it had to drop when the stream is over, and for
        // no more than its disk takes: it would only have to drop it again.
        let behind = self.flying + self.asked.len() >= CATCH_UP_MAX;
        let now = !self.detached || self.up_ended && !behind;
        let lacking = now.then_some(&self.lacking).into_iter().flatten().copied();
        let own = lacking.filter(|index| {
            let passed = self.blocks.ordinal(*index).is_some_and(|place| place < self.cursor);
            let suspect = self.unsettled.iter().any(|block| block.index == *index);
            passed && !suspect
        });
        let index = wanted.chain(own).find(|index| !self.asked.contains(index))?;
        self.asked.insert(index);
        Some(RelayOrder::AskUp(Kind::Again, index))
    }
}

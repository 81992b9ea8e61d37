//! A node of a run: its sink, a relay a lane, a writer, and what they are at.

use std::collections::{BTreeMap, VecDeque};

use garland_core::plan::{Layout, Plan};
use garland_protocol::{
    DiskCall, FromAgent, PendingCall, Relay, RelayEvent, Route, Sink, Store, ToAgent,
};

use crate::link::LinkId;
use crate::vault::Sealed;
use crate::world::{NodeWorld, SinkKind};

/// Whether a node does anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Running,
    /// Until then.
    Paused(u64),
    Stopped,
    Crashed,
}

/// From the head to a node.
#[derive(Debug)]
pub(crate) enum Order {
    Begin(Vec<Route>),
    Say(ToAgent),
}

/// What a relay's thread is at.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) serial: u32,
    pub(crate) index: u64,
    pub(crate) stage: Stage,
    /// The link that the block comes from; it is fed from the sink otherwise.
    pub(crate) from: Option<LinkId>,
    /// The links that the block is sent on, slice by slice in turn.
    pub(crate) to: Vec<LinkId>,
    /// The key that a fed block is sealed under.
    pub(crate) incarnation: u64,
    pub(crate) store: Store,
    /// There is a place for it with the writer.
    pub(crate) placed: bool,
    /// When it began to wait for a place.
    pub(crate) since: u64,
    /// Since when it has waited for a downstream to take bytes.
    pub(crate) waits_since: Option<u64>,
    /// When its last byte can be on all their wires, if it is here by then.
    pub(crate) sent: u64,
    /// When the upstream broke before all of it was here.
    pub(crate) cut_off: Option<u64>,
    /// The links that it was sent on and that broke meanwhile: their epochs.
    pub(crate) lost: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Waits for a place with the writer.
    Room,
    /// Waits until the downstream takes bytes.
    Window,
    /// Bytes move.
    Moving,
}

/// One lane of a node, or what it feeds beside one: what its thread would have on its stack.
#[derive(Debug)]
pub(crate) struct LaneThread {
    /// The lane's number.
    pub(crate) number: u16,
    pub(crate) relay: Relay,
    pub(crate) events: VecDeque<RelayEvent>,
    pub(crate) work: Option<Work>,
    pub(crate) up: Option<LinkId>,
    pub(crate) downs: Vec<LinkId>,
    /// It has just fed a block.
    pub(crate) fed: bool,
    /// Since when it has waited for the node's own stream.
    pub(crate) held_since: Option<u64>,
    /// As the control thread was told last.
    pub(crate) route: Option<Route>,
    /// Links that name a route that hasn't been told yet.
    pub(crate) early: Vec<LinkId>,
}

impl LaneThread {
    /// A thread of the lane `number` that has nothing to do yet.
    pub(crate) fn new(number: u16, relay: Relay) -> Self {
        Self {
            number,
            relay,
            events: VecDeque::new(),
            work: None,
            up: None,
            downs: Vec::new(),
            fed: false,
            held_since: None,
            route: None,
            early: Vec::new(),
        }
    }
}

/// A block with the writer.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) lane: usize,
    pub(crate) index: u64,
    pub(crate) garbled: bool,
    pub(crate) sealed: Option<Box<Sealed>>,
    /// The node had it before.
    pub(crate) brought: bool,
}

/// A node.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) life: Life,
    pub(crate) cut: bool,
    pub(crate) world: NodeWorld,
    pub(crate) sink: Sink,
    /// One for each lane of the plan, and behind them those that feed beside a lane.
    pub(crate) lanes: Vec<LaneThread>,
    /// When its wire has carried what was sent, by the plan's lanes.
    pub(crate) sent: Vec<u64>,
    pub(crate) writing: VecDeque<Written>,
    /// A stream's blocks that are here before their turn, and whose turn it is.
    pub(crate) early: BTreeMap<u64, Written>,
    pub(crate) turn: u64,
    /// Blocks of a stream that are written.
    pub(crate) streamed: u64,
    /// A block has landed: those that feed beside a lane may be able to go on.
    pub(crate) landed: bool,
    /// A stream's next block is another one, or went by: other lanes may be able to go on.
    pub(crate) front_moved: bool,
    /// Places with the writer that are taken or promised.
    pub(crate) places: usize,
    pub(crate) stalled_ns: u64,
    /// When its disk began to take the present block, and will have taken it.
    pub(crate) disk: Option<(u64, u64)>,
    /// How long its writer has slept while its disk took blocks that it has taken.
    pub(crate) blocked_ns: u64,
    /// Its disk doesn't answer any more.
    pub(crate) hangs: bool,
    /// When it was told to give the file its name, until it has.
    pub(crate) commits: Option<u64>,
    pub(crate) inbox: VecDeque<Order>,
    pub(crate) inbox_last: u64,
    pub(crate) outbox: VecDeque<FromAgent>,
    pub(crate) outbox_last: u64,
    pub(crate) closed: bool,
    pub(crate) first_ns: Option<u64>,
    pub(crate) complete_ns: Option<u64>,
    pub(crate) committed_ns: Option<u64>,
}

impl Node {
    /// The node at `place` of a plan; the head is at 0. `room` blocks may be with its writer.
    pub(crate) fn new(plan: &Plan, place: usize, world: NodeWorld, room: usize) -> Self {
        let layout: Layout = plan.layout;
        let is_head = place == 0;
        let sink = match world.sink {
            _ if is_head => Sink::source(layout),
            SinkKind::File => Sink::new(layout, true),
            SinkKind::Null => Sink::new(layout, false),
            SinkKind::Stream | SinkKind::Tree => Sink::in_order(layout, room),
        };
        let lane = |number, blocks| LaneThread::new(number, Relay::new(blocks, is_head));
        Self {
            life: Life::Running,
            cut: false,
            world,
            sink,
            lanes: (0..).zip(&plan.lanes).map(|(n, planned)| lane(n, planned.blocks)).collect(),
            sent: vec![0; plan.lanes.len()],
            writing: VecDeque::new(),
            early: BTreeMap::new(),
            turn: 0,
            streamed: 0,
            landed: false,
            front_moved: false,
            places: 0,
            stalled_ns: 0,
            disk: None,
            blocked_ns: 0,
            hangs: false,
            commits: None,
            inbox: VecDeque::new(),
            inbox_last: 0,
            outbox: VecDeque::new(),
            outbox_last: 0,
            closed: false,
            first_ns: None,
            complete_ns: None,
            committed_ns: None,
        }
    }

    /// Tells a lane's relay what happened.
    pub(crate) fn tell(&mut self, lane: usize, event: RelayEvent) {
        let before = self.sink.front();
        self.lanes[lane].relay.handle(event, &mut self.sink);
        self.front_moved |= self.sink.front() != before;
    }

    /// The block of a stream whose turn it is, if it is here.
    pub(crate) fn in_turn(&mut self) -> Option<Written> {
        let index = self.turn;
        let old = Written { lane: 0, index, garbled: false, sealed: None, brought: true };
        let old = Some(old).filter(|_| self.sink.is_brought(index));
        let block = old.or_else(|| self.early.remove(&index))?;
        self.turn += 1;
        Some(block)
    }

    /// Takes note of whether a lane waits for the node's own stream.
    pub(crate) fn note_held(&mut self, lane: usize, now: u64) {
        let thread = &mut self.lanes[lane];
        if thread.work.is_none() && thread.relay.is_held(&self.sink) {
            thread.held_since.get_or_insert(now);
        } else if let Some(since) = thread.held_since.take() {
            self.stalled_ns += now - since;
        }
    }

    /// How long the writer has slept by `now` while the disk takes the present block.
    pub(crate) fn asleep(&self, now: u64) -> u64 {
        let until = |due: u64| if self.hangs { now } else { now.min(due) };
        self.disk.map_or(0, |(begin, due)| until(due).saturating_sub(begin))
    }

    /// The call on its disk that doesn't return, if there is one.
    pub(crate) fn pending(&self, now: u64) -> Option<PendingCall> {
        let fed = self.lanes.iter().filter_map(|lane| lane.work.as_ref());
        let fed = fed.filter(|work| work.from.is_none() && work.stage != Stage::Moving);
        let fed = fed.map(|work| (DiskCall::Read, work.since)).min_by_key(|(_, since)| *since);
        let writes = self.disk.map(|(begin, _)| (DiskCall::Write, begin));
        let commits = self.commits.map(|since| (DiskCall::Finish, since));
        let calls = fed.into_iter().chain(writes).chain(commits).filter(|_| self.hangs);
        let pending = |(operation, since): (DiskCall, u64)| {
            let silent_ns = now.saturating_sub(since);
            PendingCall { operation, path: "/d/y".to_owned(), silent_ns, allowance_ns: 0 }
        };
        calls.map(pending).max_by_key(PendingCall::weight)
    }
}

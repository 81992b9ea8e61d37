//! A node of a run: its sink, one relay per lane, a writer, and their state.

use std::collections::{BTreeMap, VecDeque};

use garland_core::plan::{Layout, Plan};
use garland_protocol::{
    DiskCall, FromAgent, PendingCall, Relay, RelayEvent, Route, Sink, Store, ToAgent,
};

use crate::link::LinkId;
use crate::vault::Sealed;
use crate::world::{NodeWorld, SinkKind};

/// Whether a node is running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Running,
    /// Until this time.
    Paused(u64),
    Stopped,
    Crashed,
}

/// A message from the head to a node.
#[derive(Debug)]
pub(crate) enum Order {
    Begin(Vec<Route>),
    Say(ToAgent),
}

/// The present block of a relay's thread.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) serial: u32,
    pub(crate) index: u64,
    pub(crate) stage: Stage,
    /// The link from which the block arrives; none if it is read from the sink.
    pub(crate) from: Option<LinkId>,
    /// The links on which the block is sent, slice by slice in turn.
    pub(crate) to: Vec<LinkId>,
    /// The incarnation under which a block from the sink is sealed.
    pub(crate) incarnation: u64,
    pub(crate) store: Store,
    /// The writer has a slot for it.
    pub(crate) placed: bool,
    /// The time at which it began to wait for a slot.
    pub(crate) since: u64,
    /// The time since which it waits for a downstream to take bytes.
    pub(crate) waits_since: Option<u64>,
    /// The time at which its last byte can be on all wires, if it has arrived by then.
    pub(crate) sent: u64,
    /// The time at which the upstream broke before all of it had arrived.
    pub(crate) cut_off: Option<u64>,
    /// The epochs of links that broke while it was sent on them.
    pub(crate) lost: Vec<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Waits for a slot with the writer.
    Room,
    /// Waits until the downstream takes bytes.
    Window,
    /// Bytes are moving.
    Moving,
}

/// A lane of a node, or a side feed of one: the state of its thread.
#[derive(Debug)]
pub(crate) struct LaneThread {
    /// The number of the lane.
    pub(crate) number: u16,
    pub(crate) relay: Relay,
    pub(crate) events: VecDeque<RelayEvent>,
    pub(crate) work: Option<Work>,
    pub(crate) up: Option<LinkId>,
    pub(crate) downs: Vec<LinkId>,
    /// It has just sent a block of its own.
    pub(crate) fed: bool,
    /// The time since which it waits for the node's own stream.
    pub(crate) held_since: Option<u64>,
    /// The last route which the control thread received.
    pub(crate) route: Option<Route>,
    /// Links which name a route that has not arrived.
    pub(crate) early: Vec<LinkId>,
}

impl LaneThread {
    /// An idle thread of the lane `number`.
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

/// A block of the writer.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) lane: usize,
    pub(crate) index: u64,
    pub(crate) garbled: bool,
    pub(crate) sealed: Option<Box<Sealed>>,
    /// The node had it before the copy.
    pub(crate) brought: bool,
}

/// A node.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) life: Life,
    pub(crate) cut: bool,
    pub(crate) world: NodeWorld,
    pub(crate) sink: Sink,
    /// One for each lane of the plan, followed by side feeds.
    pub(crate) lanes: Vec<LaneThread>,
    /// The times at which its wires have carried what was sent, by lane of the plan.
    pub(crate) sent: Vec<u64>,
    pub(crate) writing: VecDeque<Written>,
    /// Blocks of a stream that arrived before their turn, or whose turn it is.
    pub(crate) early: BTreeMap<u64, Written>,
    pub(crate) turn: u64,
    /// The number of written blocks of a stream.
    pub(crate) streamed: u64,
    /// A block has landed: side feeds may be able to continue.
    pub(crate) landed: bool,
    /// The next block of a stream has changed: other lanes may be able to continue.
    pub(crate) front_moved: bool,
    /// Slots of the writer that are in use or promised.
    pub(crate) places: usize,
    pub(crate) stalled_ns: u64,
    /// The times at which its disk began and finishes the present block.
    pub(crate) disk: Option<(u64, u64)>,
    /// The time for which its writer slept while its disk took completed blocks.
    pub(crate) blocked_ns: u64,
    /// Its disk no longer answers.
    pub(crate) hangs: bool,
    /// The time at which it was told to commit, until it has.
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
    /// The node with index `place` in the plan; the head has 0. Its writer has `room` slots.
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

    /// Passes an event to a lane's relay.
    pub(crate) fn tell(&mut self, lane: usize, event: RelayEvent) {
        let before = self.sink.front();
        self.lanes[lane].relay.handle(event, &mut self.sink);
        self.front_moved |= self.sink.front() != before;
    }

    /// The next block of a stream, if it is here.
    pub(crate) fn in_turn(&mut self) -> Option<Written> {
        let index = self.turn;
        let old = Written { lane: 0, index, garbled: false, sealed: None, brought: true };
        let old = Some(old).filter(|_| self.sink.is_brought(index));
        let block = old.or_else(|| self.early.remove(&index))?;
        self.turn += 1;
        Some(block)
    }

    /// Records whether a lane waits for the node's own stream.
    pub(crate) fn note_held(&mut self, lane: usize, now: u64) {
        let thread = &mut self.lanes[lane];
        if thread.work.is_none() && thread.relay.is_held(&self.sink) {
            thread.held_since.get_or_insert(now);
        } else if let Some(since) = thread.held_since.take() {
            self.stalled_ns += now - since;
        }
    }

    /// The time for which the writer has slept by `now` while the disk takes the present block.
    pub(crate) fn asleep(&self, now: u64) -> u64 {
        let until = |due: u64| if self.hangs { now } else { now.min(due) };
        self.disk.map_or(0, |(begin, due)| until(due).saturating_sub(begin))
    }

    /// The call on its disk that does not return, if there is one.
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

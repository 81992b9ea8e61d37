//! A node of a run: its sink, one relay per lane, a writer, and their state.

use std::collections::{BTreeMap, VecDeque};

use garland_core::plan::{Lane, Plan};
use garland_protocol::copy::{
    DiskCall, Landing, PendingCall, Relay, RelayEvent, Route, Sink, Store, Taking,
};
use garland_protocol::{FromAgent, ToAgent};

use crate::link::LinkId;
use crate::vault::Sealed;
use crate::world::{NodeWorld, SinkKind};

/// Whether the agent of a node is running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Life {
    #[default]
    Running,
    /// Paused until this time in nanoseconds.
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

/// The block that a relay's thread is working on.
#[derive(Debug, Default)]
pub(crate) struct Work {
    pub(crate) serial: u32,
    pub(crate) index: u64,
    pub(crate) stage: Stage,
    /// The link on which the block arrives; `None` if it is read from the sink.
    pub(crate) from: Option<LinkId>,
    /// The links on which the block is sent, slice by slice in turn.
    pub(crate) to: Vec<LinkId>,
    /// The incarnation under which a block from the sink is sealed.
    pub(crate) incarnation: u64,
    pub(crate) store: Store,
    /// Whether the writer has a slot for the block.
    pub(crate) placed: bool,
    /// When the thread began to wait for a slot, in nanoseconds.
    pub(crate) since: u64,
    /// When the thread began to wait until a downstream takes bytes; `None` if it does not wait.
    pub(crate) waits_since: Option<u64>,
    /// When the wires will have carried the last byte, in nanoseconds, if it arrives in time.
    pub(crate) sent: u64,
    /// When the upstream link broke, if it broke before the whole block had arrived.
    pub(crate) cut_off: Option<u64>,
    /// The epochs of links that broke while the block was sent on them.
    pub(crate) lost: Vec<u32>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The block waits for a slot of the writer.
    #[default]
    Room,
    /// The block waits until the downstream takes bytes.
    Window,
    /// The bytes of the block are moving.
    Moving,
}

/// The thread of a lane on a node, or of a side feed.
#[derive(Debug, Default)]
pub(crate) struct LaneThread {
    /// The number of the lane that the thread serves.
    pub(crate) number: u16,
    pub(crate) relay: Relay,
    pub(crate) events: VecDeque<RelayEvent>,
    pub(crate) work: Option<Work>,
    pub(crate) up: Option<LinkId>,
    pub(crate) downs: Vec<LinkId>,
    /// How the receivers take what is sent, by the epochs of the links.
    pub(crate) taking: BTreeMap<u32, Taking>,
    /// Whether the thread has just sent a block that it read from the sink.
    pub(crate) fed: bool,
    /// When the thread began to wait for its node's stream; `None` if it does not wait.
    pub(crate) held_since: Option<u64>,
    /// The last route that the control thread received.
    pub(crate) route: Option<Route>,
    /// New links that name a route which has not arrived yet.
    pub(crate) early: Vec<LinkId>,
}

/// A block that was passed to the writer.
#[derive(Debug)]
pub(crate) struct Written {
    pub(crate) index: u64,
    pub(crate) garbled: bool,
    pub(crate) sealed: Option<Box<Sealed>>,
    /// Whether the node had the block before the copy.
    pub(crate) brought: bool,
}

/// A node of the plan: the head or a receiver.
#[derive(Debug, Default)]
pub(crate) struct Node {
    pub(crate) life: Life,
    pub(crate) cut: bool,
    pub(crate) world: NodeWorld,
    pub(crate) sink: Sink,
    /// The threads: one for each lane of the plan, followed by side feeds.
    pub(crate) lanes: Vec<LaneThread>,
    /// For each lane of the plan, when the node's wire will have carried all bytes sent so far.
    pub(crate) sent: Vec<u64>,
    pub(crate) writing: VecDeque<Written>,
    /// Blocks of a stream that have not been passed to the writer yet, by index.
    pub(crate) early: BTreeMap<u64, Written>,
    pub(crate) turn: u64,
    /// The number of written blocks of a stream.
    pub(crate) streamed: u64,
    /// Set when a block was opened or written: side feeds may then continue.
    pub(crate) landed: bool,
    /// Set when another block of a stream becomes the next: other lanes may then continue.
    pub(crate) front_moved: bool,
    /// The number of writer slots that are in use or promised.
    pub(crate) places: usize,
    pub(crate) stalled_ns: u64,
    /// When the node's disk began to write the present block, and when the write will complete;
    /// `None` if the disk writes no block.
    pub(crate) disk: Option<(u64, u64)>,
    /// The nanoseconds that the node's writer has slept while the disk wrote blocks, without the
    /// present block.
    pub(crate) blocked_ns: u64,
    /// Whether the node's disk no longer answers.
    pub(crate) hangs: bool,
    /// When the node was told to commit; `None` before that, and after the commit.
    pub(crate) commits: Option<u64>,
    pub(crate) inbox: VecDeque<Order>,
    pub(crate) inbox_last: u64,
    pub(crate) outbox: VecDeque<FromAgent>,
    pub(crate) outbox_last: u64,
    /// Whether messages that have reached the head reach it again.
    pub(crate) repeats: bool,
    /// The messages that are still to reach the head again.
    pub(crate) repeated: Vec<FromAgent>,
    pub(crate) closed: bool,
    pub(crate) first_ns: Option<u64>,
    pub(crate) complete_ns: Option<u64>,
    pub(crate) committed_ns: Option<u64>,
}

impl Node {
    /// Creates the node with index `place` in the plan; index 0 is the head. `room` is the number
    /// of slots of its writer, and counts only if its sink is [`SinkKind::Stream`] or
    /// [`SinkKind::Tree`]: other sinks take blocks in any order.
    pub(crate) fn new(plan: &Plan, place: usize, world: NodeWorld, room: usize) -> Self {
        let layout = plan.layout;
        let is_head = place == 0;
        let sink = match world.sink {
            _ if is_head => Sink::source(layout),
            SinkKind::File => Sink::new(layout, true),
            SinkKind::Null => Sink::new(layout, false),
            SinkKind::Stream | SinkKind::Tree => Sink::in_order(layout, room),
        };
        let lane = |(number, planned): (u16, &Lane)| {
            let relay = Relay::new(planned.blocks, is_head);
            LaneThread { number, relay, ..LaneThread::default() }
        };
        let lanes = (0..).zip(&plan.lanes).map(lane).collect();
        Self { world, sink, lanes, sent: vec![0; plan.lanes.len()], ..Self::default() }
    }

    /// Passes an event to a lane's relay.
    pub(crate) fn tell(&mut self, lane: usize, event: RelayEvent) {
        let before = self.sink.front();
        self.lanes[lane].relay.handle(event, &mut self.sink);
        self.front_moved |= self.sink.front() != before;
    }

    /// Records the result of writing a block, and tells the relay of its lane.
    pub(crate) fn land(&mut self, lane: usize, index: u64, landing: Landing) {
        let before = self.sink.front();
        self.sink.landed(index, landing);
        self.front_moved |= self.sink.front() != before;
        self.lanes[lane].events.push_back(RelayEvent::Landed(index, landing));
    }

    /// Removes and returns the next block of a stream, if it is present.
    pub(crate) fn in_turn(&mut self) -> Option<Written> {
        let index = self.turn;
        let old = Written { index, garbled: false, sealed: None, brought: true };
        let old = Some(old).filter(|_| self.sink.is_brought(index));
        let block = old.or_else(|| self.early.remove(&index))?;
        self.turn += 1;
        Some(block)
    }

    /// Records whether a lane waits for the node's stream, and for how long it has waited.
    pub(crate) fn note_held(&mut self, lane: usize, now: u64) {
        let thread = &mut self.lanes[lane];
        if thread.work.is_none() && thread.relay.is_held(&self.sink) {
            thread.held_since.get_or_insert(now);
        } else if let Some(since) = thread.held_since.take() {
            self.stalled_ns += now - since;
        }
    }

    /// Returns the nanoseconds that the writer has slept by `now` during the present write.
    pub(crate) fn asleep(&self, now: u64) -> u64 {
        let until = |due: u64| if self.hangs { now } else { now.min(due) };
        self.disk.map_or(0, |(begin, due)| until(due).saturating_sub(begin))
    }

    /// Returns a disk call that hangs; `None` if the disk does not hang or no call is in progress.
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

/// Converts a node's index in the plan to the type that events use.
pub(crate) fn id(place: usize) -> u32 {
    u32::try_from(place).expect("a plan has fewer nodes")
}

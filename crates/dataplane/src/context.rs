//! One node's part in one copy: what its threads share.

mod flow;
mod lane_handle;
mod memory;
mod notice;
mod side_feeds;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::JoinHandle;

use garland_core::plan::{Layout, NodeId};
use garland_protocol::{
    CopyId, CopyView, DigestKey, DigestWindows, Keys, LaneReport, LaneView, PendingCall,
    RelayEvent, Report, Route, Secret, Sink, Summed,
};
use garland_sys::mptcp::Transport;
use garland_sys::{clock, process};

pub use self::flow::{Awaited, Flow};
pub use self::lane_handle::{LaneCommand, LaneHandle};
pub use self::notice::Notice;
use self::side_feeds::SideFeeds;
pub use self::side_feeds::Starter;
use crate::awake::Awake;
use crate::calls::Calls;
use crate::compress::{Packing, PackingPace, Zeros};
use crate::gauge::Stages;
use crate::pool::Pool;
use crate::recorder::Collector;
use crate::stall::Faults;
use crate::store::Store;
use crate::writing::Writing;
use garland_transport::link_pool::LinkPool;

/// When a copy ends, a call that has made no progress for so long hangs.
const HANGS_NS: u64 = 1_000_000_000;

/// One node's part in one copy.
pub struct CopyContext {
    /// The copy.
    pub copy: CopyId,
    /// This node's place in the plan.
    pub me: NodeId,
    /// What the keys are derived from.
    pub secret: Secret,
    /// By which the source signs what its blocks contain, or others check it.
    digest_key: DigestKey,
    /// What was signed, by lane.
    windows: Mutex<BTreeMap<u16, Arc<Mutex<DigestWindows>>>>,
    /// The keys, to mark frames and to seal.
    pub keys: Arc<Keys>,
    /// Whether blocks are sealed.
    pub sealed: bool,
    /// Whether the copy's bytes come from here.
    pub is_source: bool,
    /// How many blocks each lane may have in memory, if that was said.
    pub buffers: Option<u16>,
    /// Whether every block that is written is told of.
    pub acknowledge: bool,
    /// How many blocks are where.
    pub stages: Stages,
    /// How many lanes this node is on.
    pub lane_count: usize,
    /// How the source is cut.
    pub layout: Layout,
    /// Where the bytes go.
    pub store: Box<dyn Store>,
    /// Buffers for blocks on their way to the store.
    pub pool: Pool,
    /// The lanes, set once.
    pub lanes: OnceLock<Vec<Arc<LaneHandle>>>,
    /// What the writer's writes take.
    pub writing: Writing,
    /// Calls on the disk that it gives from; its store has its own.
    pub calls: Calls,
    /// Nanoseconds of CPU that opening blocks took.
    pub opening_ns: AtomicU64,
    /// How the blocks that are read here are packed.
    pub packing: PackingPace,
    /// The digests of zeros.
    pub zeros: Zeros,
    /// Bytes of blocks that have been fed from here, as they were on the wire.
    pub sent_bytes: AtomicU64,
    /// A stream's last block, if it is shorter than the others, and its length; set once.
    short: OnceLock<(u64, u32)>,
    /// The digest of the file here, once it is known.
    pub summed: OnceLock<Summed>,
    /// Congestion controls to ask for, best first.
    pub congestion: Vec<String>,
    /// What the links that this node opens speak.
    pub transport: Transport,
    /// Bytes a second that may go down each link; as many as it can where it is 0.
    pub pace: u64,
    /// Where links come from and go to that outlive the copy; the head has none.
    pub parking: Option<Arc<LinkPool>>,
    /// What happens, as it is noted.
    pub trace: Arc<Collector>,
    /// What goes wrong here on purpose.
    pub faults: Faults,
    /// How long its threads are awake.
    pub awake: Arc<Awake>,
    /// How many blocks it had before anything was sent.
    had: u64,
    /// CPU nanoseconds that the agent had used before this copy.
    cpu_before_ns: u64,
    sink: Mutex<Sink>,
    notices: Box<dyn Fn(Notice) + Send + Sync>,
    side_feeds: SideFeeds,
    closing: AtomicBool,
    finishing: AtomicBool,
    first: AtomicBool,
    completed: AtomicBool,
}

/// What a member is made of.
pub struct CopyConfig {
    /// The copy.
    pub copy: CopyId,
    /// This node's place in the plan.
    pub me: NodeId,
    /// What the keys are derived from.
    pub secret: Secret,
    /// By which the source signs what its blocks contain, or others check it.
    pub digest_key: DigestKey,
    /// Whether blocks are sealed.
    pub sealed: bool,
    /// Whether the copy's bytes come from here.
    pub is_source: bool,
    /// How many blocks each lane may have in memory, if that was said.
    pub buffers: Option<u16>,
    /// Whether every block that is written is told of.
    pub acknowledge: bool,
    /// How the blocks that are read here are packed.
    pub packing: Packing,
    /// What is held at the start.
    pub sink: Sink,
    /// How many lanes this node is on.
    pub lane_count: usize,
    /// Where the bytes go.
    pub store: Box<dyn Store>,
    /// Congestion controls to ask for, best first.
    pub congestion: Vec<String>,
    /// What the links that this node opens speak.
    pub transport: Transport,
    /// Bytes a second that may go down each link; as many as it can where it is 0.
    pub pace: u64,
    /// Where links come from and go to that outlive the copy.
    pub parking: Option<Arc<LinkPool>>,
    /// Where what happens is noted.
    pub trace: Arc<Collector>,
    /// What goes wrong here on purpose.
    pub faults: Faults,
    /// Who is told how long its threads were awake.
    pub awake: Arc<Awake>,
    /// Who is told.
    pub notices: Box<dyn Fn(Notice) + Send + Sync>,
}

impl CopyContext {
    /// A node's part in a copy, with no lane yet.
    #[must_use]
    pub fn new(parts: CopyConfig) -> Self {
        let CopyConfig { copy, me, secret, sealed, sink, lane_count, store, .. } = parts;
        let layout = sink.layout();
        let (room, count) = Self::room(layout, lane_count, parts.buffers);
        Self {
            copy,
            me,
            keys: Arc::new(Keys::new(&secret, copy)),
            secret,
            digest_key: parts.digest_key,
            windows: Mutex::default(),
            sealed,
            is_source: parts.is_source,
            buffers: parts.buffers,
            acknowledge: parts.acknowledge,
            stages: Stages::default(),
            lane_count,
            layout,
            store,
            pool: Pool::new(room, count),
            lanes: OnceLock::new(),
            writing: Writing::default(),
            calls: Calls::default(),
            opening_ns: AtomicU64::new(0),
            short: OnceLock::new(),
            packing: PackingPace::new(parts.packing),
            zeros: Zeros::default(),
            sent_bytes: AtomicU64::new(0),
            summed: OnceLock::new(),
            congestion: parts.congestion,
            transport: parts.transport,
            pace: parts.pace,
            parking: parts.parking,
            trace: parts.trace,
            faults: parts.faults,
            awake: parts.awake,
            cpu_before_ns: clock::cpu_ns(),
            had: if parts.is_source { 0 } else { sink.here() },
            sink: Mutex::new(if parts.is_source { sink } else { sink.awaiting_signatures() }),
            notices: parts.notices,
            side_feeds: SideFeeds::default(),
            closing: AtomicBool::new(false),
            finishing: AtomicBool::new(false),
            first: AtomicBool::new(false),
            completed: AtomicBool::new(false),
        }
    }

    /// What this node holds.
    pub fn sink(&self) -> MutexGuard<'_, Sink> {
        self.sink.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What the source signed about the blocks of a lane.
    #[must_use]
    pub fn windows(&self, lane: u16) -> Arc<Mutex<DigestWindows>> {
        let mut windows = self.windows.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || Arc::new(Mutex::new(DigestWindows::new(self.copy, lane, &self.digest_key)));
        Arc::clone(windows.entry(lane).or_insert_with(new))
    }

    /// The bytes of a block that is here.
    #[must_use]
    pub fn block_length(&self, index: u64) -> u32 {
        let short = self.short.get().filter(|(last, _)| *last == index);
        short.map_or_else(|| self.layout.block_length(index), |(_, length)| *length)
    }

    /// Whether block `index` may have `length` bytes; of a stream one may have less than the others.
    #[must_use]
    pub fn takes_length(&self, index: u64, length: u32) -> bool {
        let whole = self.layout.block_length(index);
        if self.layout.open && length < whole {
            return *self.short.get_or_init(|| (index, length)) == (index, length);
        }
        length == whole
    }

    /// Tells whoever speaks for the node.
    pub fn tell(&self, notice: Notice) {
        (self.notices)(notice);
    }

    /// Tells, once, that the first block has come.
    pub fn tell_first(&self) {
        if !self.first.swap(true, Ordering::Relaxed) {
            self.tell(Notice::First);
        }
    }

    /// Tells, once, that everything is here, when it is: held by a receiver, read by the head.
    ///
    /// Who had all before the copy began waits until the chain has come and ended: links that stand
    /// would be lost to a copy that is over before they have been greeted on.
    pub fn tell_if_complete(&self) {
        let mut lanes = self.lanes.get().into_iter().flatten();
        let had_all = self.had > 0 && self.had == self.layout.blocks();
        if had_all && !lanes.all(|lane| lane.ended.load(Ordering::Relaxed)) {
            return;
        }
        let root = {
            let sink = self.sink();
            if !sink.is_complete() {
                return;
            }
            sink.root()
        };
        let Some(root) = root else { return };
        if !self.completed.swap(true, Ordering::Relaxed) {
            let read = self.is_source;
            self.tell(if read { Notice::Read(root) } else { Notice::Complete(root) });
        }
    }

    /// Whether the copy is over here.
    #[must_use]
    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    /// All is here: it is made stable, read back, or given its name from now on.
    pub fn finish(&self) {
        self.finishing.store(true, Ordering::Relaxed);
    }

    /// What there is to be seen of the copy here, under this name.
    #[must_use]
    pub fn view(&self, name: &str) -> CopyView {
        let lanes = (0..).zip(self.lanes.get().into_iter().flatten());
        let (held, blocks) = {
            let sink = self.sink();
            (sink.held(), sink.wanted())
        };
        let given = || lanes.clone().map(|(_, lane)| lane.received.load(Ordering::Relaxed)).sum();
        CopyView {
            copy: self.copy,
            name: name.to_owned(),
            is_source: self.is_source,
            held: if self.is_source { given() } else { held },
            blocks,
            length: blocks.map(|blocks| self.layout.offset(blocks).min(self.layout.length)),
            block_size: self.layout.block_size,
            finishing: self.finishing.load(Ordering::Relaxed),
            lanes: lanes
                .clone()
                .filter(|(_, lane)| lane.is_used())
                .map(|(number, lane)| {
                    let view = lane.flow.view(number);
                    LaneView { went: view.went + self.side_feeds.sent(number), ..view }
                })
                .collect(),
        }
    }

    /// Ends the copy here: no thread waits for anything any more.
    pub fn close(&self) {
        // A lane that goes to work has said so before it looks whether the copy is over: it sees
        // this, or is seen at work here.
        self.closing.store(true, Ordering::SeqCst);
        self.store.stop();
        self.pool.close();
        for lane in self.lanes.get().into_iter().flatten() {
            lane.close();
        }
        self.side_feeds.close();
    }

    /// Has the copy fail here as soon as its store fails by itself.
    pub fn watch_store(self: &Arc<Self>) {
        let watching = Arc::downgrade(self);
        self.store.watch(Box::new(move |reason| {
            if let Some(member) = watching.upgrade() {
                member.tell(Notice::Failed(reason));
            }
        }));
    }

    /// A lane of this copy.
    #[must_use]
    pub fn lane(&self, number: u16) -> Option<&Arc<LaneHandle>> {
        self.lanes.get()?.get(usize::from(number))
    }

    /// Cuts links over which nothing comes back, where another rail may hold. A node of one rail whose
    /// wire is dead is soon silent as a whole.
    pub fn cut_silent_links(&self) {
        let lanes = self.lanes.get().into_iter().flatten().filter(|_| self.lane_count > 1);
        lanes.for_each(|lane| lane.cut_silent());
    }

    /// Asks the kernel for its counters, if it is time for it.
    pub fn sample(&self) {
        self.trace.sample(self.lanes.get().map_or(&[], Vec::as_slice));
    }

    /// Asks the kernel for its counters at once.
    pub fn sample_now(&self) {
        self.trace.sample_now(self.lanes.get().map_or(&[], Vec::as_slice));
    }

    /// Lets all lanes but one look again whether they may go on.
    pub fn wake_others(&self, number: u16) {
        let lanes = (0..).zip(self.lanes.get().into_iter().flatten());
        lanes.filter(|(other, _)| *other != number).for_each(|(_, lane)| lane.wake.raise());
    }

    /// Lets all lanes look again whether they may go on.
    pub fn wake_all(&self) {
        self.lanes.get().into_iter().flatten().for_each(|lane| lane.wake.raise());
    }

    /// Feeds the blocks before `bound`, and lets those who want others wait.
    pub fn serve_until(&self, bound: u64) {
        self.sink().serve_until(bound);
        self.wake_all();
        self.side_feeds.wake();
    }

    /// Gives a lane its new hops; ends at once what hangs in the old ones.
    pub fn route(&self, route: Route) {
        if let Some(lane) = self.lane(route.lane) {
            for error in self.side_feeds.route(&route, &self.closing) {
                self.tell(Notice::Failed(format!("feeding a node beside a lane: {error}")));
            }
            let route = route.firm();
            lane.cut_others(&route);
            lane.post(LaneCommand::Event(RelayEvent::Route(route)));
        }
    }

    /// Sets how threads are started that feed a downstream on the side of a lane. Called once, before
    /// the threads of the lanes run.
    pub fn start_side_feeds_by(&self, start: Box<Starter>) {
        self.side_feeds.start_by(start);
    }

    /// Makes the threads that feed on the side of a lane check again whether they can continue.
    pub fn wake_side_feeds(&self) {
        self.side_feeds.wake();
    }

    /// Takes the threads that feed on the side of a lane, to be joined after the copy is over.
    pub fn take_side_threads(&self) -> impl Iterator<Item = JoinHandle<()>> {
        self.side_feeds.take_threads()
    }

    /// What a heartbeat says of this copy.
    #[must_use]
    pub fn report(&self) -> Report {
        let received = |lane: &Arc<LaneHandle>| LaneReport {
            received: lane.received.load(Ordering::Relaxed),
            hop: lane.hop(),
        };
        let lanes: Vec<_> = self.lanes.get().into_iter().flatten().map(received).collect();
        // A source holds all from the start: what it has given is what is of interest.
        let given = || lanes.iter().map(|lane| lane.received).sum();
        Report {
            held: if self.is_source { given() } else { self.sink().held() },
            had: self.had,
            whole: self.sink().whole(),
            lanes,
            // What is written in its order is read back file by file, where every file is there.
            holder: self.is_source || self.store.is_holder() && !self.store.is_ordered(),
            depths: self.stages.depths(),
            stalled_ns: self.pool.waited_ns(),
            blocked_ns: self.writing.blocked_ns(),
            memory: process::peak_memory(),
            cpu_ns: clock::cpu_ns().saturating_sub(self.cpu_before_ns),
            opening_ns: self.opening_ns.load(Ordering::Relaxed),
            removed: self.store.removed(),
            checksum: self.summed.get().cloned(),
            pending: self.pending(),
        }
    }

    /// The call on its disk that has gone on for longest without progress, if one does so for a second.
    #[must_use]
    pub fn pending(&self) -> Option<PendingCall> {
        let stored = self.store.calls().and_then(|calls| calls.pending(self.store.steps()));
        let given = self.calls.pending(0);
        stored.into_iter().chain(given).max_by_key(PendingCall::weight)
    }

    /// Whether it hangs on its disk: what has to end there isn't waited for.
    #[must_use]
    pub fn hangs(&self) -> bool {
        self.pending().is_some_and(|call| call.overdue_ns() >= HANGS_NS)
    }
}

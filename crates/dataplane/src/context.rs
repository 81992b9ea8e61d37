//! The state of one copy on one node, shared by its threads.

mod codec;
mod config;
mod flow;
mod lane_handle;
mod memory;
mod notice;
mod side_feeds;
mod telemetry;

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use garland_core::plan::{BlockSet, Layout};
use garland_protocol::{
    CopyView, DigestWindows, Frame, Keys, Landing, LaneReport, LaneView, PendingCall, RelayEvent,
    Report, Route, SignedEnd, Sink, Summed,
};
use garland_sys::error::reason;
use garland_sys::sync::{Mutex, MutexGuard};
use garland_sys::threads::JoinHandle;
use garland_sys::{clock, process, schedule, threads};

use self::codec::Codec;
pub use self::config::CopyConfig;
pub use self::flow::{Awaited, Flow};
pub(crate) use self::lane_handle::is_at_end;
pub use self::lane_handle::{LaneCommand, LaneHandle, Link};
pub use self::notice::Notice;
use self::side_feeds::SideFeeds;
pub use self::side_feeds::Starter;
use self::telemetry::Telemetry;
use crate::compress::{PackingPace, Zeros};
use crate::pool::Pool;

/// A disk call that is overdue by this many nanoseconds counts as hanging; a copy then ends without
/// waiting for its threads.
const HANGS_NS: u64 = 1_000_000_000;

/// The time that the lanes of a complete copy get to come to rest.
const COMING_TO_REST: Duration = Duration::from_millis(100);

/// How often a complete copy that closes checks whether its lanes are at rest.
const LOOK: Duration = Duration::from_micros(200);

/// The state of one copy on one node.
pub struct CopyContext {
    /// The parameters of the copy.
    pub config: CopyConfig,
    /// What encrypts and compresses blocks, and undoes that.
    pub codec: Codec,
    /// What is measured.
    pub telemetry: Telemetry,
    /// The signed digests of each lane's blocks, by lane number.
    windows: Mutex<BTreeMap<u16, Arc<Mutex<DigestWindows>>>>,
    /// The division of the source into blocks.
    pub layout: Layout,
    /// Buffers for received blocks, which are kept until the blocks are written.
    pub pool: Pool,
    /// All lanes of the copy, by their numbers; set once, when the threads start.
    pub lanes: OnceLock<Vec<Arc<LaneHandle>>>,
    /// The blocks that were sent, if this node is the source.
    sent: Mutex<BlockSet>,
    /// The end of a stream, as the source has signed it; set once.
    end: OnceLock<SignedEnd>,
    /// The digest of the whole file, if it was requested and has been computed.
    pub summed: OnceLock<Summed>,
    /// The number of blocks that a receiver had before the copy; 0 for the source.
    had: u64,
    sink: Mutex<Sink>,
    /// The threads that feed downstreams on the side, separately from the lanes.
    pub(crate) side_feeds: SideFeeds,
    closing: AtomicBool,
    finishing: AtomicBool,
    first: AtomicBool,
    completed: AtomicBool,
}

impl CopyContext {
    /// Returns a copy without lanes. `sink` holds the blocks that are present at the start.
    pub fn new(config: CopyConfig, sink: Sink) -> Self {
        let layout = sink.layout();
        let (room, count) = Self::room(layout, config.lane_count, config.buffers);
        Self {
            codec: Codec {
                keys: Arc::new(Keys::new(&config.secret, config.id)),
                packing: PackingPace::new(config.packing, config.lane_count),
                zeros: Zeros::default(),
            },
            telemetry: Telemetry::new(),
            windows: Mutex::default(),
            layout,
            pool: Pool::new(room, count),
            lanes: OnceLock::new(),
            sent: Mutex::new(BlockSet::new(layout.blocks())),
            end: OnceLock::new(),
            summed: OnceLock::new(),
            had: if config.is_source { 0 } else { sink.here() },
            sink: Mutex::new(if config.is_source { sink } else { sink.awaiting_signatures() }),
            side_feeds: SideFeeds::default(),
            closing: AtomicBool::new(false),
            finishing: AtomicBool::new(false),
            first: AtomicBool::new(false),
            completed: AtomicBool::new(false),
            config,
        }
    }

    /// Locks and returns the state of the blocks on this node.
    pub fn sink(&self) -> MutexGuard<'_, Sink> {
        self.sink.lock()
    }

    /// Returns the signed digests of the blocks of a lane.
    pub fn windows(&self, lane: u16) -> Arc<Mutex<DigestWindows>> {
        let mut windows = self.windows.lock();
        let CopyConfig { id, digest_key, .. } = &self.config;
        let new = || Arc::new(Mutex::new(DigestWindows::new(*id, lane, digest_key)));
        Arc::clone(windows.entry(lane).or_insert_with(new))
    }

    /// Returns the length in bytes of block `index`. The block must be present, since the last
    /// block of a stream may be shorter than the layout says.
    pub fn block_length(&self, index: u64) -> u32 {
        self.length_of_last(index).unwrap_or_else(|| self.layout.block_length(index))
    }

    /// Returns the length in bytes of block `index`, if the source has signed that a stream ends
    /// with it.
    fn length_of_last(&self, index: u64) -> Option<u32> {
        let end = self.end.get()?.end;
        end.has_last(index).then_some(end.last_length)
    }

    /// Returns whether block `index` may have `length` bytes. In a stream only the last block may
    /// be shorter than the others, if its source has signed the end.
    pub fn takes_length(&self, index: u64, length: u32) -> bool {
        let whole = self.layout.block_length(index);
        let is_last = self.layout.open && self.length_of_last(index) == Some(length);
        is_last && length < whole || length == whole
    }

    /// Notes the end of a stream, which the source has signed. Returns whether it has signed no
    /// other one before.
    pub fn note_end(&self, end: SignedEnd) -> bool {
        self.end.get_or_init(|| end).end == end.end
    }

    /// Returns the end of a stream, if the source has signed it already.
    pub fn signed_end(&self) -> Option<&SignedEnd> {
        self.end.get()
    }

    /// Notes that this node, the source, has sent block `index`.
    pub fn note_sent(&self, index: u64) {
        self.sent.lock().insert(index);
    }

    /// Returns whether this node, the source, has sent block `index` before.
    pub fn was_sent(&self, index: u64) -> bool {
        self.sent.lock().contains(index)
    }

    /// Sends a report to the thread that talks to the head.
    pub fn tell(&self, notice: Notice) {
        (self.config.notices)(notice);
    }

    /// Reports the arrival of the first block; later calls do nothing.
    pub fn tell_first(&self) {
        if !self.first.swap(true, Ordering::Relaxed) {
            self.tell(Notice::First);
        }
    }

    /// Reports that all blocks are present on a receiver, or that the source has been read. Does so
    /// once.
    pub fn tell_if_complete(&self) {
        let have_ended = || self.all_lanes().iter().all(|lane| lane.ended.load(Ordering::Relaxed));
        let Some(root) = self.sink().completed(self.had, have_ended) else { return };
        if !self.completed.swap(true, Ordering::Relaxed) {
            let read = self.config.is_source;
            self.tell(if read { Notice::Read(root) } else { Notice::Complete(root) });
        }
    }

    /// Reports that the store cannot write, unless the copy is over.
    pub fn fail_to_write(&self, error: &io::Error) {
        if !self.is_closing() {
            let (name, reason) = (self.config.store.name(), reason(error));
            self.tell(Notice::Failed(format!("cannot write {name}: {reason}")));
        }
    }

    /// Returns whether the copy is over on this node.
    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    /// Marks the copy as finishing: its file is made stable, read back, or renamed.
    pub fn finish(&self) {
        self.finishing.store(true, Ordering::Relaxed);
    }

    /// Returns a snapshot of the copy for `garland top`, which shows it as `name`.
    pub fn view(&self, name: &str) -> CopyView {
        let lanes = (0..).zip(self.all_lanes());
        let (held, blocks) = {
            let sink = self.sink();
            (sink.held(), sink.wanted())
        };
        let given = || lanes.clone().map(|(_, lane)| lane.received.load(Ordering::Relaxed)).sum();
        CopyView {
            copy: self.config.id,
            name: name.to_owned(),
            is_source: self.config.is_source,
            held: if self.config.is_source { given() } else { held },
            blocks,
            length: blocks.map(|blocks| self.layout.offset(blocks).min(self.layout.length)),
            block_size: self.layout.block_size,
            finishing: self.finishing.load(Ordering::Relaxed),
            lanes: lanes
                .clone()
                .filter(|(_, lane)| lane.is_used)
                .map(|(number, lane)| {
                    let view = lane.flow.view(number);
                    LaneView { went: view.went + self.side_feeds.sent(number), ..view }
                })
                .collect(),
        }
    }

    /// Ends the copy on this node. Its threads stop waiting, and later waits end at once.
    pub fn close(&self) {
        self.await_rest();
        // A lane first stores that it is at work and then checks whether the copy is over. So it
        // either sees this flag, or its links are cut below.
        self.closing.store(true, Ordering::SeqCst);
        self.config.store.stop();
        self.pool.close();
        self.all_lanes().iter().for_each(|lane| lane.close());
        self.side_feeds.close();
    }

    /// Gives the lanes of a complete copy the time to come to rest, so that their links can stay for
    /// the next copy. On a busy machine the last acknowledgement, and with it the order to close,
    /// may arrive before a lane's thread has read the lane's end.
    fn await_rest(&self) {
        let stays = self.config.link_pool.is_some() && self.sink().is_complete();
        let is_at_rest = || self.all_lanes().iter().all(|lane| lane.is_at_rest());
        let end = clock::now_ns() + COMING_TO_REST.as_nanos() as u64;
        while stays && !is_at_rest() && clock::now_ns() < end {
            threads::sleep(LOOK);
        }
    }

    /// Makes the copy fail if its store fails between two calls, as a command may.
    pub fn watch_store(self: &Arc<Self>) {
        let watching = Arc::downgrade(self);
        self.config.store.watch(Box::new(move |reason| {
            if let Some(copy) = watching.upgrade() {
                copy.tell(Notice::Failed(reason));
            }
        }));
    }

    fn all_lanes(&self) -> &[Arc<LaneHandle>] {
        self.lanes.get().map_or(&[], Vec::as_slice)
    }

    /// Returns the lane with this number; none before the threads have started, or if the copy has
    /// no such lane.
    pub fn lane(&self, number: u16) -> Option<&Arc<LaneHandle>> {
        self.all_lanes().get(usize::from(number))
    }

    /// Records the result of writing block `index`, which this node had before the copy.
    pub fn land_own(&self, index: u64, landing: Landing) {
        self.sink().landed(index, landing);
        self.wake_all();
        self.tell_if_complete();
    }

    /// Records the result of writing a block that came with `frame`, and tells the relay machine of
    /// its lane. Does not leave the record to the lane's thread: that thread may be waiting for a
    /// buffer, or for a neighbour, which continue only after this block counts as held.
    pub fn land(&self, frame: &Frame, landing: Landing) {
        let Some(lane) = self.lane(frame.lane) else { return };
        let front_moved = {
            let mut sink = self.sink();
            let before = sink.front();
            sink.landed(frame.index, landing);
            // The lane must not see what has changed before this command.
            lane.post(LaneCommand::Event(RelayEvent::Landed(frame.index, landing)));
            before != sink.front()
        };
        if front_moved {
            self.wake_others(frame.lane);
        }
    }

    /// Cuts the links downstream whose wire is dead.
    pub fn cut_silent_links(&self) {
        self.all_lanes().iter().for_each(|lane| lane.cut_silent());
    }

    /// Returns the lanes and the downstreams that are fed on the side, with their lanes' numbers.
    fn all_feeds(&self) -> Vec<(u16, Arc<LaneHandle>)> {
        (0..).zip(self.all_lanes().iter().cloned()).chain(self.side_feeds.handles()).collect()
    }

    /// Samples the kernel's counters unless that was done within the last 250 ms.
    pub fn sample(&self) {
        self.config.trace.sample(|| self.all_feeds());
    }

    /// Samples the kernel's counters at once.
    pub fn sample_now(&self) {
        self.config.trace.sample_now(&self.all_feeds());
    }

    /// Wakes all lanes except lane `number`, so that they check again whether they can continue.
    pub fn wake_others(&self, number: u16) {
        let lanes = (0..).zip(self.all_lanes());
        lanes.filter(|(other, _)| *other != number).for_each(|(_, lane)| lane.wake.raise());
    }

    /// Wakes all lanes, so that they check again whether they can continue.
    pub fn wake_all(&self) {
        self.all_lanes().iter().for_each(|lane| lane.wake.raise());
    }

    /// Allows blocks with indexes below `bound` to be sent; requests for other blocks wait.
    pub fn serve_until(&self, bound: u64) {
        self.sink().serve_until(bound);
        self.wake_all();
        self.side_feeds.wake();
    }

    /// Sets the route of a lane, cuts the links that are not part of it, and starts and ends the
    /// threads that feed its downstreams on the side.
    pub fn route(&self, route: Route) {
        if let Some(lane) = self.lane(route.lane) {
            for error in self.side_feeds.route(&route, &self.closing) {
                let reason = format!("cannot start a thread that feeds a detached node: {error}");
                self.tell(Notice::Failed(reason));
            }
            let route = route.without_side_feeds();
            lane.cut_others(&route);
            lane.post(LaneCommand::Event(RelayEvent::Route(route)));
        }
    }

    /// Takes the threads that feed downstreams on the side, to be joined after the copy is over.
    pub fn take_side_threads(&self) -> impl Iterator<Item = JoinHandle<()>> {
        self.side_feeds.take_threads()
    }

    /// Returns this node's report on the copy, for a heartbeat.
    pub fn report(&self) -> Report {
        let received = |lane: &Arc<LaneHandle>| LaneReport {
            received: lane.received.load(Ordering::Relaxed),
            hop: lane.hop(),
        };
        let lanes: Vec<_> = self.all_lanes().iter().map(received).collect();
        // A source has all blocks from the start: report the blocks that it has sent.
        let given = || lanes.iter().map(|lane| lane.received).sum();
        Report {
            held: if self.config.is_source { given() } else { self.sink().held() },
            had: self.had,
            whole: self.sink().whole(),
            lanes,
            // An ordered store is compared file by file, not by blocks.
            holder: self.config.is_source
                || self.config.store.is_holder() && !self.config.store.is_ordered(),
            depths: self.telemetry.stages.depths(),
            stalled_ns: self.pool.waited_ns(),
            blocked_ns: self.telemetry.write_waits.blocked_ns(),
            starved_ns: schedule::waited_ns(),
            memory: process::peak_memory(),
            cpu_ns: self.telemetry.cpu_ns(),
            opening_ns: self.telemetry.opening_ns.load(Ordering::Relaxed),
            removed: self.config.store.removed(),
            checksum: self.summed.get().cloned(),
            pending: self.pending(),
        }
    }

    /// Returns the call on the node's disks that has made no progress for a second or more; of
    /// several such calls, the one with the greatest [`PendingCall::weight`].
    pub fn pending(&self) -> Option<PendingCall> {
        let stored =
            self.config.store.calls().and_then(|calls| calls.pending(self.config.store.steps()));
        let given = self.telemetry.calls.pending(0);
        stored.into_iter().chain(given).max_by_key(PendingCall::weight)
    }

    /// Returns whether the node's disk hangs. If so, the copy's threads may never end.
    pub fn hangs(&self) -> bool {
        self.pending().is_some_and(|call| call.overdue_ns() >= HANGS_NS)
    }
}

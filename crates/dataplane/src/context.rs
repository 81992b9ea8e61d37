//! The state of one copy on one node, shared by its threads.

mod codec;
mod config;
mod flow;
mod lane_handle;
mod lanes;
mod memory;
mod notice;
mod progress;
mod report;
mod side_feeds;
mod telemetry;

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use garland_core::plan::Layout;
use garland_protocol::copy::{DigestWindows, Keys, Landing, LinkSide, Route, Sink};
use garland_sys::error::reason;
use garland_sys::sync::Mutex;
use garland_sys::{clock, threads};

use self::codec::Codec;
pub use self::config::CopyConfig;
pub use self::flow::{Awaited, Flow};
pub(crate) use self::lane_handle::is_at_end;
pub use self::lane_handle::{LaneCommand, LaneHandle, Link};
pub use self::lanes::Lanes;
pub use self::memory::{buffer_count, needed_memory};
pub use self::notice::Notice;
pub use self::progress::Progress;
pub use self::side_feeds::Starter;
use self::side_feeds::Unstarted;
use self::telemetry::Telemetry;
use crate::compress::{PackingPace, Zeros};
use crate::pool::Pool;

/// The time that the lanes of a complete copy get to come to rest.
const COMING_TO_REST: Duration = Duration::from_millis(100);

/// How often a complete copy that closes checks whether its lanes are at rest.
const REST_CHECK_INTERVAL: Duration = Duration::from_micros(200);

/// The state of one copy on one node.
pub struct CopyContext {
    /// The parameters of the copy.
    pub config: CopyConfig,
    /// The state of the blocks.
    pub progress: Progress,
    /// The lanes, which other threads wake, cut and close.
    pub lanes: Lanes,
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
    /// Whether the copy is over on this node.
    closing: AtomicBool,
}

impl CopyContext {
    /// Returns a copy without lanes. `sink` holds the blocks that are present at the start.
    pub fn new(config: CopyConfig, sink: Sink) -> Self {
        let layout = sink.layout();
        let buffers = buffer_count(layout, config.lane_count, config.buffers);
        Self {
            codec: Codec {
                keys: Arc::new(Keys::new(&config.secret, config.id)),
                packing: PackingPace::new(config.packing, config.lane_count),
                zeros: Zeros::default(),
            },
            progress: Progress::new(sink, config.is_source),
            lanes: Lanes::default(),
            telemetry: Telemetry::new(),
            windows: Mutex::default(),
            layout,
            pool: Pool::new(memory::buffer_size(layout), buffers),
            closing: AtomicBool::new(false),
            config,
        }
    }

    /// Returns the signed digests of the blocks of a lane.
    pub fn windows(&self, lane: u16) -> Arc<Mutex<DigestWindows>> {
        let mut windows = self.windows.lock();
        let CopyConfig { id, digest_key, .. } = &self.config;
        let new = || Arc::new(Mutex::new(DigestWindows::new(*id, lane, digest_key)));
        Arc::clone(windows.entry(lane).or_insert_with(new))
    }

    /// Sends a report to the thread that talks to the head.
    pub fn tell(&self, notice: Notice) {
        (self.config.notices)(notice);
    }

    /// Reports the arrival of the first block; later calls do nothing.
    pub fn tell_first(&self) {
        if self.progress.begin() {
            self.tell(Notice::First);
        }
    }

    /// Reports that all blocks are present on a receiver, or that the source has been read. Does so
    /// once.
    pub fn tell_if_complete(&self) {
        if let Some(root) = self.progress.complete(&self.lanes) {
            let read = self.config.is_source;
            self.tell(if read { Notice::Read(root) } else { Notice::Complete(root) });
        }
    }

    /// Reports that the store cannot write, unless the copy is over.
    pub fn fail_to_write(&self, error: &io::Error) {
        if !self.is_closing() {
            let name = self.config.store.name();
            let why = reason(error);
            self.tell(Notice::Failed(format!("cannot write {name}: {why}")));
        }
    }

    /// Returns whether the copy is over on this node.
    pub fn is_closing(&self) -> bool {
        self.closing.load(Ordering::SeqCst)
    }

    /// Ends the copy on this node. Its threads stop waiting, and later waits end at once.
    pub fn close(&self) {
        self.await_rest();
        // A lane first stores that it is at work and then checks whether the copy is over. So it
        // either sees this flag, or its links are cut below.
        self.closing.store(true, Ordering::SeqCst);
        self.config.store.stop();
        self.pool.close();
        self.lanes.close();
    }

    /// Gives the lanes of a complete copy the time to come to rest, so that their links can stay
    /// for the next copy. On a busy machine the last acknowledgement, and with it the order to
    /// close, may arrive before a lane's thread has read the lane's end.
    fn await_rest(&self) {
        let stays = self.config.link_pool.is_some() && self.progress.sink().is_complete();
        let end = clock::now_ns() + COMING_TO_REST.as_nanos() as u64;
        while stays && !self.lanes.are_at_rest() && clock::now_ns() < end {
            threads::sleep(REST_CHECK_INTERVAL);
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

    /// Records the result of writing block `index`, which this node had before the copy.
    pub fn land_own(&self, index: u64, landing: Landing) {
        self.progress.sink().landed(index, landing);
        self.lanes.wake_all();
        self.tell_if_complete();
    }

    /// Allows blocks with indexes below `bound` to be sent; requests for other blocks wait.
    pub fn serve_until(&self, bound: u64) {
        self.progress.sink().serve_until(bound);
        self.lanes.wake_all();
        self.lanes.wake_side_feeds();
    }

    /// Sets the route of a lane, cuts the links that are not part of it, and starts and ends the
    /// threads that feed its downstreams on the side. A thread that cannot be started loses its
    /// link only: the head tries again, or has another node feed the downstream.
    pub fn route(&self, route: &Route) {
        for Unstarted { epoch, error } in self.lanes.route(route, &self.closing) {
            let Some(epoch) = epoch else { continue };
            let reason = format!("cannot start a thread that feeds a detached node: {error}");
            self.tell(Notice::LinkLost(route.lane, epoch, LinkSide::Down, reason));
        }
    }
}

//! The downstreams that a node feeds on the side: a separate thread serves each of them, so that no
//! lane waits for it.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use garland_protocol::copy::{RelayEvent, Route};
use garland_sys::sync::Mutex;
use garland_sys::threads::JoinHandle;

use super::{LaneCommand, LaneHandle};

/// A function that starts a thread which feeds the only downstream of a route, separately from the
/// route's lane. Returns the thread's handle for commands, and the thread to be joined.
pub type Starter = dyn Fn(&Route) -> io::Result<(Arc<LaneHandle>, JoinHandle<()>)> + Send + Sync;

/// The downstreams of all lanes that are fed on the side, and their threads.
#[derive(Default)]
pub struct SideFeeds {
    feeds: Mutex<Vec<SideFeed>>,
    start: OnceLock<Box<Starter>>,
}

struct SideFeed {
    /// The lane's route with only this feed's downstream; without it once the feed is to end.
    route: Route,
    handle: Arc<LaneHandle>,
    thread: JoinHandle<()>,
}

impl SideFeeds {
    /// Sets the function that starts threads. Called once, before the threads of the lanes run.
    pub fn start_by(&self, start: Box<Starter>) {
        let _ = self.start.set(start);
    }

    /// Starts and ends threads so that each downstream that the lane's route marks as side-fed has
    /// a thread, and no other downstream of the lane has one. Starts none once the copy is
    /// `closing`. Returns the errors of threads that could not be started.
    pub fn route(&self, route: &Route, closing: &AtomicBool) -> Vec<io::Error> {
        let wanted: Vec<Route> = route.side_feeds().collect();
        let mut feeds = self.feeds.lock();
        for feed in feeds.iter_mut().filter(|feed| feed.route.lane == route.lane) {
            if !wanted.contains(&feed.route) && !feed.route.downstreams.is_empty() {
                feed.route.downstreams.clear();
                feed.handle.cut_others(&feed.route);
                feed.handle.post(LaneCommand::Event(RelayEvent::Route(feed.route.clone())));
            }
        }
        let mut errors = Vec::new();
        for route in wanted {
            if closing.load(Ordering::SeqCst) || feeds.iter().any(|feed| feed.route == route) {
                continue;
            }
            let Some(start) = self.start.get() else { break };
            match start(&route) {
                Ok((handle, thread)) => {
                    handle.post(LaneCommand::Event(RelayEvent::Route(route.clone())));
                    feeds.push(SideFeed { route, handle, thread });
                }
                Err(error) => errors.push(error),
            }
        }
        errors
    }

    /// Returns the number of bytes of blocks that were sent to side-fed downstreams of this lane.
    pub fn sent(&self, lane: u16) -> u64 {
        let feeds = self.feeds.lock();
        let of_lane = feeds.iter().filter(|feed| feed.route.lane == lane);
        of_lane.map(|feed| feed.handle.flow.view(lane).went).sum()
    }

    /// Returns the handles of all threads, with the numbers of their lanes.
    pub fn handles(&self) -> Vec<(u16, Arc<LaneHandle>)> {
        let feeds = self.feeds.lock();
        feeds.iter().map(|feed| (feed.route.lane, feed.handle.clone())).collect()
    }

    /// Makes the threads check again whether they can continue.
    pub fn wake(&self) {
        self.feeds.lock().iter().for_each(|feed| feed.handle.wake.raise());
    }

    /// Cuts the links of all threads that are not at rest, and wakes the threads.
    pub fn close(&self) {
        self.feeds.lock().iter().for_each(|feed| feed.handle.close());
    }

    /// Takes the threads, to be joined after the copy is over.
    pub fn take_threads(&self) -> impl Iterator<Item = JoinHandle<()>> {
        let feeds = std::mem::take(&mut *self.feeds.lock());
        feeds.into_iter().map(|feed| feed.thread)
    }
}

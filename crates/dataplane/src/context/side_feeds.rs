//! The downstreams that a node feeds on the side: a separate thread serves each of them, so that no
//! lane waits for it.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use garland_protocol::copy::{RelayEvent, Route};
use garland_sys::sync::Mutex;
use garland_sys::threads::{JoinHandle, Joined};

use super::{LaneCommand, LaneHandle};

/// A function that starts a thread which feeds the only downstream of a route, separately from the
/// route's lane. Returns the thread's handle for commands, and the thread to be joined.
pub type Starter = dyn Fn(&Route) -> io::Result<(Arc<LaneHandle>, JoinHandle<()>)> + Send + Sync;

/// The downstreams of all lanes that are fed on the side, and their threads.
#[derive(Default)]
pub struct SideFeeds {
    feeds: Mutex<Vec<SideFeed>>,
    /// For each lane, the bytes of blocks that feeds have sent which are no longer there.
    sent_before: Mutex<BTreeMap<u16, u64>>,
    start: OnceLock<Box<Starter>>,
}

/// A downstream whose thread could not be started.
pub struct Unstarted {
    /// The epoch of the link to it.
    pub epoch: Option<u32>,
    /// Why.
    pub error: io::Error,
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
    /// `closing`. Returns the downstreams whose threads could not be started.
    pub fn route(&self, route: &Route, closing: &AtomicBool) -> Vec<Unstarted> {
        let wanted: Vec<Route> = route.side_feeds().collect();
        let mut feeds = self.feeds.lock();
        self.remove_ended(&mut feeds);
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
                Err(error) => {
                    let epoch = route.epochs_down().next();
                    errors.push(Unstarted { epoch, error });
                }
            }
        }
        errors
    }

    /// Removes feeds that were to end and have ended: a copy that lasts long may have many of them,
    /// one after the other.
    fn remove_ended(&self, feeds: &mut Vec<SideFeed>) {
        let has_ended =
            |feed: &SideFeed| feed.route.downstreams.is_empty() && feed.thread.is_finished();
        while let Some(at) = feeds.iter().position(has_ended) {
            let feed = feeds.swap_remove(at);
            let lane = feed.route.lane;
            *self.sent_before.lock().entry(lane).or_default() += feed.handle.flow.view(lane).went;
            // Waits for nothing, since the thread has ended.
            drop(Joined::from(feed.thread));
        }
    }

    /// Returns the number of bytes of blocks that were sent to side-fed downstreams of this lane.
    pub fn sent(&self, lane: u16) -> u64 {
        let feeds = self.feeds.lock();
        let of_lane = feeds.iter().filter(|feed| feed.route.lane == lane);
        let present: u64 = of_lane.map(|feed| feed.handle.flow.view(lane).went).sum();
        present + self.sent_before.lock().get(&lane).copied().unwrap_or(0)
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

#[cfg(test)]
mod tests {
    use garland_core::plan::NodeId;
    use garland_protocol::copy::Downstream;
    use garland_sys::{clock, threads};

    use super::*;

    /// How long a test waits for threads to end.
    const PATIENCE_NS: u64 = 20_000_000_000;

    /// Returns the route of a lane with a downstream on the side.
    fn side_feeding(epoch: u32) -> Route {
        let down = Downstream { node: NodeId(1), epoch, address: None, side_fed: true };
        Route { downstreams: vec![down], ..Route::default() }
    }

    /// Starts a thread that ends when its route has no downstream any more.
    fn start(_route: &Route) -> io::Result<(Arc<LaneHandle>, JoinHandle<()>)> {
        let (handle, commands) = LaneHandle::new(true)?;
        let is_last = |command: LaneCommand| match command {
            LaneCommand::Event(RelayEvent::Route(route)) => route.downstreams.is_empty(),
            _ => false,
        };
        let run = move || while commands.recv().is_ok_and(|command| !is_last(command)) {};
        Ok((handle, threads::spawn("side-feed", run)?))
    }

    #[test]
    fn feeds_that_have_ended_do_not_stay_until_the_copy_ends() {
        let feeds = SideFeeds::default();
        feeds.start_by(Box::new(start));
        let closing = AtomicBool::new(false);
        for epoch in 1..=20 {
            assert!(feeds.route(&side_feeding(epoch), &closing).is_empty());
        }
        let until = clock::now_ns() + PATIENCE_NS;
        while feeds.handles().len() > 1 && clock::now_ns() < until {
            std::thread::yield_now();
            feeds.route(&side_feeding(20), &closing);
        }
        assert_eq!(feeds.handles().len(), 1);
        feeds.route(&Route::default(), &closing);
        feeds.take_threads().for_each(|thread| drop(thread.join()));
    }

    #[test]
    fn a_thread_that_cannot_be_started_names_its_link() {
        let feeds = SideFeeds::default();
        feeds.start_by(Box::new(|_| Err(io::Error::other("no threads left"))));
        let unstarted = feeds.route(&side_feeding(7), &AtomicBool::new(false));
        assert_eq!(unstarted.iter().map(|it| it.epoch).collect::<Vec<_>>(), [Some(7)]);
    }
}

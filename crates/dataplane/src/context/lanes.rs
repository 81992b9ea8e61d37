//! The lanes of a copy on one node, as its other threads see them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use garland_protocol::copy::{LaneReport, RelayEvent, Route};
use garland_protocol::measure::LaneView;
use garland_sys::clock;
use garland_sys::threads::JoinHandle;

use super::side_feeds::{SideFeeds, Starter, Unstarted};
use super::{LaneCommand, LaneHandle};

/// The handles of a copy's lanes, and the downstreams that are fed on their sides.
#[derive(Default)]
pub struct Lanes {
    /// All lanes of the copy, by their numbers; set once, when the threads start.
    handles: OnceLock<Vec<Arc<LaneHandle>>>,
    /// The threads that feed downstreams on the side, separately from the lanes.
    side_feeds: SideFeeds,
}

impl Lanes {
    /// Sets the handles of all lanes, and the function that starts side-feeds. Called once, before
    /// the threads of the lanes run.
    pub(crate) fn start(&self, handles: Vec<Arc<LaneHandle>>, side_feed: Box<Starter>) {
        let _ = self.handles.set(handles);
        self.side_feeds.start_by(side_feed);
    }

    /// Returns all lanes of the copy, by their numbers; none before the threads have started.
    pub fn all(&self) -> &[Arc<LaneHandle>] {
        self.handles.get().map_or(&[], Vec::as_slice)
    }

    /// Returns the lane with this number; none before the threads have started, or if the copy has
    /// no such lane.
    pub fn get(&self, number: u16) -> Option<&Arc<LaneHandle>> {
        self.all().get(usize::from(number))
    }

    /// Returns the lanes and the downstreams that are fed on the side, with their lanes' numbers.
    pub(super) fn feeds(&self) -> Vec<(u16, Arc<LaneHandle>)> {
        (0..).zip(self.all().iter().cloned()).chain(self.side_feeds.handles()).collect()
    }

    /// Returns whether the upstreams of all lanes have reported their ends.
    pub(super) fn have_ended(&self) -> bool {
        self.all().iter().all(|lane| lane.ended.load(Ordering::Relaxed))
    }

    /// Returns whether no lane has to send or receive anything more.
    pub(super) fn are_at_rest(&self) -> bool {
        self.all().iter().all(|lane| lane.is_at_rest())
    }

    /// Returns the number of blocks received over all lanes; on the source, of those sent.
    pub(super) fn received(&self) -> u64 {
        self.all().iter().map(|lane| lane.received.load(Ordering::Relaxed)).sum()
    }

    /// Returns the report of each lane.
    pub(super) fn reports(&self) -> Vec<LaneReport> {
        let at_ns = clock::now_ns();
        self.all().iter().map(|lane| lane.report(at_ns)).collect()
    }

    /// Returns a snapshot of each lane that this node is on.
    pub(super) fn views(&self) -> Vec<LaneView> {
        let used = (0..).zip(self.all()).filter(|(_, lane)| lane.is_used);
        used.map(|(number, lane)| {
            let view = lane.flow.view(number);
            LaneView { went: view.went + self.side_feeds.sent(number), ..view }
        })
        .collect()
    }

    /// Cuts the links downstream whose wire is dead.
    pub fn cut_silent(&self) {
        self.all().iter().for_each(|lane| lane.cut_silent());
    }

    /// Wakes all lanes except lane `number`, so that they check again whether they can continue.
    pub fn wake_others(&self, number: u16) {
        let lanes = (0..).zip(self.all());
        lanes.filter(|(other, _)| *other != number).for_each(|(_, lane)| lane.wake.raise());
    }

    /// Wakes all lanes, so that they check again whether they can continue.
    pub fn wake_all(&self) {
        self.all().iter().for_each(|lane| lane.wake.raise());
    }

    /// Wakes the threads that feed downstreams on the side.
    pub(crate) fn wake_side_feeds(&self) {
        self.side_feeds.wake();
    }

    /// Sets the route of a lane, cuts the links that are not part of it, and starts and ends the
    /// threads that feed its downstreams on the side. Starts none once the copy is `closing`.
    /// Returns the downstreams whose threads could not be started.
    pub(super) fn route(&self, route: &Route, closing: &AtomicBool) -> Vec<Unstarted> {
        let Some(lane) = self.get(route.lane) else { return Vec::new() };
        let errors = self.side_feeds.route(route, closing);
        let route = route.clone().without_side_feeds();
        lane.cut_others(&route);
        lane.post(LaneCommand::Event(RelayEvent::Route(route)));
        errors
    }

    /// Cuts the links of all threads that are not at rest, and wakes the threads.
    pub(super) fn close(&self) {
        self.all().iter().for_each(|lane| lane.close());
        self.side_feeds.close();
    }

    /// Takes the threads that feed downstreams on the side, to be joined after the copy is over.
    pub fn take_side_threads(&self) -> impl Iterator<Item = JoinHandle<()>> {
        self.side_feeds.take_threads()
    }
}

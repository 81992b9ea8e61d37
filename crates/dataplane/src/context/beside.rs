//! What a node feeds beside its lanes: a thread for each downstream that a lane isn't to wait for.

use std::io;
use std::sync::{Arc, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use garland_protocol::{RelayEvent, Route};

use super::{CopyContext, LaneCommand, LaneHandle, Notice};

/// Starts a thread that feeds beside the lane of a route, and gives its outside.
pub type Starter = dyn Fn(&Route) -> io::Result<(Arc<LaneHandle>, JoinHandle<()>)> + Send + Sync;

/// A downstream that is fed beside a lane.
pub struct Beside {
    /// Its part of the route; without it when it is over.
    route: Route,
    handle: Arc<LaneHandle>,
    thread: JoinHandle<()>,
}

impl CopyContext {
    /// Sets how threads are started that feed beside a lane.
    pub fn feed_beside_by(&self, start: Box<Starter>) {
        // Set before any lane's thread runs, and only there.
        let _ = self.start_beside.set(start);
    }

    /// Feeds whom a lane's route names as loose, and nobody else beside that lane.
    pub(super) fn route_beside(&self, route: &Route) {
        let wanted: Vec<Route> = route.loose().collect();
        let mut beside = self.beside();
        for other in beside.iter_mut().filter(|other| other.route.lane == route.lane) {
            if !wanted.contains(&other.route) && !other.route.downstreams.is_empty() {
                other.route.downstreams.clear();
                other.handle.cut_others(&other.route);
                other.handle.post(LaneCommand::Event(RelayEvent::Route(other.route.clone())));
            }
        }
        for route in wanted {
            if self.is_closing() || beside.iter().any(|other| other.route == route) {
                continue;
            }
            let Some(start) = self.start_beside.get() else { return };
            match start(&route) {
                Ok((handle, thread)) => {
                    handle.post(LaneCommand::Event(RelayEvent::Route(route.clone())));
                    beside.push(Beside { route, handle, thread });
                }
                Err(error) => {
                    let reason = format!("feeding a node beside a lane: {error}");
                    self.tell(Notice::Failed(reason));
                }
            }
        }
    }

    /// Bytes of blocks that have gone to those beside this lane.
    pub(super) fn went_beside(&self, lane: u16) -> u64 {
        let beside = self.beside();
        let of_lane = beside.iter().filter(|other| other.route.lane == lane);
        of_lane.map(|other| other.handle.flow.view(lane).went).sum()
    }

    /// Lets them look again whether they may go on: a block has been written.
    pub fn wake_beside(&self) {
        self.beside().iter().for_each(|beside| beside.handle.wake.raise());
    }

    pub(super) fn close_beside(&self) {
        for beside in self.beside().iter() {
            if !beside.handle.at_rest.load(std::sync::atomic::Ordering::SeqCst) {
                beside.handle.cut_all();
            }
            beside.handle.wake.raise();
        }
    }

    /// Those threads, after the copy is over here.
    pub fn take_beside(&self) -> impl Iterator<Item = JoinHandle<()>> {
        let beside = std::mem::take(&mut *self.beside());
        beside.into_iter().map(|beside| beside.thread)
    }

    fn beside(&self) -> MutexGuard<'_, Vec<Beside>> {
        self.beside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

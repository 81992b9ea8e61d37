//! Disk tests. They measure the file system to which copies are written, with a file that has no
//! name and is removed when the test ends.

mod drive;
mod jobs;
pub mod place;
mod walk;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use garland_protocol::FromAgent;
use garland_protocol::measure::{DiskEvent, DiskOrder};

use crate::controller::Controller;

/// A running test. Dropping this value stops the test without waiting for it, since a disk that
/// hangs must not keep the agent from serving its next head.
pub struct Testing(Arc<AtomicBool>);

impl Drop for Testing {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Starts the test that `order` requests, and reports to the head.
pub fn start(controller: &Controller, order: DiskOrder) -> Testing {
    let testing = Testing(Arc::default());
    let stop = Arc::clone(&testing.0);
    let work = move |Controller { agent, session }: &Controller| {
        let tell = |event| session.send(&FromAgent::Disk(event));
        let result = match agent.disk_gate.try_lock() {
            Some(_permit) => jobs::run(&agent.root, &order, &stop, &tell),
            None => {
                Err("another disk test is running on this node; try again when it has ended".into())
            }
        };
        tell(
            result.map_or_else(|error| DiskEvent::Failed(error.to_string()), |()| DiskEvent::Done),
        );
    };
    controller.spawn("disk", work, |reason| FromAgent::Disk(DiskEvent::Failed(reason)));
    testing
}

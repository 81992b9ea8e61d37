//! Disk tests. They measure the file system to which copies are written, with a file that has no
//! name and is removed with the test.

mod drive;
mod gate;
mod jobs;
pub mod place;
mod walk;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use garland_protocol::{DiskEvent, DiskOrder, FromAgent};
use garland_sys::threads;

pub use self::gate::Gate;
use crate::agent::Agent;
use crate::session::Session;
use garland_sys::error::reason;

/// A running test. Dropping it stops the test without waiting for it, since a disk that hangs must
/// not keep the agent from serving its next head.
pub struct Testing(Arc<AtomicBool>);

impl Drop for Testing {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Starts the test that `order` requests, and reports to `session`.
pub fn start(agent: &Arc<Agent>, session: &Arc<Session>, order: DiskOrder) -> Testing {
    let stop = Arc::new(AtomicBool::new(false));
    let testing = Testing(Arc::clone(&stop));
    let (agent, its) = (Arc::clone(agent), Arc::clone(session));
    let begun = threads::spawn("disk", move || {
        let tell = |event| its.send(&FromAgent::Disk(event));
        let result = match agent.disk_gate().enter() {
            Some(_turn) => jobs::run(agent.root(), &order, &stop, &tell),
            None => {
                Err("another disk test is running on this node; try again when it has ended"
                    .to_owned())
            }
        };
        tell(match result {
            Ok(()) => DiskEvent::Done,
            Err(reason) => DiskEvent::Failed(reason),
        });
    });
    if let Err(error) = begun {
        session.send(&FromAgent::Disk(DiskEvent::Failed(reason(&error))));
    }
    testing
}

//! Tests of a node's disk: what the folder that copies go to can do, measured in a file of the
//! test's own that has no name, and is gone with the test however that ends.

mod drive;
mod jobs;
pub mod place;
mod walk;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use garland_protocol::{DiskEvent, DiskOrder, FromAgent};
use garland_sys::threads;

use crate::agent::Agent;
use crate::session::Session;
use garland_sys::error::reason;

/// Lets one test in at a time: two would measure each other.
#[derive(Default)]
pub struct Gate(Arc<AtomicBool>);

/// A place behind the gate.
struct TestPermit(Arc<AtomicBool>);

impl Gate {
    fn enter(&self) -> Option<TestPermit> {
        let taken = self.0.swap(true, Ordering::AcqRel);
        (!taken).then(|| TestPermit(Arc::clone(&self.0)))
    }
}

impl Drop for TestPermit {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// A test that was started. Dropping it stops it, but doesn't wait: a disk that hangs must not keep
/// the agent from its next head.
pub struct Testing(Arc<AtomicBool>);

impl Drop for Testing {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Starts what `order` asks for and tells `session` how it goes.
pub fn start(agent: &Arc<Agent>, session: &Arc<Session>, order: DiskOrder) -> Testing {
    let stop = Arc::new(AtomicBool::new(false));
    let testing = Testing(Arc::clone(&stop));
    let (agent, its) = (Arc::clone(agent), Arc::clone(session));
    let begun = threads::spawn("disk", move || {
        let session = its;
        let tell = |event| session.send(&FromAgent::Disk(event));
        let result = match agent.disk_gate().enter() {
            Some(_turn) => jobs::run(agent.root(), &order, &stop, &tell),
            None => {
                Err("another disk test runs on this node: try again when it is over".to_owned())
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

//! Reports the activity of a node on request: the counters of its kernel, and the copies and jobs
//! of all agents of one user. `garland top` starts an agent of its own, which finds the others by
//! their abstract sockets.

mod activity;
mod kernel;
mod siblings;

use std::sync::Arc;

use garland_protocol::FromAgent;
use garland_protocol::measure::NodeView;
use garland_sys::error::reason;
use garland_sys::{clock, threads};

use crate::log::log;
use crate::session::Session;
pub use crate::view::activity::Activity;

/// Collects the node's activity in a separate thread, and sends it to the head.
pub fn start(activity: &Arc<Activity>, session: &Arc<Session>) {
    let activity = Arc::clone(activity);
    let session = Arc::clone(session);
    let begun = threads::spawn("view", move || {
        let at_ns = clock::now_ns();
        let kernel = kernel::counts();
        let mut account = activity.account();
        let silent = siblings::add_all(activity.prefix(), activity.socket(), &mut account);
        let mut view = NodeView { at_ns, kernel, account, silent };
        view.bound();
        session.send(&FromAgent::Viewed(Box::new(view)));
    });
    if let Err(error) = begun {
        log(&format!("cannot report this node's activity: {}", reason(&error)));
    }
}

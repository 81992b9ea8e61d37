//! What a node is doing just now, told to whoever asks: its kernel's counts, and what the agents of one
//! user are at there. A copy's agents are others than those of whoever looks, so they find each other
//! by abstract sockets. Nobody looks, nothing is done.

mod activity;
mod kernel;
mod siblings;

use std::sync::Arc;

use garland_protocol::{FromAgent, NodeView};
use garland_sys::{clock, threads};

use crate::session::Session;
pub use crate::view::activity::Activity;
use garland_dataplane::log::log;
use garland_sys::error::reason;

/// Looks, from a thread of its own, and tells the head.
pub fn start(doings: &Arc<Activity>, session: &Arc<Session>) {
    let (doings, session) = (Arc::clone(doings), Arc::clone(session));
    let begun = threads::spawn("view", move || {
        let (at_ns, kernel) = (clock::now_ns(), kernel::counts());
        let mut account = doings.account();
        let silent = siblings::add_all(&doings, &mut account);
        let mut view = NodeView { at_ns, kernel, account, silent };
        view.bound();
        session.send(&FromAgent::Viewed(Box::new(view)));
    });
    if let Err(error) = begun {
        log(&format!("a look at this node wasn't answered: {}", reason(&error)));
    }
}

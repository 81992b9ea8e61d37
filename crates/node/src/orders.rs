//! A controller's orders, read by a thread that obeys none of them: whoever asks for the time, or what
//! the node is doing, gets it at once, whatever the agent is busy with.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

use garland_core::proto::{FromAgent, ToAgent};
use garland_sys::{clock, threads};

use crate::agent::Agent;
use crate::session::Session;
use crate::view;

/// Orders that wait to be obeyed; further ones wait in the connection.
const WAITING: usize = 64;

/// Reads the session's orders until the controller is gone; they end then.
///
/// # Errors
/// When the system makes no thread for it.
pub fn read(agent: &Agent, session: &Arc<Session>) -> io::Result<Receiver<ToAgent>> {
    let (pass_on, orders) = sync_channel(WAITING);
    let (doings, session) = (Arc::clone(agent.doings()), Arc::clone(session));
    threads::spawn("orders", move || {
        while let Ok(order) = session.receive() {
            let received_ns = clock::now_ns();
            if let ToAgent::Clock(asked_ns) = order {
                session.send(&FromAgent::Clock(asked_ns, received_ns, clock::now_ns()));
            } else if let ToAgent::View = order {
                view::start(&doings, &session);
            } else if pass_on.send(order).is_err() {
                return;
            }
        }
    })?;
    Ok(orders)
}

//! A controller's orders, read by a thread that obeys none of them: whoever asks for the time, or what
//! the node is doing, gets it at once, whatever the agent is busy with.

use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use garland_protocol::{FromAgent, ToAgent};
use garland_sys::{clock, threads};

use crate::agent::{Agent, Begun};
use crate::session::Session;
use crate::view;

/// Orders that wait to be obeyed; further ones wait in the connection.
const WAITING: usize = 64;

/// What who obeys orders is given.
pub enum Event {
    /// An order.
    Order(ToAgent),
    /// A copy has begun, or couldn't.
    Begun(Box<Begun>),
    /// The controller is gone.
    Gone,
}

/// How those who obey orders are told more, and what they are given.
pub type Orders = (SyncSender<Event>, Receiver<Event>);

/// Reads the session's orders until the controller is gone; others may give, too.
///
/// # Errors
/// When the system makes no thread for it.
pub fn read(agent: &Agent, session: &Arc<Session>) -> io::Result<Orders> {
    let (pass_on, orders) = sync_channel(WAITING);
    let (doings, session) = (Arc::clone(agent.doings()), Arc::clone(session));
    let tell = pass_on.clone();
    threads::spawn("orders", move || {
        while let Ok(order) = session.receive() {
            let received_ns = clock::now_ns();
            if let ToAgent::Clock(asked_ns) = order {
                session.send(&FromAgent::Clock(asked_ns, received_ns, clock::now_ns()));
            } else if let ToAgent::View = order {
                view::start(&doings, &session);
            } else if pass_on.send(Event::Order(order)).is_err() {
                return;
            }
        }
        // Who obeys may have ended before.
        let _ = pass_on.send(Event::Gone);
    })?;
    Ok((tell, orders))
}

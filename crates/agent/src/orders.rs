//! Reads a controller's orders in a separate thread, which itself answers requests for the time and
//! for the node's activity, so that a busy agent does not delay these answers.

use std::io;

use garland_protocol::copy::CopyId;
use garland_protocol::{Admitted, FromAgent, ToAgent};
use garland_sys::channel::{Receiver, SyncSender, sync_channel};
use garland_sys::{clock, threads};

use crate::controller::Controller;
use crate::copy_task::CopyTask;
use crate::error::OrderError;
use crate::view;

/// Capacity of the queue of orders; further ones wait in the connection.
const WAITING: usize = 64;

/// A copy that has begun or cannot begin.
pub struct Begun {
    /// The identity of the copy.
    pub copy: CopyId,
    /// This node's part of the copy, or why it cannot begin.
    pub result: Result<CopyTask, OrderError>,
}

/// An event for the thread that executes orders.
pub enum Event {
    /// An order.
    Order(Admitted),
    /// A copy has begun or cannot begin.
    Begun(Box<Begun>),
    /// The controller is gone.
    Gone,
}

/// The two ends of the queue of events.
pub type Orders = (SyncSender<Event>, Receiver<Event>);

/// Starts the thread that queues the session's orders until the controller is gone.
///
/// # Errors
/// When no thread can be started.
pub fn read(controller: &Controller) -> io::Result<Orders> {
    let (pass_on, orders) = sync_channel(WAITING);
    let Controller { agent, session } = controller.clone();
    let tell = pass_on.clone();
    threads::spawn("orders", move || {
        while let Ok(order) = session.receive() {
            let received_ns = clock::now_ns();
            if let ToAgent::Clock(asked_ns) = *order.order() {
                session.reply(&FromAgent::Clock(asked_ns, received_ns, clock::now_ns()));
            } else if let ToAgent::View = order.order() {
                view::start(&agent.activity, &session);
            } else if pass_on.send(Event::Order(order)).is_err() {
                return;
            }
        }
        // At once: the thread that executes orders may wait for the connection.
        session.end();
        // Fails if the receiving thread has ended.
        let _ = pass_on.send(Event::Gone);
    })?;
    Ok((tell, orders))
}

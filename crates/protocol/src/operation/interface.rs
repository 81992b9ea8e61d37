//! The interface between operations and the loop that drives them.
//!
//! An [`Operation`] is a value without sockets and clocks: it gets events and times, and returns
//! orders. Only the loop waits, and reads interrupts.

use std::collections::BTreeSet;

use crate::message::{FromAgent, ToAgent};

/// An event of the control channel to an agent.
#[derive(Debug)]
pub enum AgentEvent {
    /// The agent sent a message.
    Message(FromAgent),
    /// The channel was closed, or the agent is silent, for this reason.
    Lost(String),
}

/// An operation on agents. Nodes are identified by their index in the session; times are monotonic
/// nanoseconds.
pub trait Operation {
    /// Sends the first orders.
    fn begin(&mut self, _now_ns: u64, _orders: &mut Orders) {}

    /// Handles an event of a node. `Lost` comes at most once per node: when its agent exits or is
    /// silent, or before the beginning if there is no channel to it.
    fn handle(&mut self, now_ns: u64, node: usize, event: AgentEvent, orders: &mut Orders);

    /// Does what is due at this time. Called after all events, after the caller has observed the
    /// operation, and at least every 100 ms; called again as long as it sends orders.
    fn tick(&mut self, _now_ns: u64, _orders: &mut Orders) {}

    /// Returns the time by which `tick` must be called; `None` if the usual interval is enough.
    fn due_ns(&self) -> Option<u64> {
        None
    }

    /// Ends the operation early, because the user has interrupted. Called once, possibly instead of
    /// `begin`. Returns whether the operation is over at once.
    fn interrupt(&mut self, _now_ns: u64, _orders: &mut Orders) -> bool {
        true
    }

    /// Returns whether the operation is over.
    fn is_over(&self) -> bool;
}

/// The orders that an operation sends.
#[derive(Debug, Default)]
pub struct Orders {
    queued: Vec<(usize, ToAgent)>,
    /// Nodes with queued or unsent messages, by index.
    full: BTreeSet<usize>,
}

impl Orders {
    /// Sends a message to a node's agent. Nothing is sent to a node without a channel.
    pub fn send(&mut self, node: usize, message: ToAgent) {
        self.queued.push((node, message));
        self.full.insert(node);
    }

    /// Returns whether all messages to a node's agent have been sent.
    #[must_use]
    pub fn has_room(&self, node: usize) -> bool {
        !self.full.contains(&node)
    }

    /// Removes and returns all queued messages.
    pub fn take(&mut self) -> Vec<(usize, ToAgent)> {
        std::mem::take(&mut self.queued)
    }

    /// Sets the nodes to which messages are unsent, once the queued ones were taken.
    pub fn set_full(&mut self, nodes: impl IntoIterator<Item = usize>) {
        self.full = nodes.into_iter().collect();
    }
}

//! The control channels of all agents of an operation, waited for in one poll(2).

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use garland_core::plan::NodeId;
use garland_protocol::ToAgent;
use garland_protocol::operation::AgentEvent;
use garland_sys::event::{self, Interest};

use garland_transport::connection::Connection;

/// The channels of all nodes, by index in the plan; the slot of the head is empty.
pub struct AgentSet {
    connections: Vec<Option<Connection>>,
    /// Channels that broke during a send, each with the error; the next `wait` reports them.
    lost: Vec<(NodeId, String)>,
}

impl AgentSet {
    /// Creates the set from the channels of the receivers, in the order of the plan.
    pub fn new(receivers: impl Iterator<Item = Option<Connection>>) -> Self {
        let connections = std::iter::once(None).chain(receivers).collect();
        Self { connections, lost: Vec::new() }
    }

    /// Returns the ids of the receivers.
    pub fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        let count = u32::try_from(self.connections.len()).expect("a plan has fewer nodes");
        (1..count).map(NodeId)
    }

    /// Returns whether the channel to a node is open.
    pub fn has(&self, id: NodeId) -> bool {
        self.connections[id.index()].is_some()
    }

    /// Adds a slot for a node without a channel.
    pub fn grow(&mut self) {
        self.connections.push(None);
    }

    /// Sets the channel of a node that had none.
    pub fn set_connection(&mut self, id: NodeId, connection: Connection) {
        self.connections[id.index()] = Some(connection);
    }

    /// Sends a message; a channel that breaks is reported by the next `wait`.
    pub fn send(&mut self, id: NodeId, message: &ToAgent) {
        let Some(connection) = &mut self.connections[id.index()] else { return };
        if let Err(error) = connection.send(message) {
            self.lose(id, error.to_string());
        }
    }

    /// Waits until events arrive, one of `others` is readable, or the timeout has passed.
    ///
    /// # Errors
    /// When the system call fails.
    pub fn wait(
        &mut self,
        others: &[BorrowedFd<'_>],
        timeout: Duration,
    ) -> io::Result<Vec<(NodeId, AgentEvent)>> {
        let timeout = if self.lost.is_empty() { timeout } else { Duration::ZERO };
        let open: Vec<NodeId> = self.ids().filter(|&id| self.has(id)).collect();
        let connections = open.iter().filter_map(|id| self.connections[id.index()].as_ref());
        let channels = connections
            .map(|connection| Interest { fd: connection.as_fd(), write: connection.has_unsent() });
        let others = others.iter().map(|&fd| Interest { fd, write: false });
        let count = others.len();
        let interests: Vec<Interest<'_>> = others.chain(channels).collect();
        let ready = event::wait(&interests, Some(timeout))?;
        let mut events = Vec::new();
        for (id, ready) in open.into_iter().zip(&ready[count..]) {
            if ready.write {
                self.flush(id);
            }
            if ready.read {
                self.receive(id, &mut events);
            }
        }
        let lost = self.lost.drain(..).map(|(id, reason)| (id, AgentEvent::Lost(reason)));
        events.extend(lost);
        Ok(events)
    }

    /// Returns the channel to a node, if there is one.
    pub fn connection(&self, id: NodeId) -> Option<&Connection> {
        self.connections[id.index()].as_ref()
    }

    /// Returns the channels of the receivers, for use in another set.
    pub fn into_connections(self) -> impl Iterator<Item = Option<Connection>> {
        self.connections.into_iter().skip(1)
    }

    fn receive(&mut self, id: NodeId, events: &mut Vec<(NodeId, AgentEvent)>) {
        let Some(connection) = &mut self.connections[id.index()] else { return };
        match connection.receive() {
            Ok(messages) => {
                events
                    .extend(messages.into_iter().map(|message| (id, AgentEvent::Message(message))));
            }
            Err(error) => self.lose(id, error.to_string()),
        }
    }

    fn flush(&mut self, id: NodeId) {
        let Some(connection) = &mut self.connections[id.index()] else { return };
        if let Err(error) = connection.flush() {
            self.lose(id, error.to_string());
        }
    }

    fn lose(&mut self, id: NodeId, reason: String) {
        self.connections[id.index()] = None;
        self.lost.push((id, reason));
    }
}

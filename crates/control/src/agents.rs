//! The agents of an operation, by index in its list of nodes.

use std::io;
use std::ops::Range;
use std::os::fd::BorrowedFd;
use std::time::Duration;

use garland_core::plan::NodeId;
use garland_protocol::ToAgent;
use garland_protocol::copy::NodeAddress;
use garland_protocol::operation::{AgentEvent, SILENCE_BY_LOGIN_NS, Silence};
use garland_protocol::wire::SessionOrder;
use garland_sys::clock;
use garland_transport::connection::Connection;

use crate::agent_set::AgentSet;
use crate::copy::Agent;

/// The longest interval between two checks for silent agents.
pub const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// How much of what an agent was sent it need not have acknowledged, in bytes of memory, before it
/// gets the next piece of something long. This machine keeps it until then.
const UNACKNOWLEDGED_MAX: usize = 512 << 10;

/// The agents of an operation: their channels and addresses, and which of them are silent.
pub struct Agents {
    set: AgentSet,
    addresses: Vec<NodeAddress>,
    silence: Silence,
    /// The indexes of the nodes that are reached by logins.
    by_login: Vec<usize>,
}

impl Agents {
    /// Creates the set from the agents of all nodes; `None` for a node whose agent cannot be
    /// reached.
    pub fn new(agents: Vec<Option<Agent>>) -> Self {
        let is_by_login =
            |agent: &Option<Agent>| agent.as_ref().is_some_and(Agent::is_behind_login);
        let by_login = agents.iter().enumerate().filter(|(_, agent)| is_by_login(agent));
        let by_login = by_login.map(|(node, _)| node).collect();
        let agents = agents.into_iter().map(|agent| match agent {
            Some(Agent { connection, addresses }) => (Some(connection), addresses),
            None => (None, Vec::new()),
        });
        let (connections, addresses): (Vec<_>, Vec<_>) = agents.unzip();
        let silence = Silence::new(addresses.len(), clock::now_ns());
        Self { set: AgentSet::new(connections.into_iter()), addresses, silence, by_login }
    }

    /// Lets sessions by logins outlast a login that breaks and is made again, which may take longer
    /// than agents wait and are waited for otherwise. They also outlast a killed head for so long.
    pub fn await_logins(&mut self) {
        let ms = SILENCE_BY_LOGIN_NS / 1_000_000;
        let order = SessionOrder::Await(u32::try_from(ms).unwrap_or(u32::MAX));
        for node in std::mem::take(&mut self.by_login) {
            self.set.set_patience(Duration::from_nanos(SILENCE_BY_LOGIN_NS));
            self.silence.await_login(node);
            self.set.send(id_of(node), &ToAgent::Session(order));
        }
    }

    /// Creates the set from the agent or error of each node. Also returns, for each node, its
    /// error, or `None` if there is an agent.
    pub fn split(agents: Vec<Result<Agent, String>>) -> (Self, Vec<Option<String>>) {
        let reasons = agents.iter().map(|agent| agent.as_ref().err().cloned()).collect();
        (Self::new(agents.into_iter().map(Result::ok).collect()), reasons)
    }

    /// Returns the indexes of all nodes.
    pub fn nodes(&self) -> Range<usize> {
        0..self.addresses.len()
    }

    /// Returns the addresses of all nodes.
    pub fn addresses(&self) -> &[NodeAddress] {
        &self.addresses
    }

    /// Returns whether the channel of a node's agent has unsent messages, or is broken, or its
    /// agent has not acknowledged much of what it was sent.
    pub fn is_full(&self, node: usize) -> bool {
        let is_full = |it: &Connection| {
            it.has_unsent() || it.is_broken() || it.unacknowledged() > UNACKNOWLEDGED_MAX
        };
        self.set.connection(id_of(node)).is_some_and(is_full)
    }

    /// Returns whether a node's agent has been silent for too long.
    pub fn is_silent(&self, node: usize) -> bool {
        self.silence.is_long(node)
    }

    /// Returns the agents that are considered dead because they are silent, each with this reason.
    pub fn silent(&self) -> impl Iterator<Item = (usize, String)> {
        self.silence.lost()
    }

    /// Restarts the measurement of every agent's silence.
    pub fn restart_silence(&mut self) {
        self.silence.restart(clock::now_ns());
    }

    /// Sends a message to a node's agent; a channel that breaks is reported by the next `wait`.
    pub fn send(&mut self, node: usize, message: &ToAgent) {
        self.set.send(id_of(node), message);
    }

    /// Waits until events arrive, one of `others` is readable, or the timeout has passed.
    ///
    /// # Errors
    /// When the system call fails.
    pub fn wait<'a>(
        &mut self,
        others: impl IntoIterator<Item = BorrowedFd<'a>>,
        timeout: Duration,
    ) -> io::Result<Vec<(usize, AgentEvent)>> {
        let others: Vec<_> = others.into_iter().collect();
        let events = self.set.wait(&others, timeout)?.into_iter();
        let events: Vec<_> = events.map(|(id, event)| (id.index() - 1, event)).collect();
        self.silence.turn(clock::now_ns(), events.iter().map(|(node, _)| *node));
        Ok(events)
    }

    /// Returns the agents of all nodes, for another operation; `None` for a node whose channel is
    /// closed.
    pub fn into_agents(self) -> impl Iterator<Item = Option<Agent>> {
        let agents = self.set.into_connections().zip(self.addresses);
        agents.map(|(connection, addresses)| Some(Agent { connection: connection?, addresses }))
    }
}

/// Returns the message for an agent whose channel is closed.
pub fn gone() -> String {
    "its agent exited or was killed".to_owned()
}

/// Returns the id of a node in the [`AgentSet`], where id 0 is the head.
fn id_of(node: usize) -> NodeId {
    NodeId(u32::try_from(node + 1).expect("a list has fewer nodes"))
}

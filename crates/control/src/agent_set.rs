//! The control channels of all agents of an operation, waited for in one poll(2). A channel that
//! breaks or is silent is dialled again; its agent is lost only if that is in vain.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use garland_core::plan::NodeId;
use garland_protocol::ToAgent;
use garland_protocol::operation::AgentEvent;
use garland_sys::clock;
use garland_sys::event::{self, Interest, Wake};

use garland_transport::connection::Connection;
use garland_transport::{ConnectionError, Redial, Unrenewed, limits};

/// How long a channel that broke is dialled again, unless a copy's policy says otherwise.
const PATIENCE: Duration = Duration::from_secs(5);

/// The maximum number of channels that are dialled again at the same time.
const REDIALS: usize = 64;

/// How long a channel may be silent before it is dialled again, in nanoseconds.
const SILENCE_NS: u64 = limits::SILENCE.as_nanos() as u64;

/// The interval in nanoseconds at which silent channels are looked for.
const LOOK_NS: u64 = 100_000_000;

/// The channels of all nodes, by index in the plan; the slot of the head is empty.
pub struct AgentSet {
    connections: Vec<Option<Connection>>,
    /// Channels that broke during a send, each with the error; the next `wait` reports them.
    lost: Vec<(NodeId, String)>,
    /// The errors of channels that broke and may continue.
    broken: BTreeMap<NodeId, String>,
    /// The channels that are dialled again.
    redials: BTreeMap<NodeId, Redial>,
    /// How long a channel that broke is dialled again.
    patience: Duration,
    /// Raised when a channel was dialled again; made with the first of them.
    wake: Option<Arc<Wake>>,
    /// The time at which silent channels were last looked for, in monotonic nanoseconds.
    looked_ns: u64,
}

impl AgentSet {
    /// Creates the set from the channels of the receivers, in the order of the plan.
    pub fn new(receivers: impl Iterator<Item = Option<Connection>>) -> Self {
        let connections = std::iter::once(None).chain(receivers).collect();
        Self {
            connections,
            lost: Vec::new(),
            broken: BTreeMap::new(),
            redials: BTreeMap::new(),
            patience: PATIENCE,
            wake: None,
            looked_ns: 0,
        }
    }

    /// Dials channels that break again for `patience`.
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
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

    /// Sends a message. A message over a broken channel arrives once the channel continues; an agent
    /// that is lost is reported by a later `wait`.
    pub fn send(&mut self, id: NodeId, message: &ToAgent) {
        let Some(connection) = &mut self.connections[id.index()] else { return };
        if let Err(error) = connection.send(message) {
            self.fail(id, &error);
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
        let is_open = |id: &NodeId| self.connection(*id).is_some_and(|it| !it.is_broken());
        let open: Vec<NodeId> = self.ids().filter(is_open).collect();
        let connections = open.iter().filter_map(|id| self.connections[id.index()].as_ref());
        let channels = connections
            .map(|connection| Interest { fd: connection.as_fd(), write: connection.has_unsent() });
        let wake = self.wake.as_deref().map(AsFd::as_fd);
        let others = others.iter().copied().chain(wake);
        let others: Vec<_> = others.map(|fd| Interest { fd, write: false }).collect();
        let count = others.len();
        let interests: Vec<Interest<'_>> = others.into_iter().chain(channels).collect();
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
        self.finish_redials();
        self.redial_silent();
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
        let usable = |it: &Connection| !it.is_broken();
        self.connections.into_iter().skip(1).map(move |it| it.filter(usable))
    }

    fn receive(&mut self, id: NodeId, events: &mut Vec<(NodeId, AgentEvent)>) {
        let Some(connection) = &mut self.connections[id.index()] else { return };
        match connection.receive() {
            Ok(messages) => {
                events
                    .extend(messages.into_iter().map(|message| (id, AgentEvent::Message(message))));
            }
            Err(error) => self.fail(id, &error),
        }
    }

    fn flush(&mut self, id: NodeId) {
        let Some(connection) = &mut self.connections[id.index()] else { return };
        if let Err(error) = connection.flush() {
            self.fail(id, &error);
        }
    }

    /// Dials a channel again that broke. An agent that breaks the protocol is lost.
    fn fail(&mut self, id: NodeId, error: &ConnectionError) {
        let is_broken = matches!(
            error,
            ConnectionError::Gone | ConnectionError::Io(_) | ConnectionError::Changed
        );
        if !is_broken {
            return self.lose(id, error.to_string());
        }
        let is_full = self.redials.len() >= REDIALS;
        if !self.redials.contains_key(&id) && !is_full && !self.redial(id) {
            return self.lose(id, error.to_string());
        }
        // One that finds no room is dialled later.
        self.broken.entry(id).or_insert_with(|| error.to_string());
    }

    /// Starts to dial a channel again. Returns whether that is possible.
    fn redial(&mut self, id: NodeId) -> bool {
        let Some(connection) = &self.connections[id.index()] else { return false };
        if self.wake.is_none() {
            self.wake = Wake::new().ok().map(Arc::new);
        }
        let Some(wake) = &self.wake else { return false };
        let redial = connection.redial(self.patience, Arc::clone(wake));
        redial.is_ok_and(|redial| self.redials.insert(id, redial).is_none())
    }

    /// Continues the channels that were dialled again.
    fn finish_redials(&mut self) {
        // Also without redials: the last one may have raised it after its result was taken.
        self.wake.iter().for_each(|wake| wake.lower());
        let results = self.redials.iter().filter_map(|(id, redial)| Some((*id, redial.result()?)));
        for (id, result) in results.collect::<Vec<_>>() {
            self.redials.remove(&id);
            let Some(connection) = &mut self.connections[id.index()] else { continue };
            match (result, self.broken.remove(&id)) {
                (Ok(renewed), _) => match connection.renew(renewed) {
                    Ok(()) => {}
                    Err(error) => self.fail(id, &error),
                },
                (Err(Unrenewed::NoAnswer), None) => {}
                (Err(Unrenewed::NoAnswer), Some(reason)) => self.lose(id, reason),
                (Err(Unrenewed::Over), _) => self.lose(id, ConnectionError::Gone.to_string()),
            }
        }
    }

    /// Dials the channels again that are silent, or that broke without a report.
    fn redial_silent(&mut self) {
        let now = clock::now_ns();
        if now.saturating_sub(self.looked_ns) < LOOK_NS {
            return;
        }
        self.looked_ns = now;
        let silent = |it: &Connection| it.is_broken() || it.silent_ns() > SILENCE_NS;
        let silent = |id: &NodeId| self.connection(*id).is_some_and(silent);
        let ids = self.ids().filter(|id| silent(id) && !self.redials.contains_key(id));
        let mut ids: Vec<NodeId> = ids.collect();
        // Nodes that are only silent may be dead.
        ids.sort_by_key(|id| !self.broken.contains_key(id));
        ids.truncate(REDIALS.saturating_sub(self.redials.len()));
        for id in ids {
            if !self.redial(id) && self.connection(id).is_some_and(Connection::is_broken) {
                self.lose(id, ConnectionError::Gone.to_string());
            }
        }
    }

    fn lose(&mut self, id: NodeId, reason: String) {
        self.connections[id.index()] = None;
        self.redials.remove(&id);
        self.broken.remove(&id);
        self.lost.push((id, reason));
    }
}

//! The control channels of all agents of an operation, waited for together. Which of them are
//! dialled again, and when an agent is lost, is decided by [`Channels`].
//!
//! What a message costs must not depend on the number of agents: two thousand of them send ten
//! heartbeats a second each. So the channels stay registered with the kernel (epoll), and only
//! those that changed are looked at before a wait.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use garland_core::plan::NodeId;
use garland_protocol::ToAgent;
use garland_protocol::operation::{AgentEvent, ChannelFate, ChannelState, Channels, DialEnd};
use garland_sys::event::{self, Wake};
use garland_sys::watch::Watch;
use garland_sys::{clock, threads};
use garland_transport::connection::Connection;
use garland_transport::{ConnectionError, Redial, Renewed, Unrenewed, limits};

/// How long a channel that broke is dialled again, unless a copy's policy says otherwise.
const REDIAL_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a channel may be silent before it is dialled again, in nanoseconds.
const SILENCE_NS: u64 = limits::SILENCE.as_nanos() as u64;

/// With more agents than this, messages are awaited for a moment longer and taken together: waking
/// up for one costs more than reading it.
const MANY: usize = 200;
const TOGETHER: Duration = Duration::from_millis(2);

/// The channels of all nodes, by index in the plan; the slot of the head is empty.
pub struct AgentSet {
    connections: Vec<Option<Connection>>,
    /// The open channels; made by the first wait.
    watch: Option<Watch>,
    /// For each channel that is in `watch`, whether it is returned when it is writable.
    watched: Vec<Option<bool>>,
    /// Channels that may have changed since the last wait.
    changed: Vec<NodeId>,
    /// Channels that broke during a send, each with the error; the next `wait` reports them.
    lost: Vec<(NodeId, String)>,
    /// Decides which channels are dialled again, and whose agents are lost.
    channels: Channels,
    /// The channels that are dialled again.
    redials: BTreeMap<NodeId, Redial>,
    /// How long a channel that broke is dialled again.
    patience: Duration,
    /// Raised when a channel was dialled again; made with the first of them.
    wake: Option<Arc<Wake>>,
}

impl AgentSet {
    /// Creates the set from the channels of the receivers, in the order of the plan.
    pub fn new(receivers: impl Iterator<Item = Option<Connection>>) -> Self {
        let connections: Vec<_> = std::iter::once(None).chain(receivers).collect();
        let watched = vec![None; connections.len()];
        let mut set = Self {
            connections,
            watch: None,
            watched,
            changed: Vec::new(),
            lost: Vec::new(),
            channels: Channels::new(SILENCE_NS, ConnectionError::Gone.to_string()),
            redials: BTreeMap::new(),
            patience: REDIAL_TIMEOUT,
            wake: None,
        };
        set.changed.extend(set.ids());
        set
    }

    /// Dials channels that break again for `patience`.
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Dials channels that break from now on for `patience`.
    pub fn set_patience(&mut self, patience: Duration) {
        self.patience = patience;
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
        self.watched.push(None);
    }

    /// Sets the channel of a node that had none.
    pub fn set_connection(&mut self, id: NodeId, connection: Connection) {
        self.unwatch(id);
        self.connections[id.index()] = Some(connection);
        self.changed.push(id);
    }

    /// Sends a message. A message over a broken channel arrives once the channel continues; an
    /// agent that is lost is reported by a later `wait`.
    pub fn send(&mut self, id: NodeId, message: &ToAgent) {
        let Some(connection) = &mut self.connections[id.index()] else { return };
        match connection.send(message) {
            Ok(()) if connection.has_unsent() => self.changed.push(id),
            Ok(()) => {}
            Err(error) => self.fail(id, &error),
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
        self.watch_changed()?;
        let Some(watch) = &self.watch else { return Ok(Vec::new()) };
        let timeout = if self.lost.is_empty() { timeout } else { Duration::ZERO };
        let wake = self.wake.as_deref().map(AsFd::as_fd);
        let others = others.iter().copied().chain(wake);
        let all: Vec<_> = std::iter::once(watch.as_fd()).chain(others).collect();
        let is_any = event::wait_readable(&all, Some(timeout))?[0];
        if is_any && self.connections.len() > MANY {
            threads::sleep(TOGETHER);
        }
        let mut ready = if is_any { watch.ready()? } else { Vec::new() };
        // The kernel's order depends on that of threads which have nothing to do with each other.
        ready.sort_by_key(|(number, _)| *number);
        let mut events = Vec::new();
        for (number, ready) in ready {
            let id = NodeId(u32::try_from(number).expect("it is the number of a node"));
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

    /// Brings the set of watched channels up to date.
    fn watch_changed(&mut self) -> io::Result<()> {
        if self.watch.is_none() {
            self.watch = Some(Watch::new()?);
        }
        for id in std::mem::take(&mut self.changed) {
            let Some(connection) = self.connection(id) else { continue };
            if connection.is_broken() {
                self.unwatch(id);
                continue;
            }
            let write = connection.has_unsent();
            let number = u64::from(id.0);
            let watched = match (self.watched[id.index()], &self.watch) {
                (Some(now), _) if now == write => Ok(()),
                (Some(_), Some(watch)) => watch.keep_on(connection, number, write),
                (_, watch) => watch.iter().try_for_each(|it| it.keep(connection, number, write)),
            };
            match watched {
                Ok(()) => self.watched[id.index()] = Some(write),
                Err(error) => self.lose(id, format!("waiting for its messages: {error}")),
            }
        }
        Ok(())
    }

    /// Watches a channel no longer, before its connection is closed or replaced, or when it broke.
    fn unwatch(&mut self, id: NodeId) {
        let was = self.watched[id.index()].take();
        if let (Some(_), Some(connection), Some(watch)) = (was, self.connection(id), &self.watch) {
            watch.remove(connection);
        }
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
                // An acknowledgement may have broken the channel, or may be unsent.
                if connection.is_broken() || connection.has_unsent() {
                    self.changed.push(id);
                }
                events
                    .extend(messages.into_iter().map(|message| (id, AgentEvent::Message(message))));
            }
            Err(error) => self.fail(id, &error),
        }
    }

    fn flush(&mut self, id: NodeId) {
        let Some(connection) = &mut self.connections[id.index()] else { return };
        match connection.flush() {
            Ok(()) => self.changed.push(id),
            Err(error) => self.fail(id, &error),
        }
    }

    /// Handles the error of a channel. One that broke may continue; an agent that breaks the
    /// protocol is lost.
    fn fail(&mut self, id: NodeId, error: &ConnectionError) {
        let may_continue = matches!(
            error,
            ConnectionError::Gone | ConnectionError::Io(_) | ConnectionError::Changed
        );
        if !may_continue {
            return self.lose(id, error.to_string());
        }
        self.changed.push(id);
        if self.channels.broke(id, error.to_string()) {
            self.redial(id, true);
        }
    }

    /// Starts to dial a channel again, if that is possible.
    fn redial(&mut self, id: NodeId, is_broken: bool) {
        match self.begin_redial(id) {
            Some(redial) => {
                self.redials.insert(id, redial);
                self.channels.began(id);
            }
            None => {
                if let ChannelFate::Lost(reason) = self.channels.not_begun(id, is_broken) {
                    self.lose(id, reason);
                }
            }
        }
    }

    /// Starts to dial a channel again. Returns `None` if this host has no descriptors or threads
    /// left for it.
    fn begin_redial(&mut self, id: NodeId) -> Option<Redial> {
        let connection = self.connections[id.index()].as_ref()?;
        if self.wake.is_none() {
            self.wake = Wake::new().ok().map(Arc::new);
        }
        connection.redial(self.patience, Arc::clone(self.wake.as_ref()?)).ok()
    }

    /// Continues the channels that were dialled again.
    fn finish_redials(&mut self) {
        // Also without redials: the last one may have raised it after its result was taken.
        self.wake.iter().for_each(|wake| wake.lower());
        let results = self.redials.iter().filter_map(|(id, redial)| Some((*id, redial.result()?)));
        for (id, result) in results.collect::<Vec<_>>() {
            self.redials.remove(&id);
            let end = match &result {
                Ok(_) => DialEnd::Accepted,
                Err(Unrenewed::NoAnswer) => DialEnd::NoAnswer,
                Err(Unrenewed::Over) => DialEnd::Over,
            };
            match (self.channels.dialled(id, end), result) {
                (ChannelFate::Continues, Ok(renewed)) => self.renew(id, renewed),
                (ChannelFate::Lost(reason), _) => self.lose(id, reason),
                (ChannelFate::Continues | ChannelFate::Stays, _) => {}
            }
        }
    }

    fn renew(&mut self, id: NodeId, renewed: Renewed) {
        self.unwatch(id);
        let Some(connection) = &mut self.connections[id.index()] else { return };
        match connection.renew(renewed) {
            Ok(()) => self.changed.push(id),
            Err(error) => self.fail(id, &error),
        }
    }

    /// Dials the channels again that are silent, or that broke without a report.
    fn redial_silent(&mut self) {
        let connections = self.ids().zip(self.connections.iter().skip(1));
        let state = |(node, connection): (NodeId, &Option<Connection>)| {
            let connection = connection.as_ref()?;
            let is_broken = connection.is_broken();
            Some(ChannelState { node, is_broken, silent_ns: connection.silent_ns() })
        };
        let due = self.channels.due(clock::now_ns(), || connections.filter_map(state).collect());
        for ChannelState { node, is_broken, .. } in due {
            self.redial(node, is_broken);
        }
    }

    fn lose(&mut self, id: NodeId, reason: String) {
        self.unwatch(id);
        self.connections[id.index()] = None;
        self.redials.remove(&id);
        self.channels.forget(id);
        self.lost.push((id, reason));
    }
}

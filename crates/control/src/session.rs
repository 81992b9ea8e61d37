//! Drives one operation after the other over the control channels of its agents.
//!
//! [`Session::run`] is the loop that drives every operation. Only this loop waits, and reads
//! interrupts.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use garland_protocol::copy::NodeAddress;
use garland_protocol::operation::{AgentEvent, Operation, Orders};
use garland_sys::clock;
use garland_sys::signal::Interrupts;

use crate::agents::{Agents, CHECK_INTERVAL, gone};
use crate::copy::Agent;

/// The agents of a command, and the user who can interrupt it.
pub struct Session<'a> {
    agents: Agents,
    /// Why the channel of each node's agent is closed; `None` if it is open.
    closed: Vec<Option<String>>,
    interrupts: Option<&'a Interrupts>,
    wakes: Vec<BorrowedFd<'a>>,
}

impl<'a> Session<'a> {
    /// Creates a session with the agent or error of each node.
    #[must_use]
    pub fn new(agents: Vec<Result<Agent, String>>, interrupts: Option<&'a Interrupts>) -> Self {
        let (agents, closed) = Agents::split(agents);
        Self { agents, closed, interrupts, wakes: Vec::new() }
    }

    /// Makes input on `wakes` end a wait, so that the caller can observe the operation.
    #[must_use]
    pub fn with_wakes(self, wakes: impl IntoIterator<Item = BorrowedFd<'a>>) -> Self {
        Self { wakes: wakes.into_iter().collect(), ..self }
    }

    /// Lets the session of a node that is reached by logins outlast a login that is made again.
    #[must_use]
    pub fn awaiting_logins(mut self) -> Self {
        self.agents.await_logins();
        self
    }

    /// Returns the addresses of all nodes.
    #[must_use]
    pub fn addresses(&self) -> &[NodeAddress] {
        self.agents.addresses()
    }

    /// Returns why the channel of each node's agent is closed; `None` if it is open.
    #[must_use]
    pub fn closed(&self) -> &[Option<String>] {
        &self.closed
    }

    /// Returns whether the channel of a node's agent is closed, or the agent was silent at the end
    /// of the last operation.
    #[must_use]
    pub fn is_gone(&self, node: usize) -> bool {
        self.closed[node].is_some() || self.agents.is_silent(node)
    }

    /// Returns whether the user has interrupted.
    #[must_use]
    pub fn interrupted(&self) -> bool {
        self.interrupts.is_some_and(Interrupts::have_come)
    }

    /// Runs `operation` until it is over, and returns it. Calls `observe` after all events, and at
    /// least every 100 ms.
    ///
    /// # Errors
    /// When this host cannot wait for the agents.
    pub fn run<O: Operation>(
        &mut self,
        mut operation: O,
        observe: &mut dyn FnMut(&mut O),
    ) -> io::Result<O> {
        let mut orders = Orders::default();
        let mut lost = vec![false; self.closed.len()];
        for (node, reason) in self.closed.iter().enumerate() {
            if let Some(reason) = reason.clone() {
                lost[node] = true;
                let event = AgentEvent::Lost(reason);
                operation.handle(clock::now_ns(), node, event, &mut orders);
            }
        }
        self.agents.restart_silence();
        if !self.interrupted() {
            operation.begin(clock::now_ns(), &mut orders);
        }
        let mut interrupted = false;
        let mut is_over = false;
        loop {
            // Read signals also after the first one: unread ones would end each wait at once.
            if self.interrupted() && !std::mem::replace(&mut interrupted, true) {
                is_over = operation.interrupt(clock::now_ns(), &mut orders);
            }
            observe(&mut operation);
            self.send(&mut orders);
            while !is_over && !operation.is_over() {
                operation.tick(clock::now_ns(), &mut orders);
                if !self.send(&mut orders) {
                    break;
                }
            }
            if is_over || operation.is_over() {
                return Ok(operation);
            }
            for (node, event) in self.wait(operation.due_ns())? {
                let is_loss = matches!(event, AgentEvent::Lost(_));
                if !is_loss || !std::mem::replace(&mut lost[node], true) {
                    operation.handle(clock::now_ns(), node, event, &mut orders);
                }
            }
        }
    }

    /// Returns the agent or error of each node, for another operation.
    pub fn into_agents(self) -> impl Iterator<Item = Result<Agent, String>> {
        let agents = self.agents.into_agents().zip(self.closed);
        agents.map(|(agent, closed)| agent.ok_or_else(|| closed.unwrap_or_else(gone)))
    }

    /// Sends all queued orders. Returns whether there were any.
    fn send(&mut self, orders: &mut Orders) -> bool {
        let queued = orders.take();
        queued.iter().for_each(|(node, message)| self.agents.send(*node, message));
        orders.set_full(self.agents.nodes().filter(|&node| self.agents.is_full(node)));
        !queued.is_empty()
    }

    /// Waits for events, at most until `due_ns`. Silent agents count as lost.
    fn wait(&mut self, due_ns: Option<u64>) -> io::Result<Vec<(usize, AgentEvent)>> {
        let timeout = due_ns.map_or(CHECK_INTERVAL, |at| clock::until(at).min(CHECK_INTERVAL));
        let others = self.interrupts.map(AsFd::as_fd).into_iter().chain(self.wakes.iter().copied());
        let mut events = self.agents.wait(others, timeout)?;
        for (node, event) in &events {
            if let AgentEvent::Lost(reason) = event {
                self.closed[*node].get_or_insert_with(|| reason.clone());
            }
        }
        let silent = self.agents.silent();
        events.extend(silent.map(|(node, reason)| (node, AgentEvent::Lost(reason))));
        Ok(events)
    }
}

//! The agents of a balance test.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use garland_core::plan::NodeId;
use garland_protocol::{BalanceEvent, BalanceOrder, FromAgent, ToAgent};
use garland_sys::clock;
use garland_sys::signal::Interrupts;

use crate::agent_set::{AgentEvent, AgentSet};
use crate::copy::Agent;

/// Silence after which an agent is considered dead, in nanoseconds.
pub const SILENCE_NS: u64 = 5_000_000_000;

/// How often silence is checked.
const TICK: Duration = Duration::from_millis(100);

/// The control channels of the agents, by index in the list of nodes.
pub struct BalanceAgents {
    set: AgentSet,
    /// The time of each agent's last message.
    heard_ns: Vec<u64>,
}

impl BalanceAgents {
    /// Takes the channels of `agents`; none for nodes that cannot be reached.
    pub fn new(agents: Vec<Option<Agent>>) -> Self {
        let heard_ns = vec![clock::now_ns(); agents.len()];
        let connections = agents.into_iter().map(|agent| agent.map(|agent| agent.connection));
        Self { set: AgentSet::new(connections), heard_ns }
    }

    /// Whether the channel of a node's agent is open.
    pub fn has(&self, node: usize) -> bool {
        self.set.has(id_of(node))
    }

    /// Whether a node's agent has sent nothing for too long.
    pub fn is_silent(&self, node: usize) -> bool {
        clock::now_ns().saturating_sub(self.heard_ns[node]) > SILENCE_NS
    }

    /// Whether a node's agent is dead or silent.
    pub fn is_gone(&self, node: usize) -> bool {
        !self.has(node) || self.is_silent(node)
    }

    /// Sends an order to a node's agent.
    pub fn send(&mut self, node: usize, order: &ToAgent) {
        self.set.send(id_of(node), order);
    }

    /// Waits up to a tick for events of any agents.
    ///
    /// # Errors
    /// When this host cannot wait for them.
    pub fn wait(
        &mut self,
        interrupts: Option<&Interrupts>,
    ) -> io::Result<Vec<(usize, AgentEvent)>> {
        let others: Vec<_> = interrupts.iter().map(|fd| fd.as_fd()).collect();
        let events = self.set.wait(&others, TICK)?.into_iter();
        let events: Vec<_> = events.map(|(id, event)| (id.index() - 1, event)).collect();
        for (node, _) in &events {
            self.heard_ns[*node] = clock::now_ns();
        }
        Ok(events)
    }

    /// Sends its `order` to each of `nodes`, and waits up to `patience` for their answers, or the
    /// reasons why there are none; `None` if the user interrupts.
    ///
    /// # Errors
    /// When this host cannot wait for them.
    pub fn ask<T>(
        &mut self,
        nodes: &[usize],
        order: &dyn Fn(usize) -> BalanceOrder,
        patience: Duration,
        interrupts: Option<&Interrupts>,
        answer: &dyn Fn(BalanceEvent) -> Option<T>,
    ) -> io::Result<Option<Vec<Result<T, String>>>> {
        let now = clock::now_ns();
        let mut answers: Vec<Option<Result<T, String>>> = Vec::new();
        for &node in nodes {
            self.heard_ns[node] = now;
            answers.push((!self.has(node)).then(|| Err("its agent is gone".to_owned())));
            self.send(node, &ToAgent::Balance(order(node)));
        }
        let patience_ns = u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX >> 1);
        while answers.iter().any(Option::is_none) {
            for (node, event) in self.wait(interrupts)? {
                let Some(at) = nodes.iter().position(|&asked| asked == node) else { continue };
                let result = match event {
                    AgentEvent::Lost(reason)
                    | AgentEvent::Message(FromAgent::Balance(BalanceEvent::Failed(reason))) => {
                        Some(Err(reason))
                    }
                    AgentEvent::Message(FromAgent::Balance(event)) => answer(event).map(Ok),
                    AgentEvent::Message(_) => None,
                };
                if let Some(result) = result {
                    answers[at].get_or_insert(result);
                }
            }
            if interrupts.is_some_and(Interrupts::pending) {
                return Ok(None);
            }
            let late = clock::now_ns() > now.saturating_add(patience_ns);
            for (&node, answer) in nodes.iter().zip(&mut answers) {
                let why = if self.is_silent(node) {
                    silence()
                } else if late {
                    format!("its disk hangs: no answer for {} s", patience.as_secs())
                } else {
                    continue;
                };
                answer.get_or_insert(Err(why));
            }
        }
        Ok(Some(answers.into_iter().flatten().collect()))
    }
}

/// The reason why a silent agent is considered dead.
pub fn silence() -> String {
    format!("no word from its agent for {} s", SILENCE_NS / 1_000_000_000)
}

/// The id of a node in the set, whose first is the head's.
fn id_of(node: usize) -> NodeId {
    NodeId(u32::try_from(node + 1).expect("a node list has fewer nodes"))
}

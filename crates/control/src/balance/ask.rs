//! Asking several agents at once, and waiting for all of their answers.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use garland_core::plan::NodeId;
use garland_protocol::{BalanceEvent, BalanceOrder, FromAgent, ToAgent};
use garland_sys::clock;
use garland_sys::signal::Interrupts;

use super::exchange::Exchange;
use crate::agent_set::AgentEvent;

/// An agent that is silent for so long is gone.
pub const SILENCE_NS: u64 = 5_000_000_000;

/// How often it is looked whether one is.
pub const LOOK: Duration = Duration::from_millis(100);

impl Exchange {
    /// Sends each of `nodes` its order, and waits for their answers, or why there is none; nothing
    /// if the user gave up.
    pub(super) fn ask<T>(
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
            let is_there = self.board.has(place(node));
            answers.push((!is_there).then(|| Err("its agent is gone".to_owned())));
            self.board.send(place(node), &ToAgent::Balance(order(node)));
        }
        let patience_ns = u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX >> 1);
        while answers.iter().any(Option::is_none) {
            let others: Vec<_> = interrupts.iter().map(|fd| fd.as_fd()).collect();
            for (id, call) in self.board.wait(&others, LOOK)? {
                let node = id.index() - 1;
                self.heard_ns[node] = clock::now_ns();
                let Some(at) = nodes.iter().position(|&asked| asked == node) else { continue };
                let told = match call {
                    AgentEvent::Lost(reason) => Some(Err(reason)),
                    AgentEvent::Message(FromAgent::Balance(BalanceEvent::Failed(reason))) => {
                        Some(Err(reason))
                    }
                    AgentEvent::Message(FromAgent::Balance(event)) => answer(event).map(Ok),
                    AgentEvent::Message(_) => None,
                };
                if let Some(told) = told {
                    answers[at].get_or_insert(told);
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

    /// Whether a node's agent hasn't said a word for too long.
    pub(super) fn is_silent(&self, node: usize) -> bool {
        clock::now_ns().saturating_sub(self.heard_ns[node]) > SILENCE_NS
    }
}

/// Why an agent that is silent counts as gone.
pub fn silence() -> String {
    format!("no word from its agent for {} s", SILENCE_NS / 1_000_000_000)
}

/// A node's place on the switchboard, whose first is the head's.
pub fn place(node: usize) -> NodeId {
    NodeId(u32::try_from(node + 1).expect("a node list has fewer nodes"))
}

//! Sends an order to each of several agents and collects their answers.

use std::io;
use std::os::fd::AsFd;
use std::time::Duration;

use garland_protocol::{BalanceEvent, BalanceOrder, FromAgent, ToAgent};
use garland_sys::clock;
use garland_sys::signal::Interrupts;

use crate::agent_set::AgentEvent;
use crate::agents::{Agents, gone, silence};

/// The interval of checks for silent agents.
pub const TICK: Duration = Duration::from_millis(100);

/// Sends `order(node)` to each of `nodes`, and waits up to `patience` for the events from which
/// `answer` makes an answer. Returns the answer of each node, or why there is none; `None` if the user
/// interrupts.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn ask<T>(
    agents: &mut Agents,
    nodes: &[usize],
    order: &dyn Fn(usize) -> BalanceOrder,
    patience: Duration,
    interrupts: Option<&Interrupts>,
    answer: &dyn Fn(BalanceEvent) -> Option<T>,
) -> io::Result<Option<Vec<Result<T, String>>>> {
    let now = clock::now_ns();
    let mut answers: Vec<Option<Result<T, String>>> = Vec::new();
    for &node in nodes {
        agents.reset_silence(node);
        answers.push((!agents.has(node)).then(|| Err(gone())));
        agents.send(node, &ToAgent::Balance(order(node)));
    }
    let patience_ns = u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX >> 1);
    while answers.iter().any(Option::is_none) {
        for (node, event) in agents.wait(interrupts.map(AsFd::as_fd), TICK)? {
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
            let why = if agents.is_silent(node) {
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

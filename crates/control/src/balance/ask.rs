//! Sends an order to each of several agents and collects their answers.

use std::io;
use std::time::Duration;

use garland_dataplane::leaving::after;
use garland_protocol::{BalanceEvent, BalanceOrder, FromAgent, ToAgent};
use garland_sys::signal::Interrupts;

use crate::agents::{Agents, gone};

/// Sends `order(node)` to each of `nodes`, and waits up to `patience` for events that `answer`
/// converts to an answer. Returns the answer or the error of each node; `None` if the user
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
    // Only the nodes in `nodes` are asked.
    let is_asked = |node| nodes.contains(&node) && agents.has(node);
    let mut answers: Vec<Option<Result<T, String>>> =
        agents.nodes().map(|node| (!is_asked(node)).then(|| Err(gone()))).collect();
    for &node in nodes {
        agents.reset_silence(node);
        agents.send(node, &ToAgent::Balance(order(node)));
    }
    let late = format!("its disk hangs: no answer for {} s", patience.as_secs());
    let deadline = Some((after(patience), late.as_str()));
    let all =
        agents.collect(&mut answers, interrupts, deadline, &mut |_, message| match message {
            FromAgent::Balance(BalanceEvent::Failed(reason)) => Some(Err(reason)),
            FromAgent::Balance(event) => answer(event).map(Ok),
            _ => None,
        })?;
    Ok(all.then(|| nodes.iter().filter_map(|&node| answers[node].take()).collect()))
}

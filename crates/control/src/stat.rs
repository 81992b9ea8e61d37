//! Looks up files on nodes, before a copy from them is planned.

use std::os::fd::AsFd;
use std::time::Duration;

use garland_protocol::{FromAgent, StatReply, StatRequest, ToAgent};
use garland_sys::clock;
use garland_sys::signal::Interrupts;

use crate::agent_set::AgentEvent;
use crate::agents::{Agents, gone, silence};
use crate::copy::Agent;

/// Timeout for the lookup of a file, in nanoseconds: a disk may have to spin up. There is none for trees.
const PATIENCE_NS: u64 = 30_000_000_000;

/// An agent and its replies, or why there are none.
pub type Stats = Result<(Agent, Vec<StatReply>), String>;

/// Sends `request` to all `agents`. Returns the agents with their replies, in order.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn stat(
    agents: Vec<Result<Agent, String>>,
    request: &StatRequest,
    interrupts: Option<&Interrupts>,
) -> std::io::Result<Vec<Stats>> {
    let (mut agents, reasons) = Agents::split(agents);
    let mut replies: Vec<_> = reasons.into_iter().map(|reason| reason.map(Err)).collect();
    agents.send_all(&ToAgent::Stat(request.clone()));
    let began = clock::now_ns();
    while replies.iter().any(Option::is_none) {
        for (node, event) in agents.wait(interrupts.map(AsFd::as_fd), Duration::from_millis(200))? {
            let answer = match event {
                AgentEvent::Message(FromAgent::Looked(answer)) => Some(answer),
                AgentEvent::Message(_) => None,
                AgentEvent::Lost(reason) => Some(Err(reason)),
            };
            replies[node] = replies[node].take().or(answer);
        }
        let now = clock::now_ns();
        let interrupted = interrupts.is_some_and(Interrupts::have_come);
        let open = replies.iter_mut().enumerate().filter(|(_, reply)| reply.is_none());
        for (node, reply) in open {
            *reply = if interrupted {
                Some(Err("interrupted".to_owned()))
            } else if agents.is_silent(node) {
                Some(Err(silence()))
            } else if request.tree.is_none() && now.saturating_sub(began) > PATIENCE_NS {
                let seconds = PATIENCE_NS / 1_000_000_000;
                Some(Err(format!("the lookup of the file timed out after {seconds} s")))
            } else {
                None
            };
        }
    }
    let agents = agents.into_agents().zip(replies).map(|(agent, reply)| {
        let reply = reply.unwrap_or_else(|| Err(gone()))?;
        Ok((agent.ok_or_else(gone)?, reply))
    });
    Ok(agents.collect())
}

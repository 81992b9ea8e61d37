//! Asks nodes what they have, before a copy from them can be planned.

use std::os::fd::AsFd;
use std::time::Duration;

use garland_protocol::{FromAgent, StatReply, StatRequest, ToAgent};
use garland_sys::clock;
use garland_sys::signal::Interrupts;

use crate::agent_set::{AgentEvent, AgentSet};
use crate::copy::Agent;

/// Timeout for a node to find a file, in nanoseconds: its disk may have to spin up. A tree takes as
/// long as its size requires.
const PATIENCE_NS: u64 = 30_000_000_000;

/// Silence after which an agent is considered dead, in nanoseconds.
const SILENCE_NS: u64 = 5_000_000_000;

/// An agent and its replies, or why there are none.
pub type Stats = Result<(Agent, Vec<StatReply>), String>;

/// Sends `look` to all `agents`. Returns the agents with their replies, in order.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn stat(
    agents: Vec<Result<Agent, String>>,
    look: &StatRequest,
    interrupts: Option<&Interrupts>,
) -> std::io::Result<Vec<Stats>> {
    let (mut connections, mut addresses, mut seen) = (Vec::new(), Vec::new(), Vec::new());
    for agent in agents {
        let (connection, listens, known) = match agent {
            Ok(agent) => (Some(agent.connection), agent.addresses, None),
            Err(reason) => (None, Vec::new(), Some(Err(reason))),
        };
        connections.push(connection);
        addresses.push(listens);
        seen.push(known);
    }
    let mut board = AgentSet::new(connections.into_iter());
    board.ids().for_each(|id| board.send(id, &ToAgent::Stat(look.clone())));
    let began = clock::now_ns();
    let mut heard = vec![began; seen.len()];
    while seen.iter().any(Option::is_none) {
        let others: Vec<_> = interrupts.iter().map(|fd| fd.as_fd()).collect();
        for (id, call) in board.wait(&others, Duration::from_millis(200))? {
            let at = id.index() - 1;
            heard[at] = clock::now_ns();
            let answer = match call {
                AgentEvent::Message(FromAgent::Looked(answer)) => Some(answer),
                AgentEvent::Message(_) => None,
                AgentEvent::Lost(reason) => Some(Err(reason)),
            };
            seen[at] = seen[at].take().or(answer);
        }
        let now = clock::now_ns();
        let interrupted = interrupts.is_some_and(Interrupts::have_come);
        for (seen, heard) in seen.iter_mut().zip(&heard).filter(|(seen, _)| seen.is_none()) {
            *seen = if interrupted {
                Some(Err("interrupted".to_owned()))
            } else if now.saturating_sub(*heard) > SILENCE_NS {
                Some(Err(format!("no word from its agent for {} s", SILENCE_NS / 1_000_000_000)))
            } else if look.tree.is_none() && now.saturating_sub(began) > PATIENCE_NS {
                let seconds = PATIENCE_NS / 1_000_000_000;
                Some(Err(format!("looking for the file took longer than {seconds} s")))
            } else {
                None
            };
        }
    }
    let gone = || "its agent is gone".to_owned();
    let agents = board.into_connections().zip(addresses).zip(seen);
    let agents = agents.map(|((connection, addresses), seen)| {
        let sights = seen.unwrap_or_else(|| Err(gone()))?;
        Ok((Agent { connection: connection.ok_or_else(gone)?, addresses }, sights))
    });
    Ok(agents.collect())
}

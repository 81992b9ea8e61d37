//! The head's side of running a command on every node.

use std::os::fd::AsFd;
use std::time::Duration;

use garland_core::plan::NodeId;
use garland_protocol::{FromAgent, ToAgent};
use garland_sys::clock;
use garland_sys::signal::Interrupts;

use crate::agent_set::{AgentEvent, AgentSet};
use crate::copy::Agent;

/// Silence after which an agent is considered dead, in nanoseconds.
const SILENCE_NS: u64 = 5_000_000_000;

/// How a command ended on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// It exited with this code, or was killed by this signal, negated.
    Exited(i32),
    /// It could not be run, or its end is unknown.
    Failed(String),
    /// The user interrupted before it ended.
    Interrupted,
}

/// Runs `command` on all `agents`; calls `output` with the node's index, whether it is standard
/// error, and the bytes. Returns how it ended, in the order of the agents.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn run_command(
    agents: Vec<Result<Agent, String>>,
    command: &[Vec<u8>],
    interrupts: Option<&Interrupts>,
    output: &mut dyn FnMut(usize, bool, &[u8]),
) -> std::io::Result<Vec<CommandEnd>> {
    let mut ends: Vec<Option<CommandEnd>> = Vec::new();
    let mut connections = Vec::new();
    for agent in agents {
        let (connection, end) = match agent {
            Ok(agent) => (Some(agent.connection), None),
            Err(reason) => (None, Some(CommandEnd::Failed(reason))),
        };
        connections.push(connection);
        ends.push(end);
    }
    let mut board = AgentSet::new(connections.into_iter());
    let mut heard = vec![clock::now_ns(); ends.len()];
    board.ids().for_each(|id| board.send(id, &ToAgent::Exec(command.to_vec())));
    while ends.iter().any(Option::is_none) {
        let others: Vec<_> = interrupts.iter().map(|fd| fd.as_fd()).collect();
        for (id, call) in board.wait(&others, Duration::from_millis(200))? {
            let (at, now) = (id.index() - 1, clock::now_ns());
            heard[at] = now;
            let end = match call {
                AgentEvent::Message(FromAgent::Output(is_error, bytes)) => {
                    output(at, is_error, &bytes);
                    // This loop reads no messages while the output is blocked.
                    let paused = clock::now_ns().saturating_sub(now);
                    heard.iter_mut().for_each(|heard| *heard += paused);
                    None
                }
                AgentEvent::Message(FromAgent::Exited(code)) => Some(CommandEnd::Exited(code)),
                AgentEvent::Message(FromAgent::ExecFailed(reason)) => {
                    Some(CommandEnd::Failed(reason))
                }
                AgentEvent::Message(_) => None,
                AgentEvent::Lost(reason) => Some(CommandEnd::Failed(reason)),
            };
            if ends[at].is_none() {
                ends[at] = end;
            }
        }
        give_up_silent(&mut ends, &heard);
        if interrupts.is_some_and(Interrupts::pending) {
            for end in ends.iter_mut().filter(|end| end.is_none()) {
                *end = Some(CommandEnd::Interrupted);
            }
        }
    }
    let unknown = || CommandEnd::Failed("what became of it isn't known".to_owned());
    Ok(ends.into_iter().map(|end| end.unwrap_or_else(unknown)).collect())
}

/// Shuts down all of `agents` that were started to stay. Returns the index and error of those that
/// it could not reach.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn shut_down(agents: Vec<Result<Agent, String>>) -> std::io::Result<Vec<(NodeId, String)>> {
    let failures = (1..).map(NodeId).zip(&agents);
    let mut failed: Vec<(NodeId, String)> = failures
        .filter_map(|(id, agent)| agent.as_ref().err().map(|reason| (id, reason.clone())))
        .collect();
    let connections = agents.into_iter().map(|agent| agent.ok().map(|agent| agent.connection));
    let mut board = AgentSet::new(connections);
    board.ids().for_each(|id| board.send(id, &ToAgent::Shutdown));
    let deadline = clock::now_ns() + SILENCE_NS;
    while board.ids().any(|id| board.has(id)) && clock::now_ns() < deadline {
        // Only the end of the channels matters; other messages are ignored.
        drop(board.wait(&[], clock::until(deadline))?);
    }
    let silent = board.ids().filter(|&id| board.has(id));
    failed.extend(silent.map(|id| (id, "its agent did not end".to_owned())));
    Ok(failed)
}

fn give_up_silent(ends: &mut [Option<CommandEnd>], heard: &[u64]) {
    let now = clock::now_ns();
    for (end, &heard) in ends.iter_mut().zip(heard) {
        if end.is_none() && now.saturating_sub(heard) > SILENCE_NS {
            let seconds = SILENCE_NS / 1_000_000_000;
            *end = Some(CommandEnd::Failed(format!("no word from its agent for {seconds} s")));
        }
    }
}

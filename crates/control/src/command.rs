//! The head's side of running a command on every node, and of shutting down agents.

use garland_core::plan::NodeId;
use garland_protocol::{FromAgent, ToAgent};
use garland_sys::clock;
use garland_sys::signal::Interrupts;

use crate::agents::{Agents, SILENCE_NS};
use crate::copy::Agent;

/// How a command ended on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// The command exited with this code; if negative, it is the negated number of the signal that
    /// killed the command.
    Exited(i32),
    /// The command could not be run, or its end is unknown.
    Failed(String),
    /// The user interrupted before the command ended.
    Interrupted,
}

/// Runs `command` on all `agents`. Calls `output` with a node's index, whether the bytes are from
/// standard error, and the bytes. Returns how the command ended on each node, in the order of `agents`.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn run_command(
    agents: Vec<Result<Agent, String>>,
    command: &[Vec<u8>],
    interrupts: Option<&Interrupts>,
    output: &mut dyn FnMut(usize, bool, &[u8]),
) -> std::io::Result<Vec<CommandEnd>> {
    let (mut agents, reasons) = Agents::split(agents);
    let mut ends: Vec<_> = reasons.into_iter().map(|reason| reason.map(Err)).collect();
    agents.send_all(&ToAgent::Exec(command.to_vec()));
    agents.collect(&mut ends, interrupts, None, &mut |node, message| match message {
        FromAgent::Output(is_error, bytes) => {
            output(node, is_error, &bytes);
            None
        }
        FromAgent::Exited(code) => Some(Ok(code)),
        FromAgent::ExecFailed(reason) => Some(Err(reason)),
        _ => None,
    })?;
    let end = |end| match end {
        Some(Ok(code)) => CommandEnd::Exited(code),
        Some(Err(reason)) => CommandEnd::Failed(reason),
        None => CommandEnd::Interrupted,
    };
    Ok(ends.into_iter().map(end).collect())
}

/// Shuts down standing agents. Returns the id and error of each node whose agent could not be
/// reached or did not end.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn shut_down(agents: Vec<Result<Agent, String>>) -> std::io::Result<Vec<(NodeId, String)>> {
    let (mut agents, reasons) = Agents::split(agents);
    let failures = (1..).map(NodeId).zip(reasons);
    let mut failed: Vec<_> =
        failures.filter_map(|(id, reason)| reason.map(|reason| (id, reason))).collect();
    agents.send_all(&ToAgent::Shutdown);
    let deadline = clock::now_ns() + SILENCE_NS;
    while agents.nodes().any(|node| agents.has(node)) && clock::now_ns() < deadline {
        // The set notes closed channels itself; ignore the messages.
        drop(agents.wait(None, clock::until(deadline))?);
    }
    let stayed = (1..).map(NodeId).zip(agents.nodes()).filter(|(_, node)| agents.has(*node));
    failed.extend(stayed.map(|(id, _)| {
        (id, format!("its agent did not end within {} s", SILENCE_NS / 1_000_000_000))
    }));
    Ok(failed)
}

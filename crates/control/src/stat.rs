//! Looks up what nodes have, before a copy is planned.

use std::io;

use garland_protocol::copy::{Examination, StatReply, StatRequest};
use garland_protocol::operation::{self, Query};
use garland_sys::signal::Interrupts;

use crate::copy::Agent;
use crate::session::Session;

/// An agent and its reply, or the error of its node.
pub type Looked<T> = Result<(Agent, T), String>;

/// Sends each of `requests` to one of `agents`, in order, to look up files that a copy is made
/// from. Returns the agents with their replies, in order. Calls `observe` at least every 100 ms
/// with the indices of the agents that have not replied yet.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn stat(
    agents: Vec<Result<Agent, String>>,
    requests: Vec<StatRequest>,
    interrupts: Option<&Interrupts>,
    observe: &mut dyn FnMut(&[usize]),
) -> io::Result<Vec<Looked<Vec<StatReply>>>> {
    let query = operation::stat(requests);
    ask(agents, query, interrupts, observe)
}

/// Makes all `agents` examine their nodes, and the directory of the destination `path`. Returns the
/// agents with what they found, in order.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn examine(
    agents: Vec<Result<Agent, String>>,
    path: &[u8],
    interrupts: Option<&Interrupts>,
) -> io::Result<Vec<Looked<Examination>>> {
    let query = operation::examine(agents.len(), path);
    ask(agents, query, interrupts, &mut |_| {})
}

fn ask<T>(
    agents: Vec<Result<Agent, String>>,
    query: Query<'_, T>,
    interrupts: Option<&Interrupts>,
    observe: &mut dyn FnMut(&[usize]),
) -> io::Result<Vec<Looked<T>>> {
    let mut session = Session::new(agents, interrupts);
    let observe_query = &mut |query: &mut Query<'_, T>| {
        let awaited: Vec<usize> = query.awaited().collect();
        observe(&awaited);
    };
    let replies = session.run(query, observe_query)?.into_answers();
    let agents = session.into_agents().zip(replies.into_values()).map(|(agent, reply)| {
        let reply = reply.unwrap_or_else(|| Err("interrupted".to_owned()))?;
        Ok((agent?, reply))
    });
    Ok(agents.collect())
}

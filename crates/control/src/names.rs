//! Names for content: asks agents for the names that they keep, and for what their nodes have.

use std::io;
use std::time::Duration;

use garland_protocol::operation::{self, NamesAnswer};
use garland_protocol::{NamesOrder, RecordKey};
use garland_sys::clock;
use garland_sys::signal::Interrupts;

use crate::copy::Agent;
use crate::session::Session;

/// An agent or the error of its node, and what it answers about names.
pub type NamesReply = (Result<Agent, String>, Result<NamesAnswer, String>);

/// What became of an order to an agent that keeps names.
pub struct KeeperReply {
    /// The agent or the error of its node.
    pub agent: Result<Agent, String>,
    /// Its answer, or its error.
    pub answer: Result<NamesAnswer, String>,
    /// How long the answer or the error took.
    pub took: Duration,
    /// Whether its channel is closed, or it was silent at the end.
    pub is_gone: bool,
}

/// Sends `order`, which asks for no records, to all `agents`; before it, the pieces of `manifest`. Returns the agents,
/// and the answer or error of each, in order.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn ask_names(
    agents: Vec<Result<Agent, String>>,
    order: &NamesOrder,
    manifest: &[u8],
    interrupts: Option<&Interrupts>,
) -> io::Result<Vec<NamesReply>> {
    let replies = ask_records(agents, order, manifest, None, interrupts)?;
    Ok(replies.into_iter().map(|reply| (reply.agent, reply.answer)).collect())
}

/// Sends `order` to all `agents`; before it, `manifest`, if the order is to keep an entry with it.
/// Of the records that agents answer only those count that are signed by `records`. Returns what
/// became of each, in order.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn ask_records(
    agents: Vec<Result<Agent, String>>,
    order: &NamesOrder,
    manifest: &[u8],
    records: Option<&RecordKey>,
    interrupts: Option<&Interrupts>,
) -> io::Result<Vec<KeeperReply>> {
    let count = agents.len();
    let query = operation::names(count, order, manifest, records);
    let mut session = Session::new(agents, interrupts);
    let began_ns = clock::now_ns();
    let mut took: Vec<Option<Duration>> = vec![None; count];
    let query = session.run(query, &mut |query| {
        for (node, took) in took.iter_mut().enumerate() {
            if took.is_none() && query.has_answered(node) {
                *took = Some(Duration::from_nanos(clock::now_ns() - began_ns));
            }
        }
    })?;
    let whole = Duration::from_nanos(clock::now_ns() - began_ns);
    let is_gone: Vec<bool> = (0..count).map(|node| session.is_gone(node)).collect();
    let answers = query.into_answers().into_values();
    let answers = answers.map(|it| it.unwrap_or_else(|| Err("interrupted".to_owned())));
    let mut replies = Vec::new();
    for (node, (agent, answer)) in session.into_agents().zip(answers).enumerate() {
        let took = took[node].unwrap_or(whole);
        replies.push(KeeperReply { agent, answer, took, is_gone: is_gone[node] });
    }
    Ok(replies)
}

//! Names for content: asks agents for the names that they keep, and for what their nodes have.

use std::io;

use garland_protocol::operation::{self, NamesAnswer};
use garland_protocol::{NamesOrder, RecordKey};
use garland_sys::signal::Interrupts;

use crate::copy::Agent;
use crate::session::Session;

/// An agent or the error of its node, and what it answers about names.
pub type NamesReply = (Result<Agent, String>, Result<NamesAnswer, String>);

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
    ask_records(agents, order, manifest, None, interrupts)
}

/// Sends `order` to all `agents`; before it, `manifest`, if the order is to keep an entry with it. Of the records
/// that agents answer only those count that are signed by `records`. Returns the agents, and the answer or error of
/// each, in order.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn ask_records(
    agents: Vec<Result<Agent, String>>,
    order: &NamesOrder,
    manifest: &[u8],
    records: Option<&RecordKey>,
    interrupts: Option<&Interrupts>,
) -> io::Result<Vec<NamesReply>> {
    let query = operation::names(agents.len(), order, manifest, records);
    let mut session = Session::new(agents, interrupts);
    let answers = session.run(query, &mut |_| {})?.into_answers().into_values();
    let answers = answers.map(|it| it.unwrap_or_else(|| Err("interrupted".to_owned())));
    Ok(session.into_agents().zip(answers).collect())
}

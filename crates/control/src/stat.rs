//! Looks up files on nodes, before a copy from them is planned.

use garland_protocol::operation::stat as query;
use garland_protocol::{StatReply, StatRequest};
use garland_sys::signal::Interrupts;

use crate::copy::Agent;
use crate::session::Session;

/// An agent and its replies, or the error of its node.
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
    let query = query(agents.len(), request);
    let mut session = Session::new(agents, interrupts);
    let replies = session.run(query, &mut |_| {})?.into_answers();
    let agents = session.into_agents().zip(replies.into_values()).map(|(agent, reply)| {
        let reply = reply.unwrap_or_else(|| Err("interrupted".to_owned()))?;
        Ok((agent?, reply))
    });
    Ok(agents.collect())
}

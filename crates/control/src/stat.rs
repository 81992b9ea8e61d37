//! Looks up files on nodes, before a copy from them is planned.

use std::time::Duration;

use garland_protocol::{FromAgent, StatReply, StatRequest, ToAgent};
use garland_sys::signal::Interrupts;

use crate::copy::Agent;
use crate::session::Session;
use garland_protocol::operation::Query;

/// Timeout for the lookup of a file: a disk may have to spin up. Trees have no timeout.
const PATIENCE: Duration = Duration::from_secs(30);

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
    let orders = (0..agents.len()).map(|node| (node, ToAgent::Stat(request.clone())));
    let late = format!("the lookup of the file timed out after {} s", PATIENCE.as_secs());
    let deadline = request.tree.is_none().then(|| (PATIENCE, late));
    let query = Query::new(orders, deadline, |_, message| match message {
        FromAgent::Looked(reply) => Some(reply),
        _ => None,
    });
    let mut session = Session::new(agents, interrupts);
    let replies = session.run(query, &mut |_| {})?.into_answers();
    let agents = session.into_agents().zip(replies.into_values()).map(|(agent, reply)| {
        let reply = reply.unwrap_or_else(|| Err("interrupted".to_owned()))?;
        Ok((agent?, reply))
    });
    Ok(agents.collect())
}

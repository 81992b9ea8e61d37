//! The standing chain: links between the agents of neighbouring nodes.

use garland_protocol::copy::CopyId;
use garland_protocol::operation::{self, Answers, Links, Query};
use garland_protocol::wire::Secret;
use garland_sys::random;

use crate::copy::Agent;
use crate::session::Session;

/// Makes each of `agents` open links to the next available agent, one link to each address of that
/// agent; `None` is a node without an available agent. Returns the links of each agent, in the same
/// order.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn stand_chain(agents: Vec<Option<Agent>>) -> std::io::Result<Vec<Links>> {
    let addresses = |agent: &Option<Agent>| Some(agent.as_ref()?.addresses.clone());
    let addresses: Vec<_> = agents.iter().map(addresses).collect();
    let order = CopyId(random::bytes());
    let secret = Secret(random::bytes());
    let mut links = vec![Links::default(); agents.len()];
    for (node, answer) in ask(agents, operation::stand_chain(&addresses, order, &secret))? {
        links[node] = match answer {
            Some(Ok(links)) => links,
            Some(Err(reason)) => Links { count: 0, failed: vec![reason] },
            None => Links::default(),
        };
    }
    Ok(links)
}

/// The agents of nodes in their order, and which of them their predecessors do not reach.
pub struct LinkedNeighbours {
    /// The agent or error of each node.
    pub agents: Vec<Result<Agent, String>>,
    /// Whether the node before a node, if there is one with an agent, could not open a link to it.
    pub unreached: Vec<bool>,
}

/// Has each of `agents` open a link to the next one that there is.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn link_neighbours(agents: Vec<Result<Agent, String>>) -> std::io::Result<LinkedNeighbours> {
    let addresses = |agent: &Result<Agent, String>| Some(agent.as_ref().ok()?.addresses.clone());
    let addresses: Vec<_> = agents.iter().map(addresses).collect();
    let order = CopyId(random::bytes());
    let query = operation::stand_chain(&addresses, order, &Secret(random::bytes()));
    let mut session = Session::new(agents, None);
    let answers = session.run(query, &mut |_| {})?.into_answers();
    let mut unreached = vec![false; addresses.len()];
    let mut before = None;
    for (node, _) in addresses.iter().enumerate().filter(|(_, its)| its.is_some()) {
        let links = before.and_then(|near| answers.get(&near)).and_then(Option::as_ref);
        unreached[node] =
            links.is_some_and(|links| !matches!(links, Ok(links) if links.failed.is_empty()));
        before = Some(node);
    }
    Ok(LinkedNeighbours { agents: session.into_agents().collect(), unreached })
}

/// Asks an agent for the number of its links to the next node in the chain; `None` if it does not
/// answer.
#[must_use]
pub fn count_links(agent: Agent) -> Option<u32> {
    ask(vec![Some(agent)], operation::count_links()).ok()?.remove(&0)??.ok()
}

fn ask<T>(agents: Vec<Option<Agent>>, query: Query<'_, T>) -> std::io::Result<Answers<T>> {
    let agents = agents.into_iter().map(|agent| agent.ok_or_else(String::new)).collect();
    Ok(Session::new(agents, None).run(query, &mut |_| {})?.into_answers())
}

//! The standing chain: links between the agents of neighbouring nodes.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use garland_protocol::copy::CopyId;
use garland_protocol::operation::{self, Answers, Links, Query};
use garland_protocol::wire::Secret;
use garland_sys::random;
use garland_sys::signal::Interrupts;
use garland_sys::sync::Mutex;

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
    /// For each node whether the one before it, of those with an agent, cannot open a link to its
    /// first address.
    pub unreached: Vec<bool>,
}

/// Has each of `agents` open a link to the first address of the next one that there is, and
/// remembers as long as this process lives what could not be reached.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn link_neighbours(
    agents: Vec<Result<Agent, String>>,
    interrupts: Option<&Interrupts>,
) -> std::io::Result<LinkedNeighbours> {
    /// The hops over which no link could be opened.
    static UNREACHED: Mutex<BTreeSet<Hop>> = Mutex::new(BTreeSet::new());
    let first = |agent: &Result<Agent, String>| agent.as_ref().ok()?.addresses.first().copied();
    let addresses: Vec<Option<SocketAddr>> = agents.iter().map(first).collect();
    let nears = nodes_before(&addresses);
    let hop = |node: usize| Some(Hop { from: addresses[nears[node]?]?, to: addresses[node]? });
    let is_unreached = |node: usize| hop(node).is_some_and(|hop| UNREACHED.lock().contains(&hop));
    let mut session = Session::new(agents, interrupts);
    if (0..nears.len()).any(|node| hop(node).is_some() && !is_unreached(node)) {
        let order = CopyId(random::bytes());
        let lists: Vec<_> = addresses.iter().map(|address| address.map(|at| vec![at])).collect();
        let query = operation::stand_chain(&lists, order, &Secret(random::bytes()));
        let answers = session.run(query, &mut |_| {})?.into_answers();
        for (node, near) in nears.iter().enumerate() {
            let Some(link) = hop(node) else { continue };
            let links = near.and_then(|near| answers.get(&near)).and_then(Option::as_ref);
            let is_linked = links.is_some_and(|it| it.as_ref().is_ok_and(|it| it.count > 0));
            let _ = match is_linked {
                true => UNREACHED.lock().remove(&link),
                false => UNREACHED.lock().insert(link),
            };
        }
    }
    let unreached = (0..nears.len()).map(is_unreached).collect();
    Ok(LinkedNeighbours { agents: session.into_agents().collect(), unreached })
}

/// A hop between two agents, by their first addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Hop {
    from: SocketAddr,
    to: SocketAddr,
}

/// Returns for each node the one with an address before it, if there is one.
fn nodes_before(addresses: &[Option<SocketAddr>]) -> Vec<Option<usize>> {
    let mut before = None;
    let mut nears = Vec::new();
    for (node, address) in addresses.iter().enumerate() {
        nears.push(before.filter(|_| address.is_some()));
        before = address.map(|_| node).or(before);
    }
    nears
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

//! The standing chain: links between the agents of neighbouring nodes.

use std::net::SocketAddr;

use garland_core::unreached::{Hop, UnreachedHops};
use garland_protocol::copy::CopyId;
use garland_protocol::operation::{self, Answers, Links, Query};
use garland_protocol::wire::Secret;
use garland_sys::signal::Interrupts;
use garland_sys::{clock, random};

use crate::copy::Agent;
use crate::session::Session;

/// Makes each of `agents` open links to the next available agent, one link to each address of that
/// agent; `None` is a node without an available agent. Returns the links of each agent, in the same
/// order. For what `unreached` is, see [`link_neighbours`].
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn stand_chain(
    agents: Vec<Option<Agent>>,
    unreached: &mut UnreachedHops,
) -> std::io::Result<Vec<Links>> {
    let chain = Chain::new(agents.iter().map(Option::as_ref), usize::MAX, unreached);
    let agents = agents.into_iter().map(|agent| agent.ok_or_else(String::new)).collect();
    chain.stand(&mut Session::new(agents, None), unreached)
}

/// The agents of nodes in their order, and which of them their predecessors do not reach.
pub struct LinkedNeighbours {
    /// The agent or error of each node.
    pub agents: Vec<Result<Agent, String>>,
    /// For each node whether the one before it, of those with an agent, cannot open a link to its
    /// first address.
    pub unreached: Vec<bool>,
}

/// Has each of `agents` open a link to the first address of the next one that there is. A hop that
/// `unreached` has, to a node which this machine does not reach either, is not tried again;
/// `unreached` gets what is found.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn link_neighbours(
    agents: Vec<Result<Agent, String>>,
    unreached: &mut UnreachedHops,
    interrupts: Option<&Interrupts>,
) -> std::io::Result<LinkedNeighbours> {
    let chain = Chain::new(agents.iter().map(|agent| agent.as_ref().ok()), 1, unreached);
    let mut session = Session::new(agents, interrupts);
    let links = chain.stand(&mut session, unreached)?;
    let is_unreached = |near: &Option<usize>| near.is_some_and(|near| links[near].count == 0);
    let unreached = chain.nears.iter().map(is_unreached).collect();
    Ok(LinkedNeighbours { agents: session.into_agents().collect(), unreached })
}

/// The links that are to be opened between neighbours.
struct Chain {
    /// The addresses of each node to which its predecessor opens links: none if they are known to
    /// be out of reach, `None` for a node without an agent.
    lists: Vec<Option<Vec<SocketAddr>>>,
    /// For each node the one with an agent before it.
    nears: Vec<Option<usize>>,
    /// The hop to each node to which a link is opened.
    hops: Vec<Option<Hop>>,
}

impl Chain {
    /// Returns the chain over the nodes with `agents`, with at most `links_max` links to each, and
    /// without the hops that are known to be out of reach.
    fn new<'a>(
        agents: impl Iterator<Item = Option<&'a Agent>>,
        links_max: usize,
        unreached: &UnreachedHops,
    ) -> Self {
        let now_ns = clock::wall_ns();
        let mut chain = Self { lists: Vec::new(), nears: Vec::new(), hops: Vec::new() };
        let mut before: Option<usize> = None;
        let mut before_at = None;
        for (node, agent) in agents.enumerate() {
            let addresses = agent.map_or(&[][..], |agent| &agent.addresses);
            let at = addresses.first().map(SocketAddr::ip);
            let hop = before_at.zip(at).map(|(from, to)| Hop { from, to });
            let rests = |hop: &Hop| {
                agent.is_some_and(Agent::is_behind_login) && unreached.has(*hop, now_ns)
            };
            let opened = hop.filter(|hop| !rests(hop));
            let links = if opened.is_some() { links_max.min(addresses.len()) } else { 0 };
            chain.lists.push(at.map(|_| addresses[..links].to_vec()));
            chain.nears.push(before.filter(|_| at.is_some()));
            chain.hops.push(opened);
            before = at.map(|_| node).or(before);
            before_at = at.or(before_at);
        }
        chain
    }

    /// Has the agents of `session` open the links, and tells `unreached` of it. Returns the links
    /// of each agent to the next one.
    fn stand(
        &self,
        session: &mut Session,
        unreached: &mut UnreachedHops,
    ) -> std::io::Result<Vec<Links>> {
        let mut links = vec![Links::default(); self.lists.len()];
        if self.hops.iter().all(Option::is_none) {
            return Ok(links);
        }
        let order = CopyId(random::bytes());
        let query = operation::stand_chain(&self.lists, order, &Secret(random::bytes()));
        let began_ns = clock::wall_ns();
        for (node, answer) in session.run(query, &mut |_| {})?.into_answers() {
            links[node] = match answer {
                Some(Ok(links)) => links,
                Some(Err(reason)) => Links { count: 0, failed: vec![reason] },
                None => Links::default(),
            };
        }
        let ended_ns = clock::wall_ns();
        for (hop, near) in self.hops.iter().zip(&self.nears) {
            if let (Some(hop), Some(near)) = (hop, near) {
                match links[*near].count {
                    0 => unreached.remember(*hop, began_ns, ended_ns),
                    _ => unreached.forget(*hop),
                }
            }
        }
        Ok(links)
    }
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

//! The standing chain: links between the agents of neighbouring nodes.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use garland_protocol::copy::CopyId;
use garland_protocol::operation::{self, Answers, Links, Query};
use garland_protocol::wire::Secret;
use garland_sys::signal::Interrupts;
use garland_sys::sync::Mutex;
use garland_sys::{clock, random};

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
/// remembers what could not be reached: it is asked again, but not so often that the copies of a
/// spool would wait for the answer each time.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn link_neighbours(
    agents: Vec<Result<Agent, String>>,
    interrupts: Option<&Interrupts>,
) -> std::io::Result<LinkedNeighbours> {
    static UNREACHED: Mutex<Unreached> = Mutex::new(Unreached(BTreeMap::new()));
    let first = |agent: &Result<Agent, String>| agent.as_ref().ok()?.addresses.first().copied();
    let addresses: Vec<Option<SocketAddr>> = agents.iter().map(first).collect();
    let nears = nodes_before(&addresses);
    let hop = |node: usize| Some(Hop { from: addresses[nears[node]?]?, to: addresses[node]? });
    let mut session = Session::new(agents, interrupts);
    let began_ns = clock::now_ns();
    let is_due = |node: usize| hop(node).is_some_and(|hop| UNREACHED.lock().is_due(&hop, began_ns));
    if (0..nears.len()).any(is_due) {
        let order = CopyId(random::bytes());
        let lists: Vec<_> = addresses.iter().map(|address| address.map(|at| vec![at])).collect();
        let query = operation::stand_chain(&lists, order, &Secret(random::bytes()));
        let answers = session.run(query, &mut |_| {})?.into_answers();
        let ended_ns = clock::now_ns();
        let took_ns = ended_ns - began_ns;
        for (node, near) in nears.iter().enumerate() {
            let Some(link) = hop(node) else { continue };
            let links = near.and_then(|near| answers.get(&near)).and_then(Option::as_ref);
            let is_linked = links.is_some_and(|it| it.as_ref().is_ok_and(|it| it.count > 0));
            match is_linked {
                true => UNREACHED.lock().forget(&link),
                false => UNREACHED.lock().remember(link, ended_ns, took_ns),
            }
        }
    }
    let is_unreached = |node: usize| hop(node).is_some_and(|hop| UNREACHED.lock().contains(&hop));
    let unreached = (0..nears.len()).map(is_unreached).collect();
    Ok(LinkedNeighbours { agents: session.into_agents().collect(), unreached })
}

/// A hop between two agents, by their first addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Hop {
    from: SocketAddr,
    to: SocketAddr,
}

/// The hops over which no link could be opened, and from when on each is asked again, in
/// nanoseconds of the monotonic clock.
struct Unreached(BTreeMap<Hop, u64>);

impl Unreached {
    /// How many times as long as it took a hop is not asked again: a firewall that drops segments
    /// costs a timeout each time, one that refuses them nothing.
    const REST: u64 = 10;

    fn contains(&self, hop: &Hop) -> bool {
        self.0.contains_key(hop)
    }

    /// Returns whether the hop is to be asked: what is known of it is too old, or nothing is.
    fn is_due(&self, hop: &Hop, now_ns: u64) -> bool {
        self.0.get(hop).is_none_or(|again_ns| now_ns >= *again_ns)
    }

    /// Notes that the hop was not reached, after `took_ns`.
    fn remember(&mut self, hop: Hop, now_ns: u64, took_ns: u64) {
        self.0.insert(hop, now_ns.saturating_add(took_ns.saturating_mul(Self::REST)));
    }

    /// Notes that the hop was reached.
    fn forget(&mut self, hop: &Hop) {
        self.0.remove(hop);
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_reached_is_asked_again_and_used_when_it_is() {
        let at = |text: &str| text.parse().expect("an address");
        let hop = Hop { from: at("10.0.0.1:4000"), to: at("10.0.0.2:4000") };
        let mut unreached = Unreached(BTreeMap::new());
        assert!(unreached.is_due(&hop, 0) && !unreached.contains(&hop));
        unreached.remember(hop, 2_000, 2_000);
        assert!(unreached.contains(&hop));
        assert!(!unreached.is_due(&hop, 21_999) && unreached.is_due(&hop, 22_000));
        unreached.forget(&hop);
        assert!(unreached.is_due(&hop, 22_000) && !unreached.contains(&hop));
    }
}

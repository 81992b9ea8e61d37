//! The standing chain: links between the agents of neighbouring nodes, opened before a copy needs
//! them.

use std::net::SocketAddr;
use std::time::Duration;

use garland_dataplane::leaving::after;
use garland_protocol::{CopyId, FromAgent, Secret, ToAgent};
use garland_sys::{clock, random};

use crate::agent_set::AgentEvent;
use crate::agents::Agents;
use crate::copy::Agent;

/// Timeout for agents to open their links, or to report the number of their links.
const PATIENCE: Duration = Duration::from_secs(5);

/// The links of a node to the next node in the chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// The number of links.
    pub count: u32,
    /// The errors of links that could not be opened.
    pub failed: Vec<String>,
}

/// Makes each of `agents` open links to the next available agent, one link to each address of that
/// agent; `None` is a node without an available agent. Returns the links of each agent, in the same
/// order.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn stand_chain(agents: Vec<Option<Agent>>) -> std::io::Result<Vec<Links>> {
    // The secret only proves to each end of a link that the other one received the same order.
    let (order, secret) = (CopyId(random::bytes()), Secret(random::bytes()));
    let mut neighbours: Vec<Vec<SocketAddr>> = Vec::new();
    let mut next = Vec::new();
    for agent in agents.iter().rev() {
        neighbours.push(if agent.is_some() { next.clone() } else { Vec::new() });
        next = agent.as_ref().map_or(next, |agent| agent.addresses.clone());
    }
    neighbours.reverse();
    let mut agents = Agents::new(agents);
    for (node, neighbours) in neighbours.iter().enumerate() {
        agents.send(node, &ToAgent::Stand(order, secret.clone(), neighbours.clone()));
    }
    let mut links = vec![Links::default(); neighbours.len()];
    ask(&mut agents, |node, event| match event {
        AgentEvent::Message(FromAgent::Stands(of, failed)) if of == order => {
            let asked = neighbours[node].len();
            let count = u32::try_from(asked.saturating_sub(failed.len())).unwrap_or(0);
            links[node] = Links { count, failed };
            true
        }
        AgentEvent::Message(_) => false,
        AgentEvent::Lost(reason) => {
            links[node].failed.push(reason);
            true
        }
    })?;
    Ok(links)
}

/// Asks an agent for the number of its links to the next node in the chain; `None` if it does not
/// answer.
#[must_use]
pub fn count_links(agent: Agent) -> Option<u32> {
    let mut count = None;
    let mut agents = Agents::new(vec![Some(agent)]);
    let asked = ask(&mut agents, |_, event| match event {
        AgentEvent::Message(FromAgent::Welcome { links, .. }) => {
            count = Some(links);
            true
        }
        AgentEvent::Message(_) => false,
        AgentEvent::Lost(_) => true,
    });
    asked.ok().and(count)
}

/// Passes events to `handle` until it has returned true for every agent, or the timeout has passed.
/// `handle` gets the index of the agent, and the event.
fn ask(
    agents: &mut Agents,
    mut handle: impl FnMut(usize, AgentEvent) -> bool,
) -> std::io::Result<()> {
    let mut owing: Vec<usize> = agents.nodes().filter(|&node| agents.has(node)).collect();
    let deadline = after(PATIENCE);
    while !owing.is_empty() && clock::now_ns() < deadline {
        for (node, event) in agents.wait(None, clock::until(deadline))? {
            if handle(node, event) {
                owing.retain(|&other| other != node);
            }
        }
    }
    Ok(())
}

//! The standing chain: links between the agents of neighbouring nodes, opened before a copy needs
//! them.

use std::net::SocketAddr;
use std::time::Duration;

use garland_protocol::{CopyId, FromAgent, Secret, ToAgent};
use garland_sys::random;

use crate::copy::Agent;
use crate::session::Session;
use garland_protocol::operation::{Answers, Query};

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
    let asked: Vec<usize> = neighbours.iter().map(Vec::len).collect();
    let there = neighbours.into_iter().enumerate().filter(|(node, _)| agents[*node].is_some());
    let stand = |(node, next)| (node, ToAgent::Stand(order, secret.clone(), next));
    let orders: Vec<(usize, ToAgent)> = there.map(stand).collect();
    let answers = ask(agents, orders, |message| match message {
        FromAgent::Stands(of, failed) if of == order => Some(failed),
        _ => None,
    })?;
    let mut links = vec![Links::default(); asked.len()];
    for (node, answer) in answers {
        links[node] = match answer {
            Some(Ok(failed)) => {
                let count = asked[node].saturating_sub(failed.len());
                Links { count: u32::try_from(count).unwrap_or(0), failed }
            }
            Some(Err(reason)) => Links { count: 0, failed: vec![reason] },
            None => Links::default(),
        };
    }
    Ok(links)
}

/// Asks an agent for the number of its links to the next node in the chain; `None` if it does not
/// answer.
#[must_use]
pub fn count_links(agent: Agent) -> Option<u32> {
    // An agent says it in its first message, without an order.
    let answers = ask(vec![Some(agent)], vec![(0, ToAgent::Ping)], |message| match message {
        FromAgent::Welcome { links, .. } => Some(links),
        _ => None,
    });
    answers.ok()?.remove(&0)??.ok()
}

/// Sends `orders`, and waits for an answer to each.
fn ask<T>(
    agents: Vec<Option<Agent>>,
    orders: Vec<(usize, ToAgent)>,
    mut answer: impl FnMut(FromAgent) -> Option<T>,
) -> std::io::Result<Answers<T>> {
    let late = format!("no answer within {} s", PATIENCE.as_secs());
    let answer = move |_, message| answer(message).map(Ok);
    let query = Query::new(orders, Some((PATIENCE, late)), answer);
    let agents = agents.into_iter().map(|agent| agent.ok_or_else(String::new)).collect();
    Ok(Session::new(agents, None).run(query, &mut |_| {})?.into_answers())
}

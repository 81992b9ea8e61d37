//! The standing chain: links between the agents of neighbouring nodes, opened before a copy needs
//! them.

use std::time::Duration;

use super::query::Query;
use crate::copy::{CopyId, NodeAddress};
use crate::wire::Secret;
use crate::{FromAgent, ToAgent};

/// Timeout for agents to open their links, or to report the number of their links.
const LINKS_TIMEOUT: Duration = Duration::from_secs(5);

/// The links of a node to the next node in the chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Links {
    /// The number of links.
    pub count: u32,
    /// The errors of links that could not be opened.
    pub failed: Vec<String>,
}

/// Returns the query that has each agent open links to the next available agent, one link to each
/// address of that agent. An agent that does not answer within 5 s has failed. `addresses` are
/// those of each node's agent; `None` is a node without an available agent. The secret only proves
/// to each end of a link that the other one received the same order.
#[must_use]
pub fn stand_chain(
    addresses: &[Option<NodeAddress>],
    order: CopyId,
    secret: &Secret,
) -> Query<'static, Links> {
    let mut orders = Vec::new();
    let mut next = &Vec::new();
    let mut asked = vec![0; addresses.len()];
    for (node, its) in addresses.iter().enumerate().rev() {
        let Some(its) = its else { continue };
        asked[node] = next.len();
        orders.push((node, ToAgent::Stand(order, secret.clone(), next.clone())));
        next = its;
    }
    orders.reverse();
    Query::new(orders, Some(patience()), move |node, message| match message {
        FromAgent::Stands(of, failed) if of == order => {
            let count = asked[node].saturating_sub(failed.len());
            Some(Ok(Links { count: u32::try_from(count).unwrap_or(0), failed }))
        }
        _ => None,
    })
}

/// Asks the only agent for the number of its links to the next node in the chain.
#[must_use]
pub fn count_links() -> Query<'static, u32> {
    // An agent says it in its first message, without an order.
    Query::new([(0, ToAgent::Ping)], Some(patience()), |_, message| match message {
        FromAgent::Welcome { links, .. } => Some(Ok(links)),
        _ => None,
    })
}

fn patience() -> (Duration, String) {
    (LINKS_TIMEOUT, format!("no answer within {} s", LINKS_TIMEOUT.as_secs()))
}

#[cfg(test)]
mod tests;

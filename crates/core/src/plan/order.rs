//! In which order a chain visits the nodes.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// How the order of a chain is chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// As the node list names them.
    #[default]
    List,
    /// Rack by rack, so that each rack's uplink carries the stream once. Racks come in the order of
    /// their first node; nodes without a rack share one.
    Rack,
    /// As given, node by node.
    Given(Vec<String>),
}

/// Why an order can't be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OrderError {
    /// The given order names a node that the copy doesn't have.
    #[error("the order names {0}, which is not among the destination nodes")]
    Unknown(String),
    /// The given order leaves a node out or names it twice.
    #[error("the order names {0} {1} times; every destination node belongs in it once")]
    Count(String, usize),
}

/// The order in which a chain visits `nodes` (name and rack), as indices into `nodes`.
///
/// # Errors
/// When a given order isn't a permutation of the nodes.
pub fn chain_order(
    order: &Order,
    nodes: &[(String, Option<String>)],
) -> Result<Vec<usize>, OrderError> {
    match order {
        Order::List => Ok((0..nodes.len()).collect()),
        Order::Rack => Ok(by_rack(nodes)),
        Order::Given(names) => as_given(names, nodes),
    }
}

fn by_rack(nodes: &[(String, Option<String>)]) -> Vec<usize> {
    let mut rank: HashMap<Option<&str>, usize> = HashMap::new();
    for (_, rack) in nodes {
        let next = rank.len();
        rank.entry(rack.as_deref()).or_insert(next);
    }
    let mut indices: Vec<usize> = (0..nodes.len()).collect();
    indices.sort_by_key(|&index| rank[&nodes[index].1.as_deref()]);
    indices
}

fn as_given(
    names: &[String],
    nodes: &[(String, Option<String>)],
) -> Result<Vec<usize>, OrderError> {
    let place: HashMap<&str, usize> =
        nodes.iter().enumerate().map(|(index, (name, _))| (name.as_str(), index)).collect();
    let mut seen = vec![0usize; nodes.len()];
    let mut indices = Vec::with_capacity(names.len());
    for name in names {
        let &index = place.get(name.as_str()).ok_or_else(|| OrderError::Unknown(name.clone()))?;
        seen[index] += 1;
        indices.push(index);
    }
    match seen.iter().position(|&count| count != 1) {
        Some(wrong) => Err(OrderError::Count(nodes[wrong].0.clone(), seen[wrong])),
        None => Ok(indices),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nodes() -> Vec<(String, Option<String>)> {
        [("a", "r1"), ("b", "r2"), ("c", "r1")]
            .map(|(name, rack)| (name.to_owned(), Some(rack.to_owned())))
            .to_vec()
    }

    #[test]
    fn racks_stay_together() {
        assert_eq!(chain_order(&Order::Rack, &nodes()), Ok(vec![0, 2, 1]));
        assert_eq!(chain_order(&Order::List, &nodes()), Ok(vec![0, 1, 2]));
    }

    #[test]
    fn a_given_order_names_every_node_once() {
        let given = |names: &[&str]| Order::Given(names.iter().map(|&n| n.to_owned()).collect());
        assert_eq!(chain_order(&given(&["c", "a", "b"]), &nodes()), Ok(vec![2, 0, 1]));
        assert_eq!(
            chain_order(&given(&["c", "a"]), &nodes()),
            Err(OrderError::Count("b".to_owned(), 0))
        );
        assert_eq!(chain_order(&given(&["x"]), &nodes()), Err(OrderError::Unknown("x".to_owned())));
    }
}

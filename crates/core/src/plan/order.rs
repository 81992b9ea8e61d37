//! The order of nodes in a chain.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The method that orders the nodes of a chain.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// The order of the node list.
    #[default]
    List,
    /// Rack by rack, so that the stream crosses each rack's uplink once. Racks have the order of
    /// their first nodes; nodes without a rack form one rack.
    Rack,
    /// The order of these node names.
    Given(Vec<String>),
    /// By measured rates of pairs: each node sends to the remaining node with the highest rate, and
    /// slow nodes come last.
    Wires(Rates),
}

/// The rates from each node (outer index) to each other node (inner index), in bytes per second;
/// `None` if unknown.
pub type Rates = Vec<Vec<Option<f64>>>;

/// The error for an order that cannot be applied to the nodes.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum OrderError {
    /// The given order contains a node that the copy does not have.
    #[error("the given order contains {0}, which is not a destination node")]
    Unknown(String),
    /// The given order contains this node this number of times instead of exactly once.
    #[error("the given order contains {0} {1} times: it must contain each destination node once")]
    Count(String, usize),
}

/// Returns the order in which a chain visits `nodes` (name and rack), as indices into `nodes`.
///
/// # Errors
/// If a given order is not a permutation of the nodes.
pub fn chain_order(
    order: &Order,
    nodes: &[(String, Option<String>)],
) -> Result<Vec<usize>, OrderError> {
    match order {
        Order::List => Ok((0..nodes.len()).collect()),
        Order::Rack => Ok(by_rack(nodes)),
        Order::Given(names) => as_given(names, nodes),
        Order::Wires(rates) => Ok(by_wires(rates, nodes.len())),
    }
}

/// Rates whose ratio is at least this value count as equal: the list order decides.
const SAME: f64 = 0.9;

/// The maximum number of nodes that are tried as the first node of the chain. Nodes that send about
/// as fast as the fastest one are tried first.
const BEGINNINGS: usize = 32;

/// Returns the best of several greedy chains. In a greedy chain, each node sends to the remaining
/// node that it reaches with the highest rate. A node receives at the lowest rate of the hops
/// before it; the best chain has the highest sum of these rates.
fn by_wires(rates: &Rates, count: usize) -> Vec<usize> {
    let rate = |from: usize, to: usize| {
        let known = rates.get(from).and_then(|row| row.get(to)).copied().flatten();
        known.filter(|_| from != to).unwrap_or(0.0)
    };
    let gives = |from: usize| (0..count).map(|to| rate(from, to)).fold(0.0, f64::max);
    let gets = |to: usize| (0..count).map(|from| rate(from, to)).fold(0.0, f64::max);
    let most = (0..count).map(gives).fold(0.0, f64::max);
    let gives_well: Vec<bool> = (0..count).map(|node| gives(node) >= SAME * most).collect();
    let mut beginnings: Vec<usize> = (0..count).collect();
    // The sort is stable, so equal nodes keep the order of the list.
    beginnings.sort_by_key(|&node| !gives_well[node]);
    let mut best: Option<(f64, Vec<usize>)> = None;
    for first in beginnings.into_iter().take(BEGINNINGS) {
        let mut chain = vec![first];
        let mut left: Vec<usize> = (0..count).filter(|&node| node != first).collect();
        // The rate from the head is unknown; assume the best rate that the node can receive.
        let mut narrowest = gets(first);
        let mut sum = narrowest;
        while let Some(&last) = chain.last().filter(|_| !left.is_empty()) {
            let most = left.iter().map(|&to| rate(last, to)).fold(0.0, f64::max);
            let near = |to: usize| rate(last, to) >= SAME * most;
            // Nodes that send slowly come last.
            let good = left.iter().position(|&to| near(to) && gives_well[to]);
            let next = good.or_else(|| left.iter().position(|&to| near(to))).unwrap_or(0);
            let next = left.remove(next);
            narrowest = narrowest.min(rate(last, next));
            sum += narrowest;
            chain.push(next);
        }
        // Another first node must be clearly better.
        if best.as_ref().is_none_or(|(most, _)| SAME * sum > *most) {
            best = Some((sum, chain));
        }
    }
    best.map(|(_, chain)| chain).unwrap_or_default()
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

    /// Orders four nodes with 100 bytes per second between all of them, except for `others`.
    fn wires(others: &[(usize, usize, f64)]) -> Vec<usize> {
        let mut rates: Rates = vec![vec![Some(100.0); 4]; 4];
        for &(from, to, rate) in others {
            rates[from][to] = Some(rate);
        }
        by_wires(&rates, 4)
    }

    #[test]
    fn equal_wires_leave_the_list_as_it_is() {
        assert_eq!(wires(&[]), [0, 1, 2, 3]);
        assert_eq!(wires(&[(0, 1, 95.0), (2, 3, 104.0)]), [0, 1, 2, 3], "noise");
        assert_eq!(by_wires(&Vec::new(), 2), [0, 1], "nobody knows anything");
        assert_eq!(by_wires(&Vec::new(), 0), [0; 0]);
    }

    #[test]
    fn slow_pairs_are_no_neighbours_and_slow_nodes_come_last() {
        assert_eq!(wires(&[(0, 1, 10.0), (1, 0, 10.0)]), [0, 2, 1, 3]);
        let slow = [(0, 1, 10.0), (2, 1, 10.0), (3, 1, 10.0), (1, 0, 10.0), (1, 2, 10.0)];
        assert_eq!(wires(&slow).last(), Some(&1));
        // A node that receives well but sends badly should come last too.
        let mute = [(0, 1, 10.0), (0, 2, 10.0), (0, 3, 10.0)];
        assert_eq!(wires(&mute).last(), Some(&0));
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

//! The traffic patterns by which topologies are compared.

use serde::Serialize;

use super::super::{NodeId, Topology};

/// A set of connections that send at the same time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrafficPattern {
    /// The pattern's name, such as `the head to all at once`.
    pub name: String,
    /// The sender and receiver of each connection.
    pub flows: Vec<(NodeId, NodeId)>,
}

/// Returns the patterns: one flow, the head to all, disjoint pairs of neighbours in order, and the
/// bisection, in which each node of the first half exchanges data with its partner in the second
/// half. A single node has no patterns.
///
/// The worst bisection is infeasible to find in a large topology. This one splits the nodes in the
/// middle of their order, which in a shape follows their positions.
pub fn loads(topology: &Topology) -> Vec<TrafficPattern> {
    let nodes = topology.nodes.len();
    if nodes < 2 {
        return Vec::new();
    }
    let load = |name: &str, flows| TrafficPattern { name: name.to_owned(), flows };
    let half = nodes / 2;
    let across = (0..half).flat_map(|node| [(node, node + half), (node + half, node)]);
    vec![
        load("one flow from the head", vec![(0, nodes - 1)]),
        load("the head to all at once", (1..nodes).map(|to| (0, to)).collect()),
        load("neighbours in pairs", (0..half).map(|pair| (2 * pair, 2 * pair + 1)).collect()),
        load("bisection, both ways", across.collect()),
    ]
}

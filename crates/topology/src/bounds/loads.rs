//! The loads that show what a topology is good for.

use serde::Serialize;

use super::super::{NodeId, Topology};

/// Connections that send at once, and what they are called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrafficPattern {
    /// For people: `head to all at once`.
    pub name: String,
    /// Senders and receivers.
    pub flows: Vec<(NodeId, NodeId)>,
}

/// One flow, the head to all, disjoint pairs of neighbours in order, and the bisection: the first
/// half of the nodes and the second, each node with its partner in the other half, both ways. A
/// single node has no loads.
///
/// The bisection isn't the worst of all halves (which is infeasible for large topologies), but
/// the one in the nodes' order, which shapes number by place.
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

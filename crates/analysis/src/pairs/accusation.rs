//! Parts of a cluster that are at fault.

/// A part of the cluster. Nodes are given by their indices.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Component {
    /// A node in both directions, with all partners: its cable, its NIC or the host.
    Node(usize),
    /// The sending direction of a node, to all partners.
    Sending(usize),
    /// The receiving direction of a node, from all partners.
    Receiving(usize),
    /// Two nodes in both directions: the cable or the route between them.
    Pair(usize, usize),
    /// The direction from the first node to the second.
    OneWay(usize, usize),
    /// All pairs between two groups: the cable or the route that joins them.
    Between(Vec<usize>, Vec<usize>),
    /// All pairs from the first group to the second, but not back.
    Across(Vec<usize>, Vec<usize>),
}

impl Component {
    /// Returns whether transfers from `from` to `to` use this part.
    pub fn carries(&self, from: usize, to: usize) -> bool {
        let across = |one: &[usize], other: &[usize]| one.contains(&from) && other.contains(&to);
        match self {
            Self::Node(node) => from == *node || to == *node,
            Self::Sending(node) => from == *node,
            Self::Receiving(node) => to == *node,
            Self::Pair(a, b) => (from, to) == (*a, *b) || (from, to) == (*b, *a),
            Self::OneWay(a, b) => (from, to) == (*a, *b),
            Self::Between(one, other) => across(one, other) || across(other, one),
            Self::Across(one, other) => across(one, other),
        }
    }

    /// Returns whether `part` carries nothing that this part does not carry, among so many nodes.
    pub fn includes(&self, part: &Self, nodes: usize) -> bool {
        let mut all = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to)));
        all.all(|(from, to)| from == to || !part.carries(from, to) || self.carries(from, to))
    }
}

/// A part that is worse than its peers by more than chance explains.
#[derive(Clone, Debug, PartialEq)]
pub struct Accusation {
    /// The part that is accused.
    pub part: Component,
    /// The performance of the part relative to a healthy one, from 0 to 1.
    pub share: f64,
    /// A part whose `share` is above this threshold is not accused.
    pub bound: f64,
}

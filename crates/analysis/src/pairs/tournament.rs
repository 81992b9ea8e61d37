//! Schedules all pairs of nodes in rounds of pairs without a common node.

/// Two nodes that are measured together, by index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MatchUp {
    /// The node that connects to the other one.
    pub one: usize,
    /// The other node.
    pub other: usize,
}

impl MatchUp {
    /// Creates a pair.
    pub fn new(one: usize, other: usize) -> Self {
        Self { one, other }
    }

    /// Returns both nodes.
    pub fn nodes(self) -> [usize; 2] {
        [self.one, self.other]
    }

    /// Returns the pair in the order of the nodes.
    #[must_use]
    pub fn sorted(self) -> Self {
        Self { one: self.one.min(self.other), other: self.one.max(self.other) }
    }
}

/// Returns the rounds of a round-robin tournament: each pair meets in exactly one round, and no
/// node is in two pairs of a round. There are `nodes - 1` rounds of `nodes / 2` pairs. For an odd
/// number of nodes there is one more round, and one node is idle in each.
///
/// This is the circle method: one place is fixed, the others rotate around it (Kirkman 1847).
pub fn rounds(nodes: usize) -> Vec<Vec<MatchUp>> {
    if nodes < 2 {
        return Vec::new();
    }
    let places = nodes + nodes % 2;
    let moving = places - 1;
    let round = |turn: usize| {
        let fixed = MatchUp::new(turn, moving);
        let facing = (1..places / 2)
            .map(|step| MatchUp::new((turn + step) % moving, (turn + moving - step) % moving));
        let pairs = std::iter::once(fixed).chain(facing).map(MatchUp::sorted);
        // For an odd number of nodes, one place is empty.
        pairs.filter(|pair| pair.other < nodes).collect()
    };
    (0..moving).map(round).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_pair_meets_once_and_nobody_is_in_two_pairs_of_a_round() {
        for nodes in 0..40 {
            let all = rounds(nodes);
            let odd = nodes % 2;
            let expected = if nodes < 2 { 0 } else { nodes - 1 + odd };
            assert_eq!(all.len(), expected, "{nodes} nodes");
            let mut met = BTreeSet::new();
            for round in &all {
                let mut seen = BTreeSet::new();
                assert_eq!(round.len(), (nodes - odd) / 2, "{nodes} nodes");
                for &pair in round {
                    let MatchUp { one, other } = pair;
                    assert!(one < other && other < nodes, "{nodes} nodes: {one} and {other}");
                    assert!(seen.insert(one) && seen.insert(other), "{nodes} nodes: {round:?}");
                    assert!(met.insert(pair), "{nodes} nodes: {one} and {other} meet twice");
                }
            }
            assert_eq!(met.len(), nodes * nodes.saturating_sub(1) / 2, "{nodes} nodes");
        }
    }
}

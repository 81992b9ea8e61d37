//! Schedules all pairs of nodes in rounds of pairs without a common node.

/// Two nodes that are measured together, by index.
pub type MatchUp = (usize, usize);

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
        let fixed = (turn, moving);
        let facing =
            (1..places / 2).map(|step| ((turn + step) % moving, (turn + moving - step) % moving));
        let pairs = std::iter::once(fixed).chain(facing);
        pairs.filter(|&(a, b)| a < nodes && b < nodes).map(|(a, b)| (a.min(b), a.max(b))).collect()
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
            let rounds = rounds(nodes);
            let odd = nodes % 2;
            let expected = if nodes < 2 { 0 } else { nodes - 1 + odd };
            assert_eq!(rounds.len(), expected, "{nodes} nodes");
            let mut met = BTreeSet::new();
            for round in &rounds {
                let mut seen = BTreeSet::new();
                assert_eq!(round.len(), (nodes - odd) / 2, "{nodes} nodes");
                for &(a, b) in round {
                    assert!(a < b && b < nodes, "{nodes} nodes: {a} and {b}");
                    assert!(seen.insert(a) && seen.insert(b), "{nodes} nodes: {round:?}");
                    assert!(met.insert((a, b)), "{nodes} nodes: {a} and {b} meet twice");
                }
            }
            assert_eq!(met.len(), nodes * nodes.saturating_sub(1) / 2, "{nodes} nodes");
        }
    }
}

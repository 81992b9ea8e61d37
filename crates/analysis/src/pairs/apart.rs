//! Selects pairs of nodes that can send concurrently, so that they share the network but no node.

use std::collections::BTreeMap;

use super::tournament::MatchUp;

/// Greedily selects pairs without a common node from `candidates`. A candidate is a pair and the
/// medium that both nodes are on; `None` unless there is one such medium. The next pair is always
/// on the medium with the fewest selected pairs, so that the first few are spread over all media.
pub fn apart(candidates: &[(MatchUp, Option<usize>)]) -> Vec<MatchUp> {
    let mut left: Vec<(MatchUp, Option<usize>)> = candidates.to_vec();
    let mut on: BTreeMap<usize, usize> = BTreeMap::new();
    let mut picked = Vec::new();
    loop {
        let load =
            |medium: Option<usize>| medium.map_or(0, |medium| *on.get(&medium).unwrap_or(&0));
        let Some(&(pair, medium)) = left.iter().min_by_key(|(_, medium)| load(*medium)) else {
            return picked;
        };
        if let Some(medium) = medium {
            *on.entry(medium).or_default() += 1;
        }
        let taken = pair.nodes();
        left.retain(|(other, _)| !other.nodes().iter().any(|node| taken.contains(node)));
        picked.push(pair);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Returns all pairs of `nodes` nodes with the medium that `on` returns.
    fn all(
        nodes: usize,
        on: impl Fn(usize, usize) -> Option<usize>,
    ) -> Vec<(MatchUp, Option<usize>)> {
        let pairs =
            (0..nodes).flat_map(|one| (one + 1..nodes).map(move |other| MatchUp::new(one, other)));
        pairs.map(|pair| (pair, on(pair.one, pair.other))).collect()
    }

    #[test]
    fn nobody_is_in_two_pairs() {
        for nodes in 0..9 {
            let pairs = apart(&all(nodes, |_, _| None));
            let seen: BTreeSet<usize> = pairs.iter().flat_map(|pair| pair.nodes()).collect();
            assert_eq!((pairs.len(), seen.len()), (nodes / 2, nodes / 2 * 2), "{nodes} nodes");
        }
    }

    #[test]
    fn the_first_pairs_are_on_media_of_their_own() {
        // Three busses of four nodes.
        let busses = all(12, |a, b| (a / 4 == b / 4).then_some(a / 4));
        let local: Vec<_> = busses.into_iter().filter(|(_, medium)| medium.is_some()).collect();
        let pairs = apart(&local);
        let nodes: Vec<[usize; 2]> = pairs.iter().map(|pair| pair.nodes()).collect();
        assert_eq!(nodes, [[0, 1], [4, 5], [8, 9], [2, 3], [6, 7], [10, 11]]);
    }
}

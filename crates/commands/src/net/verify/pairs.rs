//! Chooses the pairs of nodes that send each other packets.

use garland_topology::NodeId;

/// The maximum number of pairs, or the number of nodes if that is larger. A pair takes about 30 ms.
const MAX_PAIRS: usize = 400;

/// Returns all ordered pairs of `nodes`; or, if there are more than `MAX_PAIRS`, pairs of each node
/// with an equal number of others.
pub fn pairs(nodes: &[NodeId]) -> Vec<(NodeId, NodeId)> {
    let count = nodes.len();
    let each = if count * count.saturating_sub(1) <= MAX_PAIRS {
        count
    } else {
        (MAX_PAIRS / count).max(1)
    };
    let of = |place: usize| {
        // Spread over the list: its neighbours are often physical neighbours.
        let step = (count / (each + 1)).max(1);
        (1..count).step_by(step).take(each).map(move |by| (place, (place + by) % count))
    };
    let all = (0..count).flat_map(of);
    all.map(|(from, to)| (nodes[from], nodes[to])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_nodes_have_all_pairs_and_many_a_part() {
        let few: Vec<NodeId> = (0..9).collect();
        let mut all = pairs(&few);
        assert_eq!(all.len(), 72);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 72);
        assert!(all.iter().all(|(from, to)| from != to));
        let many: Vec<NodeId> = (0..300).collect();
        let some = pairs(&many);
        assert!((300..=MAX_PAIRS).contains(&some.len()), "{}", some.len());
        assert!(some.iter().all(|(from, to)| from != to));
        assert!(pairs(&[]).is_empty() && pairs(&[3]).is_empty());
    }
}

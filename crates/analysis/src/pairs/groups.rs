//! Groups slow pairs: both directions of a pair, and all pairs between two groups, have one cause.

use std::collections::{BTreeMap, BTreeSet};

use super::accusation::{Accusation, Component};
use super::robust::median;

/// Returns the accusations that follow from the slow ordered pairs `low`: from, to, and the
/// logarithm of the share.
pub(super) fn gathered(low: &[(usize, usize, f64)], bound: f64) -> Vec<Accusation> {
    let rests: BTreeMap<(usize, usize), f64> =
        low.iter().map(|&(from, to, rest)| ((from, to), rest)).collect();
    let both_ways = |from, to| rests.contains_key(&(to, from)) && from < to;
    let pairs: BTreeSet<(usize, usize)> =
        rests.keys().copied().filter(|&(from, to)| both_ways(from, to)).collect();
    let median_share = |pairs: &[(usize, usize)]| {
        let both = pairs.iter().flat_map(|&(a, b)| [(a, b), (b, a)]);
        median(both.filter_map(|way| rests.get(&way).copied()).collect()).unwrap_or(0.0).exp()
    };
    let mut accusations = Vec::new();
    for component in components(&pairs) {
        if let Some((one, other)) = sides(&component).filter(|_| component.len() > 1) {
            let share = median_share(&component);
            accusations.push(Accusation { part: Component::Between(one, other), share, bound });
            continue;
        }
        accusations.extend(component.iter().map(|&pair| Accusation {
            part: Component::Pair(pair.0, pair.1),
            share: median_share(&[pair]),
            bound,
        }));
    }
    let one_way = rests.iter().filter(|((from, to), _)| !rests.contains_key(&(*to, *from)));
    accusations.extend(one_way.map(|(&(from, to), rest)| Accusation {
        part: Component::OneWay(from, to),
        share: rest.exp(),
        bound,
    }));
    accusations
}

/// Returns the connected components of the graph with the edges `pairs`. No node is in two of them.
fn components(pairs: &BTreeSet<(usize, usize)>) -> Vec<Vec<(usize, usize)>> {
    let mut left = pairs.clone();
    let mut components = Vec::new();
    while let Some(first) = left.pop_first() {
        let mut component = vec![first];
        let mut nodes = BTreeSet::from([first.0, first.1]);
        while let Some(&next) = left.iter().find(|(a, b)| nodes.contains(a) || nodes.contains(b)) {
            left.remove(&next);
            nodes.extend([next.0, next.1]);
            component.push(next);
        }
        component.sort_unstable();
        components.push(component);
    }
    components
}

/// Returns the two groups if the connected `pairs` form a complete bipartite graph; otherwise
/// `None`.
fn sides(pairs: &[(usize, usize)]) -> Option<(Vec<usize>, Vec<usize>)> {
    let first = pairs.first()?.0;
    let other: BTreeSet<usize> = pairs
        .iter()
        .filter_map(|&(a, b)| if a == first { Some(b) } else { (b == first).then_some(a) })
        .collect();
    let all: BTreeSet<usize> = pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
    let one: BTreeSet<usize> = all.difference(&other).copied().collect();
    let is_between = |&(a, b): &(usize, usize)| one.contains(&a) == other.contains(&b);
    let complete = pairs.len() == one.len() * other.len() && pairs.iter().all(is_between);
    complete.then(|| (one.into_iter().collect(), other.into_iter().collect()))
}

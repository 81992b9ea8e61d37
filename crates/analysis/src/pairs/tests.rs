//! Synthetic clusters: their faults are found, and nothing else.

use proptest::prelude::*;

use super::*;

/// Noise of about ±3 % (a standard deviation of 1.5 %) from a seed: sums of twelve uniform numbers.
struct Noise(u64);

impl Noise {
    fn uniform(&mut self) -> f64 {
        // SplitMix64 (Steele, Lea, Flood 2014).
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

/// A cluster whose wires give 1 Gbit/s times `1 + deviation * normal`, less what `slow` leaves.
fn cluster(nodes: usize, seed: u64, deviation: f64, slow: impl Fn(usize, usize) -> f64) -> Matrix {
    let mut noise = Noise(seed);
    Matrix::by(nodes, |from, to| Some(1e9 * (1.0 + deviation * noise.normal()) * slow(from, to)))
}

fn named(matrix: &Matrix) -> Vec<Component> {
    accuse(matrix, &Tolerance::RATES).into_iter().map(|accusation| accusation.part).collect()
}

/// The nodes that got worse.
fn fallen(before: &Matrix, after: &Matrix) -> Vec<Component> {
    let accusations = worse(&after.relative_to(before), &Tolerance::RATES);
    accusations.into_iter().map(|accusation| accusation.part).collect()
}

fn sorted(mut parts: Vec<Component>) -> Vec<Component> {
    parts.sort();
    parts
}

#[test]
fn fifteen_thousand_healthy_clusters_are_hardly_ever_accused() {
    for deviation in [0.003, 0.015, 0.03] {
        let accused = (0..5000).filter(|&seed| {
            let matrix = cluster(12, seed, deviation, |_, _| 1.0);
            !named(&matrix).is_empty()
        });
        // One in a thousand is allowed, and the bound is conservative.
        let accused = accused.count();
        assert!(accused <= 5, "{accused} at a deviation of {deviation}");
    }
}

#[test]
fn few_nodes_are_never_accused_and_four_can_be() {
    for nodes in 0..4 {
        let matrix = cluster(nodes, 1, 0.01, |from, _| if from == 0 { 0.5 } else { 1.0 });
        assert_eq!(named(&matrix), []);
    }
    let matrix = cluster(4, 1, 0.01, |from, to| if from == 2 || to == 2 { 0.5 } else { 1.0 });
    assert_eq!(named(&matrix), [Component::Node(2)]);
}

/// What joins the nodes for which `left` is true and the others.
fn between(nodes: usize, left: impl Fn(usize) -> bool) -> (Vec<usize>, Vec<usize>) {
    (0..nodes).partition(|&node| left(node) == left(0))
}

#[test]
fn what_joins_two_switches_is_named_as_one_also_if_most_pairs_use_it() {
    for (nodes, moduli) in [(4, 2..=2), (6, 2..=3), (7, 2..=3), (12, 2..=6)] {
        for modulus in moduli {
            let left = |node: usize| node.is_multiple_of(modulus);
            let (one, other) = between(nodes, left);
            for (there, back) in [(0.2, 0.2), (0.7, 0.8), (0.4, 1.0), (1.0, 0.4)] {
                let matrix = cluster(nodes, 7, 0.01, |a, b| match (left(a), left(b)) {
                    (true, false) => there,
                    (false, true) => back,
                    _ => 1.0,
                });
                let part = match () {
                    () if back > 0.9 => Component::Across(one.clone(), other.clone()),
                    () if there > 0.9 => Component::Across(other.clone(), one.clone()),
                    () => Component::Between(one.clone(), other.clone()),
                };
                assert_eq!(named(&matrix), [part], "{nodes} nodes, {there} and {back}");
            }
        }
    }
}

#[test]
fn a_slow_node_beside_a_slow_trunk_is_named_too() {
    let left = |node: usize| node.is_multiple_of(2);
    let matrix = cluster(8, 7, 0.01, |a, b| {
        let trunk: f64 = if left(a) == left(b) { 1.0 } else { 0.3 };
        trunk * if a == 5 || b == 5 { 0.6 } else { 1.0 }
    });
    let (one, other) = between(8, left);
    assert_eq!(named(&matrix), [Component::Between(one, other), Component::Node(5)]);
}

#[test]
fn networks_that_are_built_of_unequal_parts_have_no_fault() {
    // Two kinds of NICs, and machines of two nodes each.
    let kinds = cluster(8, 3, 0.01, |a, b| if a % 2 + b % 2 > 0 { 0.1 } else { 1.0 });
    let hosts = cluster(8, 3, 0.01, |a, b| if a / 2 == b / 2 { 4.0 } else { 1.0 });
    assert_eq!(named(&hosts), []);
    // A node with the slow kind is slower than its peers, but no trunk is.
    let parts = named(&kinds);
    assert!(parts.iter().all(|part| matches!(part, Component::Node(_))), "{parts:?}");
}

#[test]
fn what_was_not_measured_accuses_nobody() {
    let mut matrix = Matrix::new(12);
    assert_eq!(named(&matrix), []);
    matrix.set(0, 1, 5.0);
    matrix.set(1, 0, f64::NAN);
    matrix.set(2, 0, 0.0);
    assert_eq!(matrix.measured().count(), 1);
    assert_eq!(named(&matrix), []);
}

#[test]
fn compared_with_a_baseline_only_what_changed_is_named() {
    let before = cluster(12, 1, 0.015, |from, _| if from == 3 { 0.4 } else { 1.0 });
    let after = cluster(12, 2, 0.015, |from, to| match (from, to) {
        (3, _) => 0.4,
        (_, 8) => 0.7,
        _ => 1.0,
    });
    assert_eq!(fallen(&before, &after), [Component::Receiving(8)]);
    assert_eq!(fallen(&before, &before), []);
}

#[test]
fn what_lies_between_two_that_got_better_is_not_named() {
    let slow = |from: usize, to: usize| {
        if [3, 8].iter().any(|n| [from, to].contains(n)) { 0.1 } else { 1.0 }
    };
    let before = cluster(12, 1, 0.015, slow);
    assert_eq!(fallen(&before, &cluster(12, 2, 0.015, |_, _| 1.0)), []);
    // The improvement does not hide a pair that got worse meanwhile.
    let after = cluster(12, 2, 0.015, |from, to| if (from, to) == (5, 6) { 0.5 } else { 1.0 });
    assert_eq!(fallen(&before, &after), [Component::OneWay(5, 6)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn one_slow_part_is_named_and_nothing_else(seed: u64, node in 0..12_usize, other in 1..12_usize, kind in 0..4) {
        let partner = (node + other) % 12;
        let (part, slow): (Component, Box<dyn Fn(usize, usize) -> bool>) = match kind {
            0 => (Component::Node(node), Box::new(move |a, b| a == node || b == node)),
            1 => (Component::Sending(node), Box::new(move |a, _| a == node)),
            2 => (Component::Receiving(node), Box::new(move |_, b| b == node)),
            _ => (
                Component::Pair(node.min(partner), node.max(partner)),
                Box::new(move |a, b| (a, b) == (node, partner) || (b, a) == (node, partner)),
            ),
        };
        let matrix = cluster(12, seed, 0.015, |a, b| if slow(a, b) { 0.7 } else { 1.0 });
        let accusations = accuse(&matrix, &Tolerance::RATES);
        prop_assert_eq!(accusations.iter().map(|a| a.part.clone()).collect::<Vec<_>>(), [part]);
        prop_assert!((accusations[0].share - 0.7).abs() < 0.05, "{:?}", accusations);
        prop_assert!(accusations[0].share < accusations[0].bound, "{:?}", accusations);
    }

    #[test]
    fn two_faults_at_once_are_both_named(seed: u64, node in 0..12_usize, other in 1..12_usize, third in 1..11_usize) {
        // A slow NIC direction, and a slow pair elsewhere; a direction in both gets the lower rate.
        let a = (node + other) % 12;
        let b = (0..12).filter(|&n| n != node && n != a).nth(third % 10).unwrap_or(a);
        let pair = |i: usize, j: usize| (i, j) == (a, b) || (j, i) == (a, b);
        let matrix = cluster(12, seed, 0.015, |i, j| {
            let sends: f64 = if i == node { 0.7 } else { 1.0 };
            sends.min(if pair(i, j) { 0.6 } else { 1.0 })
        });
        let expected = sorted(vec![Component::Sending(node), Component::Pair(a.min(b), a.max(b))]);
        prop_assert_eq!(sorted(named(&matrix)), expected);
    }

    #[test]
    fn two_slow_nodes_are_both_named(seed: u64, one in 0..12_usize, other in 1..12_usize) {
        let other = (one + other) % 12;
        let matrix = cluster(12, seed, 0.015, |i, j| {
            let is = |node| i == node || j == node;
            if is(one) { 0.5 } else if is(other) { 0.7 } else { 1.0 }
        });
        let expected = sorted(vec![Component::Node(one), Component::Node(other)]);
        prop_assert_eq!(sorted(named(&matrix)), expected);
    }
}

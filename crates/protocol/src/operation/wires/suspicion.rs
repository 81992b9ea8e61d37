//! What a survey measures again or longer: suspected pairs, and accused parts.

use std::collections::BTreeSet;

use garland_analysis::pairs::{Component, MatchUp, Matrix, Tolerance, accuse};

use super::rail::Rail;

/// The maximum number of pairs at once between two groups.
const PAIRS: usize = 4;

/// The fraction of the median below which a pair is suspected, if the matrix shows a fault.
const SUSPECTED: f64 = 0.93;

/// Returns the pairs of a matrix that are slower than 93 % of the median; none if the matrix shows
/// no fault.
pub fn suspects(matrix: &Matrix, tolerance: &Tolerance) -> BTreeSet<MatchUp> {
    if accuse(matrix, tolerance).is_empty() {
        return BTreeSet::new();
    }
    let mut values: Vec<f64> = matrix.measured().map(|cell| cell.2).collect();
    values.sort_by(f64::total_cmp);
    let middle = values.get(values.len() / 2).copied().unwrap_or(0.0);
    let low = matrix.measured().filter(|cell| cell.2 < SUSPECTED * middle);
    low.map(|(from, to, _)| MatchUp::new(from, to).sorted()).collect()
}

/// Returns some pairs that the link between two groups carries and that have no common node; empty
/// for another part.
pub fn disjoint(part: &Component) -> Vec<MatchUp> {
    match part {
        Component::Between(one, other) | Component::Across(one, other) => {
            let pairs = one.iter().zip(other.iter()).take(PAIRS);
            pairs.map(|(&one, &other)| MatchUp::new(one, other)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the direction of a part that loses the largest fraction of its segments, as a pair that
/// sends from `one` to `other`.
pub fn worst(rail: &Rail, part: &Component) -> Option<MatchUp> {
    let losses = rail.losses();
    let carried = losses.measured().filter(|(from, to, _)| part.carries(*from, *to));
    carried.min_by(|a, b| a.2.total_cmp(&b.2)).map(|(from, to, _)| MatchUp::new(from, to))
}

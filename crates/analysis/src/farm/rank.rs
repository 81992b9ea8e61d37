//! Which of several clusters is best for these jobs, and which for their price.

use serde::Serialize;

/// A cluster that was tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// Seconds that it took.
    pub seconds: f64,
    /// What it costs, where that is known.
    pub price: Option<f64>,
    /// The power that it is worth, where that is known.
    pub equivalent: Option<f64>,
}

/// Where a candidate stands; places begin with 1, and equals share one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rank {
    /// By time.
    pub place: usize,
    /// Price for a unit of power; where no power is known, price times hours: less is better either
    /// way. None without a price.
    pub price_per_performance: Option<f64>,
    /// By that, among those that have one.
    pub price_place: Option<usize>,
}

/// Ranks `candidates`, in their order. All that are compared must be counted in the same unit, or
/// none is.
#[must_use]
pub fn rank(candidates: &[Candidate]) -> Vec<Rank> {
    let by_power = candidates.iter().all(|one| one.equivalent.is_some_and(|power| power > 0.0));
    let value = |one: &Candidate| {
        let price = one.price?;
        match one.equivalent.filter(|_| by_power) {
            Some(power) => Some(price / power),
            None => Some(price * one.seconds / 3600.0),
        }
    };
    let values: Vec<Option<f64>> = candidates.iter().map(value).collect();
    let known = || values.iter().flatten();
    let mut ranks = Vec::new();
    for (one, own) in candidates.iter().zip(&values) {
        let faster = candidates.iter().filter(|other| other.seconds < one.seconds);
        ranks.push(Rank {
            place: 1 + faster.count(),
            price_per_performance: *own,
            price_place: own.map(|own| 1 + known().filter(|other| **other < own).count()),
        });
    }
    ranks
}

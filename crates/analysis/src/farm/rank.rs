//! Ranks clusters for the same jobs, by time and by price.

use serde::Serialize;

/// A cluster with its measured time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Candidate {
    /// The time that the cluster took for the jobs, in seconds.
    pub seconds: f64,
    /// The price of the cluster in any currency, if known.
    pub price: Option<f64>,
    /// The power of a single machine that would take as long, if known.
    pub equivalent: Option<f64>,
}

/// The rank of a candidate. Places begin at 1. Equal candidates share a place, and those that
/// follow are left out: 1, 1, 3.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Rank {
    /// The place by time; 1 is the fastest.
    pub place: usize,
    /// The price per unit of power or, if the power is unknown, price times hours; lower is better.
    /// `None` without a price.
    pub price_per_performance: Option<f64>,
    /// The place by `price_per_performance` among the candidates with a price; 1 is the best.
    /// `None` without a price.
    pub price_place: Option<usize>,
}

/// Returns the ranks of `candidates`, in the same order. Power is used only if it is known for all
/// of them, so that all have the same unit.
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

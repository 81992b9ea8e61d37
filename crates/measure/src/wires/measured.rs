//! What both results of `garland wires` tell of how it was measured.

use garland_analysis::pairs::MatchUp;
use serde::Serialize;

/// How it was measured; comes last.
#[derive(Serialize)]
pub struct Measured {
    /// How busy the processors of this machine were meanwhile, from 0 to 1.
    pub cpu: f64,
    /// What makes the numbers doubtful, in words.
    pub warnings: Vec<String>,
    /// Whether the user ended it.
    pub interrupted: bool,
}

/// A pair that couldn't be measured.
#[derive(Serialize)]
pub struct FailedPair {
    /// The two.
    pub nodes: [String; 2],
    /// Why.
    pub reason: String,
}

impl FailedPair {
    /// Of the nodes at these places.
    pub fn new((one, other): MatchUp, names: &[&str], reason: String) -> Self {
        Self { nodes: [one, other].map(|node| names[node].to_owned()), reason }
    }
}

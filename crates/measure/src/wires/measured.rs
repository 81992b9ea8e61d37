//! The parts that both results of `garland wires` have.

use garland_analysis::pairs::MatchUp;
use serde::Serialize;

/// The circumstances of a measurement. They are the last fields of a result.
#[derive(Serialize)]
pub struct Measured {
    /// The fraction of this machine's CPU time that was used during the measurement, from 0 to 1.
    pub cpu: f64,
    /// Reasons to doubt the figures, in words.
    pub warnings: Vec<String>,
    /// Whether the user interrupted the command.
    pub interrupted: bool,
}

/// A pair that could not be measured.
#[derive(Serialize)]
pub struct FailedPair {
    /// The names of both nodes.
    pub nodes: [String; 2],
    /// Why it could not be measured.
    pub reason: String,
}

impl FailedPair {
    /// Creates the entry of a pair from the indices of its nodes in `names`.
    pub fn new(pair: MatchUp, names: &[&str], reason: String) -> Self {
        Self { nodes: pair.nodes().map(|node| names[node].to_owned()), reason }
    }
}

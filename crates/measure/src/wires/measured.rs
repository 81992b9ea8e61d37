//! Fields of both results of `garland wires`.

use garland_analysis::pairs::MatchUp;
use serde::Serialize;

/// The circumstances of a measurement; the last fields of a result.
#[derive(Serialize)]
pub struct Measured {
    /// The busy share of this machine's CPUs during the measurement, from 0 to 1.
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
    /// The error.
    pub reason: String,
}

impl FailedPair {
    /// Creates the entry of the nodes with these indices.
    pub fn new((one, other): MatchUp, names: &[&str], reason: String) -> Self {
        Self { nodes: [one, other].map(|node| names[node].to_owned()), reason }
    }
}

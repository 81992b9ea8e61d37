//! Fields of both results of `garland wires`.

use garland_analysis::pairs::MatchUp;
use serde::Serialize;

use garland_core::cluster::Node;
use garland_fleet::inventory::{LAB_PREFIX, is_local};

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

/// Above this share of busy CPUs, an emulated cluster measures its machine.
const BUSY: f64 = 0.9;

/// Returns a warning if the emulator may have been the bottleneck.
pub fn emulator(nodes: &[Node], cpu: f64) -> Option<String> {
    let is_emulated = |node: &Node| node.name.starts_with(LAB_PREFIX) || is_local(&node.name);
    (nodes.iter().any(is_emulated) && cpu > BUSY).then(|| {
        format!(
            "this machine's CPUs were busy for {:.0} % of the time, so the emulator may be the bottleneck: \
             use a lower rate",
            cpu * 100.0
        )
    })
}

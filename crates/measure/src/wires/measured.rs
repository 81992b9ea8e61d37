//! What both results of `garland wires` tell of how it was measured.

use garland_analysis::pairs::MatchUp;
use serde::Serialize;

use garland_core::cluster::Node;
use garland_fleet::inventory::{LAB_PREFIX, is_local};

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

/// Busier than this, an emulated cluster measures its machine.
const BUSY: f64 = 0.9;

/// That what was measured may be the emulator.
pub fn emulator(nodes: &[Node], cpu: f64) -> Option<String> {
    let is_emulated = |node: &Node| node.name.starts_with(LAB_PREFIX) || is_local(&node.name);
    (nodes.iter().any(is_emulated) && cpu > BUSY).then(|| {
        format!(
            "this machine's processors were busy for {:.0} % of the time: what is measured is the \
             emulator, not the wires; take a lower rate",
            cpu * 100.0
        )
    })
}

//! A node of a farm run, as input of the result.

use garland_results::head::{NodeEnd, NodeVerdict};

use super::traffic::NicTraffic;

/// A node of a run.
#[derive(Clone, Debug)]
pub struct NodeAccount {
    /// The node's name, as in records.
    pub name: String,
    /// Number of slots for jobs; 0 if the engine does not know it.
    pub slots: u32,
    /// The share of a CPU core that each slot has, up to 1.
    pub share: f64,
    /// CPU clock in MHz, if known.
    pub mhz: Option<f64>,
    /// Memory in bytes, if known.
    pub memory: Option<u64>,
    /// The verdict on the node, and its reason.
    pub end: NodeEnd,
    /// Traffic of the node's NICs during the run; empty if not counted.
    pub nics: Vec<NicTraffic>,
}

impl NodeAccount {
    /// Creates a node with `slots` whole cores, of which nothing else is known.
    pub fn new(name: &str, slots: u32) -> Self {
        let name = name.to_owned();
        let end = NodeEnd::new(NodeVerdict::Ok, None);
        Self { name, slots, share: 1.0, mhz: None, memory: None, end, nics: Vec::new() }
    }

    /// Returns the speed of a core: its clock in MHz, or 1 if the clock is unknown.
    pub fn speed(&self) -> f64 {
        self.mhz.filter(|mhz| *mhz > 0.0).unwrap_or(1.0)
    }
}

//! The result of a farm's run.

use garland_core::farm::Record;
use serde::Serialize;

use super::summary::Summary;
use super::traffic::NicTraffic;
use garland_results::head::{Head, NodeEnd};
use garland_terminal::failure::Exit;

/// The name of its kind.
pub const SCHEMA: &str = "garland.farm/1";

/// The result object `garland.farm/1`.
#[derive(Debug, Serialize)]
pub struct FarmResult {
    /// What every result begins with.
    #[serde(flatten)]
    pub head: Head,
    /// All nodes.
    pub nodes: Vec<NodeResult>,
    /// What it came to.
    #[serde(flatten)]
    pub summary: Summary,
    /// The closing sentence.
    pub sentence: Option<String>,
    /// Whether the user ended it.
    pub interrupted: bool,
    /// What became of each job, as in the run's `records.jsonl`.
    pub records: Vec<Record>,
}

/// A node.
#[derive(Clone, Debug, Serialize)]
pub struct NodeResult {
    pub name: String,
    #[serde(flatten)]
    pub end: NodeEnd,
    /// Processors that jobs could have, so that many jobs of one at a time.
    pub cores: u32,
    /// The share of a processor that each of these really was.
    pub share: f64,
    /// Its clock.
    pub mhz: Option<f64>,
    /// Its memory in bytes.
    pub memory: Option<u64>,
    /// Its power, in the result's unit.
    pub power: f64,
    /// How many jobs it has done.
    pub done: usize,
    /// Seconds on a processor that they took.
    pub cpu: f64,
    /// What its NICs carried meanwhile; empty where nobody counted.
    pub nics: Vec<NicTraffic>,
}

impl FarmResult {
    /// The run's name.
    pub fn run(&self) -> &str {
        self.head.run.as_deref().unwrap_or_default()
    }

    /// How the command ends.
    pub fn exit(&self) -> Exit {
        let jobs = &self.summary.jobs;
        match () {
            () if self.interrupted => Exit::Interrupted,
            () if jobs.done == jobs.all => Exit::Done,
            () if jobs.done == 0 => Exit::Nothing,
            () => Exit::SomeFailed,
        }
    }
}

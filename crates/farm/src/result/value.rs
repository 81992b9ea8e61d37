//! The result of a farm's run.

use garland_core::farm::Record;
use serde::Serialize;

use super::summary::Summary;
use super::traffic::NicTraffic;
use garland_results::head::{Head, NodeEnd};
use garland_terminal::failure::Exit;

/// The schema of a farm's result.
pub const SCHEMA: &str = "garland.farm/2";

/// The result object `garland.farm/2`.
#[derive(Debug, Serialize)]
pub struct FarmResult {
    /// The head of the result.
    #[serde(flatten)]
    pub head: Head,
    /// All nodes.
    pub nodes: Vec<NodeResult>,
    /// The figures.
    #[serde(flatten)]
    pub summary: Summary,
    /// The closing sentence, if the cluster can be compared with one machine.
    pub sentence: Option<String>,
    /// Whether the user interrupted the run.
    pub interrupted: bool,
    /// The jobs' records, as in the run's `records.jsonl`.
    pub records: Vec<Record>,
}

/// A node of the result.
#[derive(Clone, Debug, Serialize)]
pub struct NodeResult {
    pub name: String,
    #[serde(flatten)]
    pub end: NodeEnd,
    /// Processors for jobs: the number of single-processor jobs at a time.
    pub cores: u32,
    /// The share of a processor that each of them was.
    pub share: f64,
    /// Processor clock in MHz.
    pub mhz: Option<f64>,
    /// Memory in bytes.
    pub memory: Option<u64>,
    /// Power in the unit of the summary.
    pub power: f64,
    /// Number of jobs done.
    pub done: usize,
    /// Processor seconds of these jobs.
    pub cpu: f64,
    /// Traffic of the NICs during the run; empty if it was not counted.
    pub nics: Vec<NicTraffic>,
}

impl FarmResult {
    /// The run's name.
    pub fn run(&self) -> &str {
        self.head.run.as_deref().unwrap_or_default()
    }

    /// The command's exit.
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

//! The result of a farm run.

use garland_core::farm::Record;
use garland_results::head::{Head, NodeEnd};
use garland_results::kept::KeptResult;
use garland_state::places::Places;
use garland_state::run::Run;
use garland_terminal::failure::{Exit, Failure};
use serde::{Deserialize, Serialize};

use super::summary::{OneMachine, Summary};
use super::traffic::NicTraffic;

/// The schema of the result of a farm run.
pub const SCHEMA: &str = "garland.farm/2";

/// The result object `garland.farm/2`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FarmResult {
    /// The fields that all results have.
    #[serde(flatten)]
    pub head: Head,
    /// All nodes of the run.
    pub nodes: Vec<NodeResult>,
    /// The figures of the run.
    #[serde(flatten)]
    pub summary: Summary,
    /// The summary in one sentence; none if the cluster cannot be compared with one machine.
    pub sentence: Option<String>,
    /// Whether the user interrupted the run.
    pub interrupted: bool,
    /// The jobs' records, as in the run's `records.jsonl`.
    pub records: Vec<Record>,
}

/// A node and its figures.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NodeResult {
    pub name: String,
    #[serde(flatten)]
    pub end: NodeEnd,
    /// Number of cores for jobs, which is the number of single-core jobs that run at the same time.
    pub cores: u32,
    /// The share of a CPU core that each of `cores` has.
    pub share: f64,
    /// CPU clock in MHz, if known.
    pub mhz: Option<f64>,
    /// Memory in bytes, if known.
    pub memory: Option<u64>,
    /// Power of the node in the unit of the summary.
    pub power: f64,
    /// Number of jobs done.
    pub done: usize,
    /// CPU time of the jobs done, in seconds.
    pub cpu: f64,
    /// Traffic of the node's NICs during the run; empty if it was not counted.
    pub nics: Vec<NicTraffic>,
}

impl FarmResult {
    /// Finds the farm run that `asked` names, and reads its result.
    pub fn find(places: &Places, asked: &str) -> Result<Self, Failure> {
        let run = Run::find(places, asked, "records.jsonl", "the records of farm jobs")?;
        let kept = KeptResult::read(&run)?;
        let name = run.name().to_owned();
        let schema = kept.schema();
        if schema != SCHEMA {
            let message = format!("{name} is not a farm run: its result is a {schema}");
            return Err(Failure::usage(message));
        }
        let mut result: Self = kept.parse()?;
        result.head.run = Some(name);
        Ok(result)
    }

    /// Returns the time and power of a run on one machine, as the base with which a cluster is
    /// compared. Fails unless all jobs of the run are done.
    pub fn as_one_machine(self) -> Result<OneMachine, Failure> {
        if self.summary.jobs.done < self.summary.jobs.all {
            return Err(Failure::usage(format!("{} has not done all of its jobs", self.run())));
        }
        let power = self.nodes.iter().map(|node| node.power).sum();
        Ok(OneMachine { seconds: self.summary.total, power, run: self.head.run })
    }

    /// Returns the run's name; empty if the result has none.
    pub fn run(&self) -> &str {
        self.head.run.as_deref().unwrap_or_default()
    }

    /// Returns the exit code of the command for this result.
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

//! The figures of a farm run.

use garland_analysis::farm::{Losses, Spread, Standing};
use garland_core::farm::{Engine, Text};
use serde::{Deserialize, Serialize};

/// The maximum number of failed jobs that a result lists.
pub const NAMED: usize = 1000;

/// The figures of a farm run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// The engine that ran the jobs.
    pub engine: Engine,
    /// Name of the placement, which chose the node of each job; none if the engine chooses nodes
    /// itself.
    pub placement: Option<String>,
    /// How jobs got their files: `there`, `mount`, `stage`.
    pub data: String,
    /// Whether all jobs were started at once.
    pub all_at_once: bool,
    /// Name of the network, if known.
    pub network: Option<String>,
    /// Counts of jobs.
    #[serde(flatten)]
    pub jobs: Jobs,
    /// Seconds from the start of the run to the end of the last job.
    pub total: f64,
    /// The slowest and the fastest job, by their numbers in the list; none if no job has a known
    /// time.
    pub spread: Option<Spread>,
    /// The mean slowdown of the jobs done: the time from queueing to the end, divided by the time
    /// of the same work on the fastest node; none if unknown.
    pub slowdown: Option<f64>,
    /// The time and power of one machine for all jobs, measured or estimated; none if neither is
    /// possible.
    pub one: Option<OneMachine>,
    /// The unit of power: `MHz`, `cores`, or the one that `--unit` gave, such as `300MHz`.
    pub unit: String,
    /// The cluster compared with one machine; none if not all jobs are done, or if a time or power
    /// is unknown.
    pub standing: Option<Standing>,
    /// The time of the run, divided by cause; none if no node has power.
    pub losses: Option<Losses>,
    /// Price of the cluster, if known.
    pub price: Option<f64>,
}

/// Counts of a run's jobs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Jobs {
    /// All jobs of the list.
    #[serde(rename = "jobs")]
    pub all: usize,
    /// Jobs whose outputs are complete.
    pub done: usize,
    /// Jobs that failed in their last try.
    pub failed: usize,
    /// Jobs that did not finish before the run was interrupted.
    pub open: usize,
    /// Total number of tries beyond each job's first.
    pub retries: u64,
    /// The failed jobs, up to [`NAMED`] of them.
    pub failures: Vec<Failed>,
}

/// A failed job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failed {
    /// The job's number in the list.
    pub job: u32,
    /// The job's name.
    pub name: Text,
    /// The node of the last try; none if unknown.
    pub node: Option<String>,
    /// Why the last try failed.
    pub reason: String,
    /// Number of tries.
    pub tries: u32,
    /// The last lines that the last try wrote to standard error.
    #[serde(default)]
    pub last_words: Vec<Text>,
}

/// One machine that runs all jobs alone.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OneMachine {
    /// Time of all jobs in seconds.
    pub seconds: f64,
    /// Power of the machine in the unit of the summary.
    pub power: f64,
    /// Name of the run that measured the time; none if the time is estimated from the jobs' CPU
    /// time.
    pub run: Option<String>,
}

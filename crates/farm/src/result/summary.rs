//! What of a result other commands read again.

use garland_analysis::farm::{Losses, Spread, Standing};
use garland_core::farm::{Engine, Text};
use serde::{Deserialize, Serialize};

/// So many jobs that failed are named.
pub const NAMED: usize = 1000;

/// What a run came to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// What ran the jobs.
    pub engine: Engine,
    /// How nodes were chosen for them; none where that is the engine's business.
    pub placement: Option<String>,
    /// How they came by their files: `there`, `mount`, `stage`.
    pub data: String,
    /// Whether all were started at once.
    pub all_at_once: bool,
    /// What joins the nodes, by name, where that is known.
    pub network: Option<String>,
    /// The jobs, counted.
    #[serde(flatten)]
    pub jobs: Jobs,
    /// From the run's beginning until the last job was over, in seconds.
    pub total: f64,
    /// Slowest and fastest job; their places are their numbers in the list.
    pub spread: Option<Spread>,
    /// Mean of the time from queue to end, by that which the work takes on the fastest node.
    pub slowdown: Option<f64>,
    /// What one machine takes for the same jobs.
    pub one: Option<OneMachine>,
    /// The name of what power is counted in.
    pub unit: String,
    /// Where the cluster stands against one machine.
    pub standing: Option<Standing>,
    /// Where the time went.
    pub losses: Option<Losses>,
    /// What all of it costs.
    pub price: Option<f64>,
}

/// The jobs of a run, counted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Jobs {
    /// All of the list.
    #[serde(rename = "jobs")]
    pub all: usize,
    /// Those whose results are there.
    pub done: usize,
    /// Those that won't be tried again.
    pub failed: usize,
    /// Those that nothing became of, since the run was ended before.
    pub open: usize,
    /// Tries beyond the first of each.
    pub tried_again: u64,
    /// Those that failed; not more than [`NAMED`].
    pub failures: Vec<Failed>,
}

/// A job that failed.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failed {
    /// Its number in the list.
    pub job: u32,
    /// Its name.
    pub name: Text,
    /// Where it was tried last.
    pub node: Option<String>,
    /// Why, in words.
    pub reason: String,
    /// How often it was tried.
    pub tries: u32,
    /// The last lines of its standard error.
    #[serde(default)]
    pub last_words: Vec<Text>,
}

/// One machine, and what it takes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OneMachine {
    /// Its time in seconds.
    pub seconds: f64,
    /// Its power.
    pub power: f64,
    /// The run that it was measured in; none where it is told from the jobs' processor time.
    pub run: Option<String>,
}

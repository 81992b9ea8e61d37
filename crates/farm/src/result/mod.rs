//! What a farm's run came to: the object `garland.farm/1`, from the records that every engine gives
//! alike.

mod account;
mod power;
mod summary;
mod table;
mod traffic;
mod words;

use garland_core::farm::Record;
use serde::Serialize;

pub use account::{Farmed, NodeAccount, RunConditions};
use garland_results::head::{Head, NodeEnd};
use garland_terminal::failure::Exit;
pub use power::Unit;
pub use summary::{Failed, Jobs, OneMachine, Summary};
pub use traffic::{NicTraffic, Traffic};
pub use words::{sentence, took};

/// The name of its kind.
pub const SCHEMA: &str = "garland.farm/1";

/// So many jobs that failed are named.
pub const NAMED: usize = 1000;

/// The result object `garland.farm/1`.
#[derive(Debug, Serialize)]
pub struct FarmResult {
    /// What every result begins with.
    #[serde(flatten)]
    head: Head,
    /// All nodes.
    nodes: Vec<NodeResult>,
    /// What it came to.
    #[serde(flatten)]
    summary: Summary,
    /// The closing sentence.
    sentence: Option<String>,
    /// Whether the user ended it.
    interrupted: bool,
    /// What became of each job, as in the run's `records.jsonl`.
    records: Vec<Record>,
}

/// A node.
#[derive(Clone, Debug, Serialize)]
pub struct NodeResult {
    name: String,
    #[serde(flatten)]
    end: NodeEnd,
    /// Processors that jobs could have, so that many jobs of one at a time.
    cores: u32,
    /// The share of a processor that each of these really was.
    share: f64,
    /// Its clock.
    mhz: Option<f64>,
    /// Its memory in bytes.
    memory: Option<u64>,
    /// Its power, in the result's unit.
    power: f64,
    /// How many jobs it has done.
    done: usize,
    /// Seconds on a processor that they took.
    cpu: f64,
    /// What its NICs carried meanwhile; empty where nobody counted.
    nics: Vec<NicTraffic>,
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

//! The sections of a placements scenario.

use garland_topology::Topology;
use serde::{Deserialize, Serialize};

use crate::sections::{Kind, Sections, only, place};

/// The names that `garland farm run --placement` knows.
const KNOWN: [&str; 3] = ["pull", "turns", "mosix"];

/// The one that knows nothing of nodes and of how they stand.
pub const TURNS: &str = "turns";

/// The one that goes by cost.
pub const COST: &str = "mosix";

/// What is done and compared.
pub type Placements = Sections<Job, Tolerance, Published>;

/// What is done.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// `placements`.
    pub kind: Kind,
    /// The nodes that work.
    pub nodes: Vec<String>,
    /// The placements, by their names.
    pub placements: Vec<String>,
    /// Turns of a shell's loop that the shortest job takes, unless `--scale` says another share of them.
    pub loops: u64,
    /// How many times that jobs take, one after another and from the beginning again.
    pub lengths: Vec<u64>,
    /// How many jobs.
    pub jobs: usize,
}

/// What counts as it should be.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// The least share of what whole jobs allow that the best placement comes to, as rooms get free.
    pub of_bound: f64,
    /// The least factor by which the time in turn is above that by cost.
    pub turns: f64,
}

/// A figure as it was published.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Of which placement.
    pub placement: String,
    /// The mean slowdown.
    pub slowdown: f64,
}

impl Placements {
    /// Whether nodes and placements are there, and there are jobs.
    pub fn check(&self, topologies: &[Topology]) -> Result<(), String> {
        let topology = only(topologies, "a comparison of placements")?;
        let job = &self.job;
        job.nodes.iter().try_for_each(|node| place(topology, node).map(drop))?;
        if let Some(other) = job.placements.iter().find(|name| !KNOWN.contains(&name.as_str())) {
            return Err(format!("there is no placement {other}; there are {}", KNOWN.join(", ")));
        }
        if [TURNS, COST].iter().any(|wanted| job.placements.iter().all(|name| name != wanted)) {
            return Err(format!("`placements` has {TURNS} and {COST}, which are compared"));
        }
        if job.nodes.is_empty() || job.jobs == 0 || job.loops == 0 || job.lengths.contains(&0) {
            return Err("`nodes`, `jobs`, `loops` and `lengths` are one at least".to_owned());
        }
        if job.lengths.is_empty() {
            return Err("`lengths` names none".to_owned());
        }
        match self.published.iter().find(|row| !job.placements.contains(&row.placement)) {
            Some(row) => Err(format!("{} is published but not run", row.placement)),
            None => Ok(()),
        }
    }

    /// The published figure of a placement.
    pub fn published(&self, placement: &str) -> Option<&Published> {
        self.published.iter().find(|row| row.placement == placement)
    }
}

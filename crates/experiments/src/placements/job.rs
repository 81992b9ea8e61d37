//! The sections of a placements scenario.

use garland_analysis::grade::Published;
use garland_terminal::failure::Failure;
use garland_topology::Topology;
use serde::{Deserialize, Serialize};

use crate::sections::{Kind, Sections, only, place, refuse};

/// The values of `--placement` of `garland farm run`.
const KNOWN: [&str; 3] = ["pull", "turns", "mosix"];

/// The placement that assigns jobs to nodes in turn; it ignores their speed and load.
pub const TURNS: &str = "turns";

/// The placement that assigns each job to the node with the least marginal cost.
pub const COST: &str = "mosix";

/// The sections of a placements scenario's file.
pub type Placements = Sections<Job, PublishedRow>;

/// Section `[job]`: the jobs and their placements.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The kind of experiment: `placements`.
    pub kind: Kind,
    /// The nodes that work.
    pub nodes: Vec<String>,
    /// The placements' names, in the table's order.
    pub placements: Vec<String>,
    /// The number of iterations of a shell loop in the shortest job, at scale 1.
    pub loops: u64,
    /// The lengths of the jobs as multiples of the shortest one. Jobs take these in turn.
    pub lengths: Vec<u64>,
    /// Number of jobs.
    pub jobs: usize,
}

/// Entry of `[[published]]`: a published figure.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedRow {
    /// The placement's name.
    pub placement: String,
    /// The mean slowdown of the jobs.
    pub slowdown: Published,
}

impl Placements {
    /// Checks that nodes and placements exist and that there are jobs.
    pub fn check(&self, topologies: &[Topology]) -> Result<(), Failure> {
        let topology = only(topologies, "a comparison of placements")?;
        let job = &self.job;
        job.nodes.iter().try_for_each(|node| place(topology, node).map(drop))?;
        if let Some(other) = job.placements.iter().find(|name| !KNOWN.contains(&name.as_str())) {
            return refuse(format!("unknown placement {other}; use one of {}", KNOWN.join(", ")));
        }
        if [TURNS, COST].iter().any(|wanted| job.placements.iter().all(|name| name != wanted)) {
            return refuse(format!(
                "`placements` must contain {TURNS} and {COST}, since these are compared"
            ));
        }
        if job.nodes.is_empty() || job.jobs == 0 || job.loops == 0 || job.lengths.contains(&0) {
            return refuse(
                "`nodes` must not be empty, and `jobs`, `loops` and `lengths` must be above 0",
            );
        }
        if job.lengths.is_empty() {
            return refuse("`lengths` must not be empty");
        }
        match self.published.iter().find(|row| !job.placements.contains(&row.placement)) {
            Some(row) => refuse(format!("{} is published, but not in `placements`", row.placement)),
            None => Ok(()),
        }
    }

    /// Returns the published figure of a placement; `None` if there is none.
    pub fn published(&self, placement: &str) -> Option<&PublishedRow> {
        self.published.iter().find(|row| row.placement == placement)
    }
}

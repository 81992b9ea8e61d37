//! The sections of a scenario of moving jobs.

use garland_core::units::Nanos;
use garland_terminal::failure::Failure;
use garland_topology::Topology;
use serde::{Deserialize, Serialize};

use crate::sections::{Kind, Sections, only, reached, refuse};

/// The sections of the file of a scenario of moving jobs. Nothing is published of them.
pub type Moves = Sections<Job, Unpublished>;

/// Section `[job]`: equal jobs, and the node that gets slow.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The kind of experiment: `moves`.
    pub kind: Kind,
    /// The nodes that work.
    pub nodes: Vec<String>,
    /// Number of jobs.
    pub jobs: usize,
    /// The number of iterations of a shell loop in a job, at scale 1.
    pub loops: u64,
    /// The node that gets slow.
    pub slow: String,
    /// The time after which it does, at scale 1.
    pub after: String,
    /// The number of processes that are always busy there from then on.
    pub busy: u32,
}

/// Entry of `[[published]]`, of which there is none.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Unpublished {}

impl Moves {
    /// Checks that the nodes exist, that one of several gets slow, and that there are jobs.
    pub fn check(&self, topologies: &[Topology]) -> Result<(), Failure> {
        let topology = only(topologies, "moving jobs")?;
        let job = &self.job;
        job.nodes.iter().try_for_each(|node| reached(topology, node).map(drop))?;
        if job.nodes.len() < 2 || !job.nodes.contains(&job.slow) {
            return refuse("`nodes` must have at least two nodes, and `slow` must be one of them");
        }
        if job.jobs == 0 || job.loops == 0 || job.busy == 0 {
            return refuse("`jobs`, `loops` and `busy` must be above 0");
        }
        self.after_s().map(drop)
    }

    /// Returns the seconds after which a node gets slow, at scale 1.
    pub fn after_s(&self) -> Result<f64, Failure> {
        Ok(self.job.after.parse::<Nanos>().map_err(Failure::usage)?.as_secs_f64())
    }
}

//! The sections of a scaling scenario.

use garland_analysis::grade::Published;
use garland_core::units::bytes;
use garland_terminal::failure::Failure;
use garland_topology::Topology;
use serde::{Deserialize, Serialize};

use crate::sections::{Kind, Sections, only, reached, refuse};

/// The sections of a scaling scenario's file.
pub type Scaling = Sections<Job, PublishedRow>;

/// Section `[job]`: the jobs, and the numbers of nodes.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The kind of experiment: `scaling`.
    pub kind: Kind,
    /// Number of jobs.
    pub jobs: usize,
    /// The length of the input that each job reads from the head, such as `18kB`.
    pub bytes_in: String,
    /// The length of the output that each job writes to the head.
    pub bytes_out: String,
    /// The seconds that jobs sleep between reading and writing. Jobs take these in turn.
    pub lengths: Vec<f64>,
    /// The numbers of nodes that are measured first.
    pub measured: Vec<u32>,
    /// The numbers of nodes that are forecast from these measurements, and then tested.
    pub forecast: Vec<u32>,
    /// The claim that the most nodes still gain power, in words; `None` if the claim is that a
    /// shared resource limits the speed.
    pub unlimited: Option<String>,
}

/// Entry of `[[published]]`: a published figure.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedRow {
    /// Number of nodes.
    pub nodes: u32,
    /// The power of these nodes: the number of nodes that would be as fast without any losses.
    pub power: Published,
}

impl Scaling {
    /// Checks that the head reaches all nodes and that there are enough of them.
    pub fn check(&self, topologies: &[Topology]) -> Result<(), Failure> {
        let topology = only(topologies, "a scaling experiment")?;
        let job = &self.job;
        for text in [&job.bytes_in, &job.bytes_out] {
            bytes::parse(text).map_err(Failure::usage)?;
        }
        let most = topology.nodes.len() - 1;
        let counts = || job.measured.iter().chain(&job.forecast);
        check_counts(&job.measured, &job.forecast, most, "besides the head")?;
        let most = counts().max().map_or(0, |nodes| *nodes as usize);
        for node in &topology.nodes[1..=most] {
            reached(topology, &node.name)?;
        }
        let sound = |seconds: &f64| (0.0..3600.0).contains(seconds);
        if job.jobs == 0 || job.lengths.is_empty() || !job.lengths.iter().all(sound) {
            return refuse("`jobs` must be above 0, and `lengths` must have seconds below an hour");
        }
        match self.published.iter().find(|row| counts().all(|nodes| *nodes != row.nodes)) {
            Some(row) => refuse(format!(
                "{} nodes are published, but not in `measured` or `forecast`",
                row.nodes
            )),
            None => Ok(()),
        }
    }

    /// Returns the published figure for a number of nodes; `None` if there is none.
    pub fn published(&self, nodes: u32) -> Option<&PublishedRow> {
        self.published.iter().find(|row| row.nodes == nodes)
    }
}

/// Checks numbers of nodes that are measured, and those that are forecast from them. There are
/// `most` nodes, as `place` says.
pub fn check_counts(
    measured: &[u32],
    forecast: &[u32],
    most: usize,
    place: &str,
) -> Result<(), Failure> {
    let is_beyond = |nodes: &&u32| !(1..=most).contains(&(**nodes as usize));
    if let Some(beyond) = measured.iter().chain(forecast).find(is_beyond) {
        return refuse(format!("{beyond} nodes are wanted, but there are only {most} {place}"));
    }
    if measured.len() < 2 || forecast.is_empty() || !measured.contains(&1) {
        return refuse(
            "`measured` must list 1 node and at least one more count, and `forecast` at least one",
        );
    }
    Ok(())
}

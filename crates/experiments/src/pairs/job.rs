//! The sections of a pairs scenario.

use garland_core::units::bytes;
use garland_terminal::failure::Failure;
use garland_topology::Topology;
use serde::{Deserialize, Serialize};

use super::group::Group;
use crate::sections::{Kind, Sections, refuse};

/// The sections of a pairs scenario's file, which has no published figures.
pub type Pairs = Sections<Job, ()>;

/// Section `[job]`: the copies that are measured.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// The kind of experiment: `pairs`.
    pub kind: Kind,
    /// The length of the file that each pair copies, such as `2MB`.
    pub bytes: String,
    /// The numbers of pairs that copy at the same time.
    pub counts: Vec<usize>,
    /// The name of the topology that is published as carrying less than the others on local wire;
    /// `None` if there is none.
    pub baseline: Option<String>,
    /// The groups of pairs, by kind of wire; a topology is measured with the groups that fit it.
    pub wire: Vec<Group>,
}

impl Pairs {
    /// Checks the length of the file, the numbers of pairs, and the groups.
    pub fn check(&self, topologies: &[Topology]) -> Result<(), Failure> {
        bytes::parse(&self.job.bytes).map_err(Failure::usage)?;
        let most = self.job.counts.iter().max().copied().unwrap_or(0);
        if self.job.counts.contains(&0) || most == 0 {
            return refuse("`counts` must have at least one number, and all must be above 0");
        }
        let is_run = |name: &String| topologies.iter().any(|topology| topology.name == *name);
        if let Some(name) = self.job.baseline.as_ref().filter(|name| !is_run(name)) {
            return refuse(format!("`baseline` is {name}, which is not in `topologies`"));
        }
        Group::check_all(&self.job.wire, most, topologies)
    }
}

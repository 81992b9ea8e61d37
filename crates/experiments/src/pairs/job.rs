//! The sections of a pairs scenario.

use garland_core::units::bytes;
use garland_topology::Topology;
use serde::{Deserialize, Serialize};

use super::group::Group;
use crate::sections::Kind;

/// What is done and compared.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Pairs {
    /// What is done.
    pub job: Job,
    /// What counts as reproduced.
    pub tolerance: Tolerance,
}

/// What is done.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// `pairs`.
    pub kind: Kind,
    /// The length of each pair's file.
    pub bytes: String,
    /// How many pairs at once.
    pub counts: Vec<usize>,
    /// The pairs by their wire; each topology is run with those that it has.
    pub wire: Vec<Group>,
}

/// What counts as reproduced.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// The least rate of all copies together, as a share of what the wires allow.
    pub least_of_bound: f64,
}

impl Pairs {
    /// Whether the nodes are there, each in one pair at most, with wires between them that have a
    /// rate, and every topology has a group of pairs that fits.
    pub fn check(&self, topologies: &[Topology]) -> Result<(), String> {
        bytes::parse(&self.job.bytes).map_err(|error| error.to_string())?;
        let most = self.job.counts.iter().max().copied().unwrap_or(0);
        if self.job.counts.contains(&0) || most == 0 {
            return Err("`counts` are numbers of pairs, one at least".to_owned());
        }
        Group::check_all(&self.job.wire, most, topologies)
    }
}

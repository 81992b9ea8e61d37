//! What the files of all experiments have in common.

use garland_topology::{NodeId, Topology};
use serde::{Deserialize, Serialize};

/// The kinds, by the names they have in a file's `[job]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Balance.
    Balance,
    /// Broadcast.
    Broadcast,
    /// Copy.
    Copy,
    /// Farm.
    Farm,
    /// Pairs.
    Pairs,
    /// Ping.
    Ping,
    /// Placements.
    Placements,
    /// Scaling.
    Scaling,
    /// Stripes.
    Stripes,
}

/// The sections of an experiment, as its kind fills them.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Sections<Job, Tolerance, Published> {
    /// What is done.
    pub job: Job,
    /// What counts as reproduced.
    pub tolerance: Tolerance,
    /// What was published.
    #[serde(default = "Vec::new")]
    pub published: Vec<Published>,
}

/// Where the node `name` is in a topology; says if it isn't.
pub fn place(topology: &Topology, name: &str) -> Result<NodeId, String> {
    topology.node(name).ok_or_else(|| format!("{} has no node {name}", topology.name))
}

/// The only one of these topologies; says what needs it to be, if there are more.
pub fn only<'t>(topologies: &'t [Topology], what: &str) -> Result<&'t Topology, String> {
    match topologies {
        [topology] => Ok(topology),
        _ => Err(format!("{what} is run in one topology")),
    }
}

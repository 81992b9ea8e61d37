//! Whether a real network is cabled and set up as planned: what agents saw, and what follows.
//!
//! It goes in two steps, since what is measured depends on who reaches whom: [`Cabling::of`] judges
//! who heard whom, [`Cabling::links`] then names the links to measure, and [`judge`] says all that
//! isn't as planned.

mod cabling;
mod cycles;
mod finding;
mod links;
mod matching;
mod names;
#[cfg(test)]
mod tests;
mod ways;

pub use cabling::Cabling;
pub use finding::Finding;
pub use links::{Link, MtuSeen, RateSeen};
pub use names::Port;
pub use ways::{BurstSeen, WayJudge};

use std::collections::BTreeSet;

use garland_core::nic_facts::NicFacts;

use super::Topology;

/// What agents saw.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The NICs of each node of the topology; `None` for one that wasn't reached.
    pub nodes: Vec<Option<Vec<NicFacts>>>,
    /// Who heard whom: the listening NIC, and the one that sent.
    pub heard: BTreeSet<(Port, Port)>,
    /// NICs that carry the agents' orders; one of these that isn't in the plan is no fault.
    pub management: BTreeSet<Port>,
    /// The packets that passed planned links.
    pub mtus: Vec<MtuSeen>,
    /// What planned links carried.
    pub rates: Vec<RateSeen>,
    /// Which NICs carried what nodes sent each other.
    pub bursts: Vec<BurstSeen>,
}

/// All that isn't as planned; nothing when all is.
pub fn judge(topology: &Topology, observed: &Observed, cabling: &Cabling) -> Vec<Finding> {
    let mut findings = cabling.findings.clone();
    findings.extend(links::judge(topology, observed, cabling));
    findings.extend(ways::judge(topology, observed, cabling));
    findings
}

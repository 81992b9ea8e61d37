//! Compares a real network with its topology: cables, settings, rates and routes.
//!
//! There are two steps, since the measurements depend on the cabling: [`Cabling::of`] judges which NICs
//! heard each other, [`Cabling::links`] names the links to measure, and [`judge`] returns all findings.

mod cabling;
mod cycles;
mod finding;
mod links;
mod matching;
mod names;
mod observed;
mod port;
#[cfg(test)]
mod tests;
mod ways;

pub use cabling::Cabling;
pub use finding::Finding;
pub use links::Link;
pub use observed::{BurstSeen, MtuSeen, Observed, RateSeen};
pub use port::Port;
pub use ways::WayJudge;

use super::Topology;

/// All differences from the topology; empty if there are none.
pub fn judge(topology: &Topology, observed: &Observed, cabling: &Cabling) -> Vec<Finding> {
    let mut findings = cabling.findings.clone();
    findings.extend(links::judge(topology, observed, cabling));
    findings.extend(ways::judge(topology, observed, cabling));
    findings
}

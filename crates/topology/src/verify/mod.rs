//! Compares a real network with its topology: cables, settings, rates and routes.
//!
//! The measurements depend on the cabling, so there are two steps: [`Cabling::compare`] compares
//! which NICs received frames from each other, and [`Cabling::links`] returns the links to measure.
//! Then [`judge`] returns all findings.

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
mod unmeasured;
mod ways;

pub use cabling::Cabling;
pub use finding::Finding;
pub use links::Link;
pub use observed::{BurstSeen, LinkProperty, MtuSeen, Observed, RateSeen};
pub use port::{Port, is_nic_name};
pub use ways::WayJudge;

use super::Topology;

/// Returns all differences of the observed network from the topology, and what was not compared.
pub fn judge(topology: &Topology, observed: &Observed, cabling: &Cabling) -> Vec<Finding> {
    let mut findings = cabling.findings.clone();
    findings.extend(links::judge(topology, observed, cabling));
    findings.extend(ways::judge(topology, observed, cabling));
    findings.extend(unmeasured::judge(topology, observed, cabling));
    findings
}

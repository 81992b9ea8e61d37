//! The observations of a survey of a network.

use std::collections::BTreeSet;
use std::net::IpAddr;

use garland_core::nic_facts::NicFacts;
use garland_topology::verify::{Observed, Port};
use serde::Serialize;

/// The observations of a survey, and how they were made.
pub struct SurveyOutcome {
    /// Observations of NICs and wires.
    pub observed: Observed,
    /// The kind of probes behind the verdict on the cabling.
    pub evidence: Evidence,
    /// For each node, why it does not take part; `None` if it does.
    pub reasons: Vec<Option<String>>,
}

/// The kind of probes behind the verdict on the cabling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// Ethernet frames, which bypass IP.
    Frames,
    /// Broadcast datagrams, because an agent is not permitted to send frames. A firewall or a bond
    /// may have suppressed some.
    Datagrams,
}

/// Returns the NICs that have the address of an agent. `addresses` are pairs of a node's index and
/// an address of its agent.
pub fn management(
    addresses: &BTreeSet<(usize, IpAddr)>,
    nodes: &[Option<Vec<NicFacts>>],
) -> BTreeSet<Port> {
    let with = |(place, address): &(usize, IpAddr)| {
        let IpAddr::V4(address) = address else { return None };
        let nics = nodes.get(*place)?.as_ref()?;
        let nic = nics.iter().find(|nic| nic.addresses.contains(address))?;
        Some(Port { node: *place, nic: nic.name.clone() })
    };
    addresses.iter().filter_map(with).collect()
}

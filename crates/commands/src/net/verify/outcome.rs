//! What a survey of a network saw.

use std::collections::BTreeSet;
use std::net::IpAddr;

use garland_core::nic_facts::NicFacts;
use garland_topology::verify::{Observed, Port};
use serde::Serialize;

/// What was seen, and on what it rests.
pub struct SurveyOutcome {
    /// What was seen of NICs and wires.
    pub observed: Observed,
    /// On what the verdict of the cabling rests.
    pub evidence: Evidence,
    /// Why a node has no part in it.
    pub reasons: Vec<Option<String>>,
}

/// On what the cabling's verdict rests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Evidence {
    /// Frames past all of IP.
    Frames,
    /// Datagrams to everybody, since some agent may not send frames: a firewall or a NIC in a bond
    /// may have kept them back.
    Datagrams,
}

/// The NICs of a node that have one of its agent's addresses.
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

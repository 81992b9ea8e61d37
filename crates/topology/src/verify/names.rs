//! Matches real NICs to those of the topology.

use std::collections::BTreeMap;

use garland_core::nic_facts::NicFacts;

use super::super::{NicId, NicName, Topology};
use super::observed::Observed;
use super::port::Port;

/// Finds the real NIC of each planned one: by its name, or by its address if only one NIC of the
/// node has it.
pub(super) fn match_ports(topology: &Topology, observed: &Observed) -> BTreeMap<NicId, Port> {
    let mut found = BTreeMap::new();
    for (node, facts) in observed.nodes.iter().enumerate() {
        let Some(facts) = facts else { continue };
        let named = |name: &str| facts.iter().find(|facts| facts.name == name);
        for (id, nic) in topology.nics_of(node) {
            let by_address = || {
                let address = nic.address?;
                let free = facts.iter().filter(|facts| {
                    topology.nics_of(node).all(|(_, other)| other.name != facts.name)
                });
                let mut have = free.filter(|facts| facts.addresses.contains(&address));
                have.next().filter(|_| have.next().is_none())
            };
            if let Some(facts) = named(&nic.name).or_else(by_address) {
                found.insert(id, Port { node, nic: facts.name.clone() });
            }
        }
    }
    found
}

/// Returns the name of the real NIC that was found for a planned one, or else the planned name.
pub(super) fn name(topology: &Topology, ports: &BTreeMap<NicId, Port>, nic: NicId) -> NicName {
    ports
        .get(&nic)
        .map_or_else(|| NicName::from_topology(topology, nic), |port| port.name(topology))
}

/// Returns the facts that a node reported of a real NIC.
pub(super) fn facts<'o>(observed: &'o Observed, port: &Port) -> Option<&'o NicFacts> {
    let nics = observed.nodes.get(port.node)?.as_ref()?;
    nics.iter().find(|facts| facts.name == port.nic)
}

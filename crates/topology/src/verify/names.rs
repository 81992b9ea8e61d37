//! Which real NIC is which of the plan.

use std::collections::BTreeMap;

use super::super::{NicId, NicName, NodeId, Topology};
use super::Observed;
use garland_core::nic_facts::NicFacts;

/// A real NIC: its node's place in the topology, and its name there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Port {
    /// The node.
    pub node: NodeId,
    /// The device's name.
    pub nic: String,
}

impl Port {
    /// For people.
    pub fn name(&self, topology: &Topology) -> NicName {
        NicName { node: topology.nodes[self.node].name.clone(), nic: self.nic.clone() }
    }
}

/// The real NIC of each one of the plan, where it was found: by its name, or by its address where
/// only one NIC of the node has that.
pub(super) fn ports(topology: &Topology, observed: &Observed) -> BTreeMap<NicId, Port> {
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

/// What its node says of a real NIC.
pub(super) fn facts<'o>(observed: &'o Observed, port: &Port) -> Option<&'o NicFacts> {
    let nics = observed.nodes.get(port.node)?.as_ref()?;
    nics.iter().find(|facts| facts.name == port.nic)
}

//! The identity of a real NIC.

use super::super::{NicName, NodeId, Topology};

/// A real NIC: its node's index in the topology, and its device name on the node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Port {
    /// The index of the node in the topology.
    pub node: NodeId,
    /// The device name on the node.
    pub nic: String,
}

impl Port {
    /// Returns the NIC's name in messages.
    pub fn name(&self, topology: &Topology) -> NicName {
        NicName { node: topology.nodes[self.node].name.clone(), nic: self.nic.clone() }
    }
}

//! The identity of a real NIC.

use super::super::{NicName, NodeId, Topology};

/// The maximum length of the name of a network device in bytes (`IFNAMSIZ`, without the NUL).
const MAX_NIC_NAME: usize = 15;

/// Whether the kernel accepts this name of a network device (`dev_valid_name`). A node that reports
/// another one sends what is no name, such as lines of a table.
pub fn is_nic_name(name: &str) -> bool {
    let refused = |c: char| matches!(c, '/' | ':') || c.is_whitespace();
    (1..=MAX_NIC_NAME).contains(&name.len())
        && !matches!(name, "." | "..")
        && !name.contains(refused)
}

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

//! Finds the bonds of NICs and nodes.

use garland_topology::{Bond, NicId, NodeId, Selector, Topology};

/// Returns the bond below IP that a NIC belongs to. The bond has the address, and its device sends
/// the packets.
pub(crate) fn above(topology: &Topology, nic: NicId) -> Option<&Bond> {
    let below_ip = |bond: &&Bond| bond.selector != Selector::Subflow;
    topology.bonds.iter().filter(below_ip).find(|bond| bond.nics.contains(&nic))
}

/// Whether a node has a bond of subflows, so that programs must request MPTCP.
pub(crate) fn by_subflow(topology: &Topology, node: NodeId) -> bool {
    let mut bonds = topology.bonds.iter().filter(|bond| bond.node == node);
    bonds.any(|bond| bond.selector == Selector::Subflow)
}

/// Whether any node has a bond of subflows.
pub(crate) fn wants_mptcp(topology: &Topology) -> bool {
    topology.bonds.iter().any(|bond| bond.selector == Selector::Subflow)
}

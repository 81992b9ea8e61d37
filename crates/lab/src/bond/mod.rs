//! NICs that a node uses as one; one file a way to do it.
//!
//! Kernels without the bonding driver are common, and an ordinary user can't load it: what deals
//! packets or flows is nftables, which every kernel of today has. Nothing notices a dead wire: as
//! with the driver's balance-rr without link monitoring, its share of the packets is lost.

mod dealt;
mod subflow;

use garland_topology::{Bond, NicId, NodeId, Selector, Topology};

use crate::node::Writer;
use crate::plan::Step;
use crate::shaping::Shaping;

/// The longest name of a bond: its inner end has one letter more.
const LONGEST_NAME: usize = 14;

/// A node's bonds. Its NICs are up.
pub(crate) fn steps(
    topology: &Topology,
    shaping: &Shaping,
    node: NodeId,
    write: &Writer,
) -> Vec<Step> {
    let own = || topology.bonds.iter().filter(|bond| bond.node == node);
    let mut steps: Vec<Step> = own()
        .filter(|bond| bond.selector != Selector::Subflow)
        .flat_map(|bond| dealt::steps(topology, shaping, bond, write))
        .collect();
    let subflows: Vec<&Bond> = own().filter(|bond| bond.selector == Selector::Subflow).collect();
    steps.extend(subflow::steps(topology, &subflows, write));
    steps
}

/// The bond below IP that a NIC is part of: it has the address, and packets go out by its device.
pub(crate) fn above(topology: &Topology, nic: NicId) -> Option<&Bond> {
    let below_ip = |bond: &&Bond| bond.selector != Selector::Subflow;
    topology.bonds.iter().filter(below_ip).find(|bond| bond.nics.contains(&nic))
}

/// Whether a node's connections shall be several subflows, so that programs must ask for MPTCP.
pub(crate) fn by_subflow(topology: &Topology, node: NodeId) -> bool {
    let mut bonds = topology.bonds.iter().filter(|bond| bond.node == node);
    bonds.any(|bond| bond.selector == Selector::Subflow)
}

/// Whether that is so for any node.
pub(crate) fn wants_mptcp(topology: &Topology) -> bool {
    topology.bonds.iter().any(|bond| bond.selector == Selector::Subflow)
}

/// What is wrong with a bond that the topology's own check lets pass.
pub(crate) fn fault(topology: &Topology) -> Option<String> {
    topology.bonds.iter().find_map(|bond| {
        let Bond { node, name, nics, selector, .. } = bond;
        let node = &topology.nodes[*node].name;
        if *selector == Selector::Subflow {
            return (nics.len() > subflow::MOST_NICS).then(|| {
                format!(
                    "bond {name} of {node} has {} NICs: MPTCP takes {} at most",
                    nics.len(),
                    subflow::MOST_NICS
                )
            });
        }
        (name.len() > LONGEST_NAME || name == "all" || name == "default").then(|| {
            format!(
                "bond {name} of {node}: its name has {LONGEST_NAME} characters at most, and isn't \
                 all or default; call it bond0"
            )
        })
    })
}

#[cfg(test)]
mod tests;

//! Bonds: several NICs that a node uses as one. Each kind of bond has a file.
//!
//! Kernels often lack the bonding driver, and an ordinary user cannot load it; nftables distributes
//! packets and flows instead. A dead wire is not detected: the packets that are sent over it are
//! lost, as with the driver's mode balance-rr without link monitoring.

mod dealt;
mod lookup;
mod subflow;

use garland_topology::{Bond, NodeId, Selector, Topology};

pub(crate) use self::lookup::{above, by_subflow, wants_mptcp};
use crate::shaping::Shaping;
use crate::step::Step;
use crate::writer::Writer;

/// The maximum length of a bond's name, in bytes. The inner end of its veth pair has a name that is
/// one byte longer.
const LONGEST_NAME: usize = 14;

/// Returns the steps that create the bonds of a node whose NICs are up.
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

/// Returns the first fault of a bond that [`Topology::check`] does not find, as text.
pub(crate) fn fault(topology: &Topology) -> Option<String> {
    topology.bonds.iter().find_map(|bond| {
        let Bond { node, name, nics, selector, .. } = bond;
        let node = &topology.nodes[*node].name;
        if *selector == Selector::Subflow {
            return (nics.len() > subflow::MOST_NICS).then(|| {
                format!(
                    "bond {name} of {node} has {} NICs, but MPTCP supports at most {}",
                    nics.len(),
                    subflow::MOST_NICS
                )
            });
        }
        (name.len() > LONGEST_NAME || name == "all" || name == "default").then(|| {
            format!(
                "bond {name} of {node}: in a lab, the name of a bond has at most {LONGEST_NAME} \
                 characters and is not all or default; rename it, for instance to bond0"
            )
        })
    })
}

#[cfg(test)]
mod tests;

//! Leaf-spine networks: nodes are connected to leaves, and every leaf to every spine.

use garland_core::units::Rate;
use serde::{Deserialize, Serialize};

use super::super::{MediumId, MediumKind, Topology, Uplink};
use super::Basis;
use super::draft::Draft;

/// The parameters of a leaf-spine network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeafSpine {
    /// The number of switches with nodes. Nodes are assigned to them in order, the same number to
    /// each.
    pub leaves: u32,
    /// The number of switches that join all leaves.
    pub spines: u32,
    /// The rate of the cable from each leaf to each spine; `None` for the rate of the nodes. The
    /// network is oversubscribed if the total uplink rate of a leaf is less than the total rate of
    /// its nodes.
    pub uplink: Option<Rate>,
}

/// Returns a leaf-spine network: each node has one NIC, and all addresses are in one network.
pub fn leaf_spine(basis: &Basis, measures: &LeafSpine) -> Topology {
    let mut draft = Draft::new(basis);
    let switch = MediumKind::Switch { backplane: None };
    let nodes = u32::try_from(draft.nodes()).unwrap_or(u32::MAX);
    let leaves: Vec<MediumId> = (1..=measures.leaves.clamp(1, nodes.max(1)))
        .map(|leaf| draft.medium(format!("leaf{leaf}"), switch))
        .collect();
    for spine in 1..=measures.spines {
        let spine = draft.medium(format!("spine{spine}"), switch);
        for leaf in &leaves {
            draft.topology.uplinks.push(Uplink { from: *leaf, to: spine, rate: measures.uplink });
        }
    }
    for node in 0..draft.nodes() {
        let leaf = leaves[node * leaves.len() / draft.nodes()];
        draft.plug_in(node, leaf, basis.subnet);
    }
    draft.topology
}

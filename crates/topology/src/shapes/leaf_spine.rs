//! Two layers of switches: nodes on leaves, and every leaf on every spine.

use serde::{Deserialize, Serialize};

use super::super::{MediumId, MediumKind, Topology};
use super::Basis;
use super::draft::Draft;
use garland_core::units::Rate;

/// The measures of a leaf-spine network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeafSpine {
    /// Switches with nodes; these are spread in their order, as many on each.
    pub leaves: u32,
    /// Switches that join all leaves.
    pub spines: u32,
    /// The rate of the cable from each leaf to each spine; that of the nodes when none is given.
    /// The network is oversubscribed where the spines times this are less than a leaf's nodes
    /// times theirs.
    pub uplink: Option<Rate>,
}

/// A leaf-spine network: a NIC a node, one network of addresses.
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
            draft.uplink(*leaf, spine, measures.uplink);
        }
    }
    for node in 0..draft.nodes() {
        let leaf = leaves[node * leaves.len() / draft.nodes()];
        draft.plug_in(node, leaf, basis.subnet);
    }
    draft.done()
}

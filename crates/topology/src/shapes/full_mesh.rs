//! The full mesh: a wire for each pair of nodes.

use super::super::{MediumId, MediumKind, Topology};
use super::Basis;
use super::draft::Draft;

/// Returns a full mesh: every node has a NIC for each other node, in their order, and the same
/// address on all of them. There are no routes.
pub fn full_mesh(basis: &Basis) -> Topology {
    let mut draft = Draft::new(basis);
    let count = draft.nodes();
    for a in 0..count {
        for b in a + 1..count {
            draft.medium(format!("wire{a}-{b}"), MediumKind::Wire);
        }
    }
    for node in 0..count {
        for peer in (0..count).filter(|peer| *peer != node) {
            draft.plug_peer(node, wire(count, node.min(peer), node.max(peer)), peer);
        }
    }
    draft.topology
}

/// Returns the wire between `a` and a later node `b`, of `count` nodes. Wires are numbered by their
/// first node and then by their second.
fn wire(count: usize, a: usize, b: usize) -> MediumId {
    let earlier: usize = (0..a).map(|node| count - 1 - node).sum();
    earlier + (b - a - 1)
}

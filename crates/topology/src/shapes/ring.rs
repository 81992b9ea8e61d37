//! A ring of wires: every node forwards, and packets use the shorter direction.

use super::super::{MediumKind, NextHop, NodeId, Selector, Topology};
use super::Basis;
use super::draft::Draft;
use super::full_mesh;

/// Returns a ring: `eth0` of a node leads to the next node, `eth1` to the previous one, with the
/// same address on both. Of two paths of the same length, the one over the next node is used. Fewer
/// than three nodes are connected by a wire.
pub fn ring(basis: &Basis) -> Topology {
    let mut draft = Draft::new(basis);
    let count = draft.nodes();
    if count < 3 {
        return full_mesh(basis);
    }
    for wire in 1..=count {
        draft.medium(format!("wire{wire}"), MediumKind::Wire);
    }
    for node in 0..count {
        let next = (node + 1) % count;
        let before = (node + count - 1) % count;
        // Wire i connects node i and the next one.
        let ahead = draft.plug_peer(node, node, next);
        let back = draft.plug_peer(node, before, before);
        for steps in 2..count - 1 {
            let to: NodeId = (node + steps) % count;
            let (nic, via) = if steps <= count - steps { (ahead, next) } else { (back, before) };
            let hop = NextHop { nic, via: Some(draft.address(via)) };
            draft.host_route(node, draft.address(to), vec![hop], Selector::default());
        }
        draft.topology.nodes[node].forwards = true;
    }
    draft.topology
}

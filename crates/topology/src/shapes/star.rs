//! The point-to-point star: a wire from the head to every node, with the head's address on all its
//! NICs.

use serde::{Deserialize, Serialize};

use super::super::{MediumKind, NextHop, Topology};
use super::Basis;
use super::draft::Draft;

/// Whether the nodes of a star can reach each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Between {
    /// Nodes reach only the head, as in the star of 2004.
    Isolated,
    /// The head forwards packets between nodes.
    #[default]
    Forwarded,
}

/// Returns a star of wires around the head, which has a NIC for each node, with the same address on
/// all.
pub fn star(basis: &Basis, between: Between) -> Topology {
    const HEAD: usize = 0;
    let mut draft = Draft::new(basis);
    for node in 1..draft.nodes() {
        let wire = draft.medium(format!("wire{node}"), MediumKind::Wire);
        draft.plug_peer(HEAD, wire, node);
    }
    for node in 1..draft.nodes() {
        let nic = draft.plug_peer(node, node - 1, HEAD);
        if between == Between::Forwarded {
            let hop = NextHop { nic, via: Some(draft.address(HEAD)) };
            draft.net_route(node, basis.subnet, hop);
        }
    }
    if between == Between::Forwarded && draft.nodes() > 0 {
        draft.topology.nodes[HEAD].forwards = true;
    }
    draft.topology
}

//! One hub or one switch for all nodes.

use super::super::{MediumKind, Topology};
use super::Basis;
use super::draft::Draft;
use garland_core::units::Rate;

/// All nodes on one hub: a NIC a node, one network.
pub fn hub(basis: &Basis) -> Topology {
    single(basis, "hub", MediumKind::Hub { collisions: false })
}

/// All nodes on one switch: a NIC a node, one network. `backplane` is what all ports together can
/// pass on.
pub fn switch(basis: &Basis, backplane: Option<Rate>) -> Topology {
    single(basis, "switch", MediumKind::Switch { backplane })
}

fn single(basis: &Basis, name: &str, kind: MediumKind) -> Topology {
    let mut draft = Draft::new(basis);
    let medium = draft.medium(name.to_owned(), kind);
    for node in 0..draft.nodes() {
        draft.plug_in(node, medium, basis.subnet);
    }
    draft.done()
}

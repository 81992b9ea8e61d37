//! One hub or one switch for all nodes.

use garland_core::units::Rate;

use super::super::{MediumKind, Topology};
use super::Basis;
use super::draft::Draft;

/// Returns a topology with all nodes on one hub: one NIC per node, one network.
pub fn hub(basis: &Basis) -> Topology {
    single(basis, "hub", MediumKind::Hub { collisions: false })
}

/// Returns a topology with all nodes on one switch: one NIC per node, one network. `backplane` is
/// the total rate of all ports together.
pub fn switch(basis: &Basis, backplane: Option<Rate>) -> Topology {
    single(basis, "switch", MediumKind::Switch { backplane })
}

fn single(basis: &Basis, name: &str, kind: MediumKind) -> Topology {
    let mut draft = Draft::new(basis);
    let medium = draft.medium(name.to_owned(), kind);
    for node in 0..draft.nodes() {
        draft.plug_in(node, medium, basis.subnet);
    }
    draft.topology
}

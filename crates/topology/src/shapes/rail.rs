//! Rails: several switches, and a NIC of every node on each.

use super::super::{MediumKind, Topology};
use super::Basis;
use super::draft::Draft;

/// Returns a topology with `rails` switches, each a network of its own: `eth0` of all nodes is on
/// the first switch, `eth1` on the second. The switches are not connected. The address of a node is
/// that of its first NIC.
pub fn rail(basis: &Basis, rails: u32) -> Topology {
    let mut draft = Draft::new(basis);
    let switch = MediumKind::Switch { backplane: None };
    let media: Vec<_> =
        (1..=rails).map(|rail| draft.medium(format!("rail{rail}"), switch)).collect();
    for node in 0..draft.nodes() {
        for (rail, medium) in (0..).zip(&media) {
            draft.plug_in(node, *medium, basis.subnet.after(rail));
        }
    }
    draft.topology
}

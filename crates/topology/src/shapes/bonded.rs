//! Bonded nets: several nets that connect all nodes and are used as one.

use super::super::{Bond, NicId, Reach, Selector, Topology};
use super::draft::Draft;
use super::{Basis, Segment};

/// Returns a topology with `nets` hubs or switches, a NIC of each node on each of them, and a bond
/// per node.
///
/// With the selectors packet and flow, the bond has the address and its NICs have none. With the
/// selector subflow, each net is a network of its own and each NIC has an address; the first one is
/// the address of the node.
pub fn bonded(basis: &Basis, nets: u32, segment: Segment, selector: Selector) -> Topology {
    let mut draft = Draft::new(basis);
    let media: Vec<_> =
        (1..=nets).map(|net| draft.medium(format!("net{net}"), segment.kind())).collect();
    for node in 0..draft.nodes() {
        let nics: Vec<NicId> = (0..)
            .zip(&media)
            .map(|(net, medium)| match selector {
                Selector::Subflow => draft.plug_in(node, *medium, basis.subnet.after(net)),
                Selector::Packet | Selector::Flow => draft.plug(node, *medium, None, Reach::Nobody),
            })
            .collect();
        let address = draft.address(node);
        let name = "bond0".to_owned();
        let prefix = basis.subnet.prefix();
        draft.topology.bonds.push(Bond { node, name, nics, selector, address, prefix });
    }
    draft.topology
}

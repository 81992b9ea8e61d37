//! Two point-to-point stars whose servers are connected.

use garland_core::units::Rate;
use serde::{Deserialize, Serialize};

use super::super::{Bond, MediumId, MediumKind, NextHop, NicId, NodeId, Reach, Selector, Topology};
use super::Basis;
use super::draft::Draft;

/// The parameters of two joined stars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct JoinedStars {
    /// The number of nodes of the first star, including its server, which is the head. The next
    /// node is the server of the second star.
    pub first: u32,
    /// The rate of each wire between the servers; `None` for the rate of the other wires.
    pub trunk: Option<Rate>,
    /// The number of wires between the servers; several wires are bonded.
    pub wires: u32,
    /// How one of several wires is selected: by packet or by flow.
    pub selector: Selector,
}

/// Returns two joined stars. In each star the server has the same address on the NICs to all its
/// nodes, and forwards. Each star has a network of its own, and so has a bond between the servers.
pub fn joined_stars(basis: &Basis, measures: &JoinedStars) -> Topology {
    let mut draft = Draft::new(basis);
    let count = draft.nodes();
    let second = usize::try_from(measures.first).unwrap_or(usize::MAX).clamp(1, count.max(1));
    for node in second..count {
        draft.topology.nodes[node].address = basis.subnet.after(1).of_node(node - second);
    }
    let stars = [(0, 0..second.min(count)), (second, second..count)];
    let mut wires: Vec<MediumId> = vec![0; count];
    for (server, star) in stars.clone() {
        for node in star.filter(|node| *node != server) {
            wires[node] = draft.medium(format!("wire{node}"), MediumKind::Wire);
        }
    }
    let trunk: Vec<MediumId> = (1..=measures.wires.max(1))
        .filter(|_| second < count)
        .map(|wire| draft.medium_at(format!("trunk{wire}"), MediumKind::Wire, measures.trunk))
        .collect();
    for (star, (server, nodes)) in stars.into_iter().enumerate() {
        for node in nodes.clone().filter(|node| *node != server) {
            draft.plug_peer(server, wires[node], node);
        }
        if !trunk.is_empty() {
            join(&mut draft, &trunk, measures.selector, star, [0, second]);
        }
        for node in nodes.filter(|node| *node != server) {
            let nic = draft.plug_peer(node, wires[node], server);
            let hop = NextHop { nic, via: Some(draft.address(server)) };
            draft.net_route(node, basis.subnet, hop);
            draft.net_route(node, basis.subnet.after(1), hop);
        }
        if server < count {
            draft.topology.nodes[server].forwards = true;
        }
    }
    draft.topology
}

/// Adds the NICs of a server to the other server, and its route to the other star.
fn join(
    draft: &mut Draft<'_>,
    trunk: &[MediumId],
    selector: Selector,
    star: usize,
    servers: [NodeId; 2],
) {
    let server = servers[star];
    let other = servers[1 - star];
    let subnet = draft.basis.subnet;
    let theirs = subnet.after(if star == 0 { 1 } else { 0 });
    if let [wire] = *trunk {
        let nic = draft.plug_peer(server, wire, other);
        let hop = NextHop { nic, via: Some(draft.address(other)) };
        draft.net_route(server, theirs, hop);
        return;
    }
    let between = subnet.after(2);
    let end = |star: usize| between.address(u32::from(star == 1));
    let nics: Vec<NicId> =
        trunk.iter().map(|wire| draft.plug(server, *wire, None, Reach::Nobody)).collect();
    let hop = NextHop { nic: nics[0], via: Some(end(1 - star)) };
    let name = "bond0".to_owned();
    let prefix = between.prefix();
    draft.topology.bonds.push(Bond {
        node: server,
        name,
        nics,
        selector,
        address: end(star),
        prefix,
    });
    draft.net_route(server, theirs, hop);
}

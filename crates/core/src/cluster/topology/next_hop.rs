//! Where a node sends a packet: the longest prefix among what its NICs, bonds and routes reach, as
//! the kernel looks it up.

use std::net::Ipv4Addr;

use super::crossing::distances;
use super::{NextHop, NicId, NodeId, Reach, Selector, Topology};

/// The hops a node may take to an address, and what chooses among them; no hops when it knows no
/// way.
pub(super) fn hops(topology: &Topology, node: NodeId, to: Ipv4Addr) -> (Selector, Vec<NextHop>) {
    // What is reached directly comes first: `max_by_key` takes the last of equals.
    let routes = topology.routes.iter().rev().filter(|route| route.node == node);
    let routed = routes
        .filter(|route| within(to, route.to, route.prefix))
        .map(|route| (route.prefix, route.selector, route.hops.clone()));
    let bonds = topology.bonds.iter().filter(|bond| bond.node == node);
    let bonded = bonds
        .filter(|bond| bond.selector != Selector::Subflow)
        .filter(|bond| within(to, bond.address, bond.prefix))
        .map(|bond| (bond.prefix, bond.selector, direct(&bond.nics)));
    let nics: Vec<_> = topology.nics_of(node).collect();
    let plain = nics.into_iter().rev().filter_map(|(id, nic)| match (nic.reach, nic.address) {
        (Reach::Subnet(prefix), Some(address)) => {
            within(to, address, prefix).then(|| (prefix, Selector::Packet, direct(&[id])))
        }
        (Reach::Peer(peer), _) => (peer == to).then(|| (32, Selector::Packet, direct(&[id]))),
        (Reach::Subnet(_), None) | (Reach::Nobody, _) => None,
    });
    let best = routed.chain(bonded).chain(plain).max_by_key(|(prefix, ..)| *prefix);
    best.map_or((Selector::Packet, Vec::new()), |(_, selector, hops)| {
        behind_bonds(topology, selector, hops)
    })
}

/// The station that answers for `address` on what `nic` is plugged into, the nearest first: a NIC
/// or a bond of this address, or a node whose own it is.
pub(super) fn station(topology: &Topology, nic: NicId, address: Ipv4Addr) -> Option<NicId> {
    let sender = &topology.nics[nic];
    let distances = distances(topology, sender.medium);
    let bonds = topology.bonds.iter().filter(|bond| bond.address == address);
    let bonded: Vec<NicId> = bonds.flat_map(|bond| bond.nics.iter().copied()).collect();
    let answers = |id: NicId| {
        let nic = &topology.nics[id];
        if nic.address == Some(address) {
            Some(0)
        } else if bonded.contains(&id) {
            Some(1)
        } else {
            (topology.nodes[nic.node].address == address).then_some(2)
        }
    };
    let stations = topology.nics.iter().enumerate().filter(|(_, nic)| nic.node != sender.node);
    let near = stations.filter_map(|(id, nic)| {
        let distance = distances[nic.medium]?;
        // Of a bond with two NICs on one switch, each sends to its like.
        Some((answers(id)?, distance, nic.name != sender.name, id))
    });
    near.min().map(|(.., id)| id)
}

fn direct(nics: &[NicId]) -> Vec<NextHop> {
    nics.iter().map(|&nic| NextHop { nic, via: None }).collect()
}

/// A hop through a NIC that is part of a bond goes through any of the bond's.
fn behind_bonds(
    topology: &Topology,
    selector: Selector,
    hops: Vec<NextHop>,
) -> (Selector, Vec<NextHop>) {
    if let [hop] = hops[..] {
        let bonds = topology.bonds.iter().filter(|bond| bond.selector != Selector::Subflow);
        if let Some(bond) = bonds.clone().find(|bond| bond.nics.contains(&hop.nic)) {
            let all = bond.nics.iter().map(|&nic| NextHop { nic, via: hop.via });
            return (bond.selector, all.collect());
        }
    }
    (selector, hops)
}

fn within(address: Ipv4Addr, network: Ipv4Addr, prefix: u8) -> bool {
    let differing = u32::from(address) ^ u32::from(network);
    differing.leading_zeros() >= u32::from(prefix)
}

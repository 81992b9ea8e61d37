//! Checks each route by itself: its destination, and that its next hops are neighbours.

use std::collections::HashSet;

use super::super::forwarding::Forwarding;
use super::super::subnet::mask;
use super::super::{NextHop, Reach, Route, Selector, Topology, same_network};
use super::TopologyFault;

pub(super) fn check(topology: &Topology) -> Result<(), TopologyFault> {
    let forwarding = Forwarding::new(topology);
    let mut seen = HashSet::new();
    for route in &topology.routes {
        let reason = if seen.insert((route.node, route.to, route.prefix)) {
            fits(topology, route).or_else(|| {
                route.hops.iter().find_map(|hop| hop_fits(&forwarding, topology, route, hop))
            })
        } else {
            Some(
                "the node has this route twice: remove one, or use one route with both hops"
                    .to_owned(),
            )
        };
        if let Some(reason) = reason {
            let (node, Route { to, prefix, .. }) = (&topology.nodes[route.node].name, route);
            let fault = format!("the route of {node} to {to}/{prefix}: {reason}");
            return Err(TopologyFault::Structure(fault));
        }
    }
    Ok(())
}

fn fits(topology: &Topology, route: &Route) -> Option<String> {
    if route.prefix > 32 {
        return Some(format!("its prefix is {}, but the maximum is 32", route.prefix));
    }
    if route.to.to_bits() & !mask(route.prefix) != 0 {
        return Some("its address has bits beyond the prefix: set these to 0".to_owned());
    }
    if route.to == topology.nodes[route.node].address && route.prefix == 32 {
        return Some("it leads to the node itself: remove it".to_owned());
    }
    if route.hops.is_empty() {
        return Some("it has no next hop: add one".to_owned());
    }
    let distinct: HashSet<_> = route.hops.iter().map(|hop| (hop.nic, hop.via)).collect();
    if distinct.len() < route.hops.len() {
        return Some("it has the same next hop twice: remove one".to_owned());
    }
    if route.selector == Selector::Subflow && route.hops.len() > 1 {
        return Some(
            "the selector subflow is not possible for routes: use packet or flow".to_owned(),
        );
    }
    None
}

fn hop_fits(
    forwarding: &Forwarding<'_>,
    topology: &Topology,
    route: &Route,
    hop: &NextHop,
) -> Option<String> {
    let nic = &topology.nics[hop.nic];
    if nic.node != route.node {
        return Some(format!(
            "its next hop uses {}, which is a NIC of another node: use one of its own",
            topology.nic_name(hop.nic)
        ));
    }
    let Some(via) = hop.via else {
        if route.prefix == 32 && forwarding.station(hop.nic, route.to).is_none() {
            return Some(format!(
                "no neighbour on {} has this address: set the next hop `via`",
                nic.name
            ));
        }
        return None;
    };
    if forwarding.station(hop.nic, via).is_none() {
        return Some(format!(
            "its next hop {via} is not a neighbour on {}: use the address of a neighbour",
            nic.name
        ));
    }
    let bond = topology.bonds.iter().find(|bond| bond.nics.contains(&hop.nic));
    let known = match (nic.reach, nic.address) {
        (Reach::Peer(peer), _) => peer == via,
        (Reach::Subnet(prefix), Some(address)) => same_network(address, via, prefix),
        _ => bond.is_some_and(|bond| same_network(bond.address, via, bond.prefix)),
    };
    (!known).then(|| {
        format!(
            "its next hop {via} is not in the network of {}: use its address in that network",
            nic.name
        )
    })
}

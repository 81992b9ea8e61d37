//! `[[topology.route]]`: the routes of the explicit shape.

use std::net::Ipv4Addr;

use garland_core::form::{Section, Text};

use super::error::Fault;
use super::lookup::{find_nodes, nic};
use super::values::{SELECTORS, value};
use crate::{NextHop, NicId, NodeId, Reach, Route, Subnet, Topology, same_network};

pub(super) fn read(
    file: &str,
    section: &Section<'_>,
    topology: &mut Topology,
) -> Result<(), Fault> {
    for entry in
        section.sections("route", "[[topology.route]]", &["nodes", "to", "via", "selector"])?
    {
        let owners = entry.needed_text("nodes", "`nodes = \"n1\"`")?;
        let owners = find_nodes(file, topology, &owners)?;
        let to = entry.needed_text("to", "`to = \"10.1.0.0/16\"`, or a node's name")?;
        let (to, prefix) = destination(topology, &entry, &to)?;
        let vias = entry.one_or_more("via")?;
        if vias.is_empty() {
            return Err(entry
                .missing("via", "`via = \"10.0.0.1\"`, or a NIC such as \"eth0\"")
                .into());
        }
        let selector = entry.word("selector", &SELECTORS[..2])?.unwrap_or_default();
        for node in owners {
            let hops = vias.iter().map(|via| hop(topology, node, via));
            let hops = hops.collect::<Result<_, _>>()?;
            topology.routes.push(Route { node, to, prefix, hops, selector });
        }
    }
    Ok(())
}

/// Parses the destination of a route: an address, a network, or the name of a node.
fn destination(
    topology: &Topology,
    entry: &Section<'_>,
    to: &Text<'_>,
) -> Result<(Ipv4Addr, u8), Fault> {
    if let Some(node) = topology.node(to.value) {
        return Ok((topology.nodes[node].address, 32));
    }
    if let Ok(address) = to.value.parse() {
        return Ok((address, 32));
    }
    if to.value == "0.0.0.0/0" {
        return Ok((Ipv4Addr::UNSPECIFIED, 0));
    }
    let subnet: Subnet = to.value.parse().map_err(|error| {
        value(entry, "to", &format!("{error}, an address, or the name of a node"))
    })?;
    Ok((subnet.network(), subnet.prefix()))
}

/// Parses a next hop: the address of a neighbour, or the name of a NIC if the destination is on the
/// NIC's medium.
fn hop(topology: &Topology, node: NodeId, via: &Text<'_>) -> Result<NextHop, Fault> {
    let Ok(address) = via.value.parse::<Ipv4Addr>() else {
        return Ok(NextHop { nic: nic(topology, node, via)?, via: None });
    };
    let plain = topology.nics_of(node).find(|(_, nic)| match (nic.reach, nic.address) {
        (Reach::Peer(peer), _) => peer == address,
        (Reach::Subnet(prefix), Some(own)) => same_network(own, address, prefix),
        (Reach::Subnet(_), None) | (Reach::Nobody, _) => false,
    });
    let bonds = topology.bonds.iter().filter(|bond| bond.node == node);
    let bonded = || bonds.into_iter().find(|bond| same_network(bond.address, address, bond.prefix));
    let found: Option<NicId> =
        plain.map(|(id, _)| id).or_else(|| bonded().and_then(|bond| bond.nics.first().copied()));
    found.map(|nic| NextHop { nic, via: Some(address) }).ok_or_else(|| {
        let node = &topology.nodes[node].name;
        let message = format!(
            "{address} is not a neighbour of {node}: no NIC of the node is in the network of this address, or has it as its peer"
        );
        Fault::contents(via.span.clone(), message)
    })
}

//! Addresses that hosts can have, each on one node, and NICs that know how they reach others.

use std::collections::HashMap;
use std::net::Ipv4Addr;

use super::super::subnet::mask;
use super::super::{Nic, NicId, NodeId, Reach, Topology};
use super::TopologyFault;

/// What every IPv4 host takes at least (RFC 791, 3.1).
const SMALLEST_MTU: u16 = 576;

pub(super) fn check(topology: &Topology) -> Result<(), TopologyFault> {
    let mut owners: HashMap<Ipv4Addr, (NodeId, String)> = HashMap::new();
    let mut claim = |address: Ipv4Addr, node: NodeId, thing: String| {
        possible(address, &thing)?;
        match owners.get(&address) {
            Some((owner, first)) if *owner != node => Err(TopologyFault::AddressClash {
                address: address.to_string(),
                first: first.clone(),
                second: thing,
            }),
            Some(_) => Ok(()),
            None => {
                owners.insert(address, (node, thing));
                Ok(())
            }
        }
    };
    for (id, node) in topology.nodes.iter().enumerate() {
        claim(node.address, id, node.name.clone())?;
    }
    for (id, nic) in topology.nics.iter().enumerate() {
        if let Some(address) = nic.address {
            claim(address, nic.node, topology.nic_name(id))?;
        }
    }
    for bond in &topology.bonds {
        let node = &topology.nodes[bond.node].name;
        claim(bond.address, bond.node, format!("{} of {node}", bond.name))?;
    }
    for (id, nic) in topology.nics.iter().enumerate() {
        nic_fits(topology, id, nic)?;
    }
    apart(topology)?;
    ethernet(topology)
}

/// Addresses that mean a host.
fn possible(address: Ipv4Addr, thing: &str) -> Result<(), TopologyFault> {
    let reason = if address.is_unspecified() || address.octets()[0] == 0 {
        "it means none; take one such as 10.88.0.10"
    } else if address.is_loopback() {
        "it means the node itself; take one such as 10.88.0.10"
    } else if address.is_multicast() || address.octets()[0] >= 240 {
        "it means many or is reserved; take one such as 10.88.0.10"
    } else {
        return Ok(());
    };
    let (thing, address) = (thing.to_owned(), address.to_string());
    Err(TopologyFault::Address { thing, address, reason })
}

/// A NIC's address, reach and MTU go together.
fn nic_fits(topology: &Topology, id: NicId, nic: &Nic) -> Result<(), TopologyFault> {
    let wrong = |reason: String| Err(TopologyFault::Nic { nic: topology.nic_name(id), reason });
    if nic.mtu < SMALLEST_MTU {
        return wrong(format!("an MTU of {}: IPv4 needs {SMALLEST_MTU} at least", nic.mtu));
    }
    match (nic.reach, nic.address) {
        (Reach::Nobody, None) => Ok(()),
        (Reach::Nobody, Some(address)) => wrong(format!(
            "it has the address {address} but reaches nobody: leave the address to its bond"
        )),
        (Reach::Subnet(_) | Reach::Peer(_), None) => {
            wrong("it has no address: give it one, or make it part of a bond".to_owned())
        }
        (Reach::Subnet(prefix), Some(_)) if !(8..=31).contains(&prefix) => {
            wrong(format!("a network prefix of {prefix}: it can be 8 to 31"))
        }
        (Reach::Subnet(prefix), Some(address)) => {
            let host = address.to_bits() & !mask(prefix);
            if prefix < 31 && (host == 0 || host == !mask(prefix)) {
                return wrong(format!(
                    "{address}/{prefix} is the network itself or its broadcast address: take one in between"
                ));
            }
            Ok(())
        }
        (Reach::Peer(peer), Some(address)) if peer == address => {
            wrong(format!("its peer has its own address {address}: name the other end's"))
        }
        (Reach::Peer(_), Some(_)) => Ok(()),
    }
}

/// Two NICs of a node in one network, or with one peer: the kernel would only ever use the first.
fn apart(topology: &Topology) -> Result<(), TopologyFault> {
    let mut seen: HashMap<(NodeId, u32, u8), NicId> = HashMap::new();
    for (id, nic) in topology.nics.iter().enumerate() {
        let (network, prefix) = match (nic.reach, nic.address) {
            (Reach::Subnet(prefix), Some(address)) => (address.to_bits() & mask(prefix), prefix),
            (Reach::Peer(peer), _) => (peer.to_bits(), 32),
            (Reach::Subnet(_), None) | (Reach::Nobody, _) => continue,
        };
        if let Some(first) = seen.insert((nic.node, network, prefix), id) {
            let other = &topology.nics[first].name;
            let network = Ipv4Addr::from_bits(network);
            let reason = format!(
                "it leads to {network}/{prefix} as {other} does, and only one would be used: give it a network of its own, or bond them"
            );
            return Err(TopologyFault::Nic { nic: topology.nic_name(id), reason });
        }
    }
    Ok(())
}

/// Checks that Ethernet addresses are unique: a switch would send frames to the station that sent last.
fn ethernet(topology: &Topology) -> Result<(), TopologyFault> {
    let mut seen = HashMap::new();
    for (id, nic) in topology.nics.iter().enumerate() {
        if nic.ethernet.0[0] & 1 == 1 || nic.ethernet.0 == [0; 6] {
            let reason = format!(
                "{} is no single NIC's Ethernet address: take one such as 02:88:00:00:00:01",
                nic.ethernet
            );
            return Err(TopologyFault::Nic { nic: topology.nic_name(id), reason });
        }
        if let Some(first) = seen.insert(nic.ethernet, id) {
            return Err(TopologyFault::AddressClash {
                address: nic.ethernet.to_string(),
                first: topology.nic_name(first),
                second: topology.nic_name(id),
            });
        }
    }
    Ok(())
}

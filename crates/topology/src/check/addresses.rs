//! Checks addresses: each is valid for a host, belongs to one node only, and fits the network or
//! the peer of its NIC.

use std::collections::HashMap;
use std::fmt::Display;
use std::net::Ipv4Addr;

use super::super::subnet::mask;
use super::super::{Nic, NicId, NodeId, Reach, Topology};
use super::TopologyFault;

/// The packet size that every IPv4 host must accept (RFC 791, 3.1), in bytes.
const SMALLEST_MTU: u16 = 576;

pub(super) fn check(topology: &Topology) -> Result<(), TopologyFault> {
    let mut owners: HashMap<Ipv4Addr, (NodeId, String)> = HashMap::new();
    let mut claim = |address: Ipv4Addr, node: NodeId, thing: String| {
        possible(address, &thing)?;
        match owners.get(&address) {
            Some((owner, first)) if *owner != node => Err(clash(&address, first, &thing)),
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

/// Checks that `address` can be that of a host. `thing` names its owner in the error.
fn possible(address: Ipv4Addr, thing: &str) -> Result<(), TopologyFault> {
    let reason = if address.is_unspecified() || address.octets()[0] == 0 {
        "no host can have an address in 0.0.0.0/8; use one such as 10.88.0.10"
    } else if address.is_loopback() {
        "this is a loopback address; use one such as 10.88.0.10"
    } else if address.is_multicast() || address.octets()[0] >= 240 {
        "this is a multicast or reserved address; use one such as 10.88.0.10"
    } else {
        return Ok(());
    };
    let fault = format!("{thing} has the invalid address {address}: {reason}");
    Err(TopologyFault::Structure(fault))
}

/// Checks the MTU of a NIC, and that its address fits its network prefix or its peer.
fn nic_fits(topology: &Topology, id: NicId, nic: &Nic) -> Result<(), TopologyFault> {
    let wrong = |reason: String| Err(TopologyFault::of_nic(topology, id, &reason));
    if nic.mtu < SMALLEST_MTU {
        return wrong(format!("its MTU is {}, but IPv4 needs at least {SMALLEST_MTU}", nic.mtu));
    }
    match (nic.reach, nic.address) {
        (Reach::Nobody, None) => Ok(()),
        (Reach::Nobody, Some(address)) => wrong(format!(
            "it has the address {address}, but neither a network prefix nor a peer: move the address to its bond"
        )),
        (Reach::Subnet(_) | Reach::Peer(_), None) => {
            wrong("it has no address: set one, or make it part of a bond".to_owned())
        }
        (Reach::Subnet(prefix), Some(_)) if !(8..=31).contains(&prefix) => {
            wrong(format!("its network prefix is {prefix}, but must be 8 to 31"))
        }
        (Reach::Subnet(prefix), Some(address)) => {
            let host = address.to_bits() & !mask(prefix);
            if prefix < 31 && (host == 0 || host == !mask(prefix)) {
                return wrong(format!(
                    "{address}/{prefix} is the address of the network or its broadcast address: use an address in between"
                ));
            }
            Ok(())
        }
        (Reach::Peer(peer), Some(address)) if peer == address => wrong(format!(
            "its peer has the same address {address}: set `peer` to the address of the other end"
        )),
        (Reach::Peer(_), Some(_)) => Ok(()),
    }
}

/// Checks that no two NICs of a node share a network or a peer: the kernel would use only the
/// first.
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
                "it leads to {network}/{prefix} like {other}, but the kernel would use only one of them: use another network, or bond them"
            );
            return Err(TopologyFault::of_nic(topology, id, &reason));
        }
    }
    Ok(())
}

/// Checks that Ethernet addresses are unique. A switch sends frames for a duplicate address to the
/// station that sent last.
fn ethernet(topology: &Topology) -> Result<(), TopologyFault> {
    let mut seen = HashMap::new();
    for (id, nic) in topology.nics.iter().enumerate() {
        if nic.ethernet.0[0] & 1 == 1 || nic.ethernet.0 == [0; 6] {
            let reason = format!(
                "{} is not the Ethernet address of a NIC: use one such as 02:88:00:00:00:01",
                nic.ethernet
            );
            return Err(TopologyFault::of_nic(topology, id, &reason));
        }
        if let Some(first) = seen.insert(nic.ethernet, id) {
            let first = topology.nic_name(first);
            let second = topology.nic_name(id);
            return Err(clash(&nic.ethernet, &first, &second));
        }
    }
    Ok(())
}

/// Returns the fault that `first` and `second` have the same address.
fn clash(address: &impl Display, first: &str, second: &str) -> TopologyFault {
    TopologyFault::Structure(format!(
        "{first} and {second} have the same address {address}: change one of them"
    ))
}

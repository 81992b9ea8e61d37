//! Checks bonds: at least two NICs of one node, with addresses that fit the selector.

use std::collections::HashMap;

use super::super::{Bond, NicId, Reach, Selector, Topology};
use super::TopologyFault;

pub(super) fn check(topology: &Topology) -> Result<(), TopologyFault> {
    let mut bonded: HashMap<NicId, &Bond> = HashMap::new();
    for bond in &topology.bonds {
        for nic in &bond.nics {
            if let Some(other) = bonded.insert(*nic, bond) {
                let name = &topology.nics[*nic].name;
                let reason = format!(
                    "{name} is part of {} already; a NIC can be in one bond only",
                    other.name
                );
                return Err(fault(topology, bond, &reason));
            }
        }
        if let Some(reason) = fits(topology, bond) {
            return Err(fault(topology, bond, &reason));
        }
    }
    let idle = topology.nics.iter().enumerate();
    let mut idle = idle.filter(|(id, nic)| nic.reach == Reach::Nobody && !bonded.contains_key(id));
    match idle.next() {
        None => Ok(()),
        Some((id, _)) => {
            let reason = "it has no address and is in no bond: set an address, or bond it";
            Err(TopologyFault::of_nic(topology, id, reason))
        }
    }
}

fn fits(topology: &Topology, bond: &Bond) -> Option<String> {
    if bond.nics.len() < 2 {
        return Some(format!("it has {} NIC, but a bond needs at least two", bond.nics.len()));
    }
    if !(8..=31).contains(&bond.prefix) {
        return Some(format!("its network prefix is {}, but must be 8 to 31", bond.prefix));
    }
    for (place, nic) in bond.nics.iter().map(|nic| &topology.nics[*nic]).enumerate() {
        if nic.node != bond.node {
            let owner = &topology.nodes[nic.node].name;
            return Some(format!(
                "{} is a NIC of {owner}: a bond consists of NICs of its own node",
                nic.name
            ));
        }
        let free = nic.reach == Reach::Nobody;
        let own = nic.address.is_some();
        match bond.selector {
            Selector::Packet | Selector::Flow if !free => {
                return Some(format!(
                    "{} has an address, but the selectors packet and flow work below IP: move the address to the bond",
                    nic.name
                ));
            }
            Selector::Subflow if free || !own => {
                return Some(format!(
                    "{} has no address, but a subflow needs one: set one",
                    nic.name
                ));
            }
            Selector::Subflow if place == 0 && nic.address != Some(bond.address) => {
                return Some(format!(
                    "its address differs from that of its first NIC {}: set both to the same address",
                    nic.name
                ));
            }
            _ => {}
        }
    }
    None
}

fn fault(topology: &Topology, bond: &Bond, reason: &str) -> TopologyFault {
    let name = &bond.name;
    let node = &topology.nodes[bond.node].name;
    TopologyFault::Structure(format!("bond {name} of {node}: {reason}"))
}

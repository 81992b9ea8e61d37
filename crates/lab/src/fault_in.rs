//! What a topology asks for that a lab can't build.

use garland_topology::{MediumKind, Topology};

use crate::medium::ports;
use crate::{bond, shaping};

/// The most ports of a Linux bridge.
const MOST_PORTS: usize = 1023;

/// The first thing that is wrong with a topology, in words.
pub(crate) fn topology(topology: &Topology) -> Option<String> {
    if let Err(fault) = topology.check() {
        return Some(fault.to_string());
    }
    bond::fault(topology).or_else(|| cabling(topology))
}

/// The first thing that is wrong with devices and media, whether planned like that or not.
pub(crate) fn cabling(topology: &Topology) -> Option<String> {
    devices(topology).or_else(|| media(topology))
}

/// Below `net.ipv4.conf`, where every device has settings, two names stand for all devices.
fn devices(topology: &Topology) -> Option<String> {
    let nic = topology.nics.iter().find(|nic| nic.name == "all" || nic.name == "default")?;
    let (name, node) = (&nic.name, &topology.nodes[nic.node].name);
    Some(format!(
        "NIC {name} of {node}: the kernel means something else by that name; call it eth0"
    ))
}

fn media(topology: &Topology) -> Option<String> {
    topology.media.iter().enumerate().find_map(|(id, medium)| {
        let name = &medium.name;
        let backplane = match medium.kind {
            MediumKind::Switch { backplane } => backplane,
            MediumKind::Hub { .. } | MediumKind::Wire => None,
        };
        let ports = ports(topology, id);
        if ports.len() > MOST_PORTS {
            let count = ports.len();
            return Some(format!("medium {name} has {count} ports: {MOST_PORTS} are the most"));
        }
        let rates = ports.iter().filter_map(|port| port.rate);
        let own = medium.rate.into_iter().chain(backplane).map(|rate| rate.bits_per_second());
        own.chain(rates).find_map(shaping::fault).map(|fault| format!("medium {name}: {fault}"))
    })
}

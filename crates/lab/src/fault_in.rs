//! Finds properties of a topology that a lab cannot emulate.

use garland_topology::Topology;

use crate::medium::ports;
use crate::{bond, delay, shaping};

/// The maximum number of ports of a Linux bridge.
const MOST_PORTS: usize = 1023;

/// Returns the first fault of a topology, as text.
pub(crate) fn topology(topology: &Topology) -> Option<String> {
    if let Err(fault) = topology.check() {
        return Some(fault.to_string());
    }
    bond::fault(topology).or_else(|| cabling(topology))
}

/// Returns the first fault of the devices and media of a topology, which may have cabling faults.
pub(crate) fn cabling(topology: &Topology) -> Option<String> {
    devices(topology).or_else(|| media(topology)).or_else(|| delay::fault(topology))
}

/// Finds NICs named `all` or `default`: below `net.ipv4.conf` these names stand for all devices.
fn devices(topology: &Topology) -> Option<String> {
    let nic = topology.nics.iter().find(|nic| nic.name == "all" || nic.name == "default")?;
    let name = &nic.name;
    let node = &topology.nodes[nic.node].name;
    Some(format!(
        "NIC {name} of {node}: this name is reserved by the kernel; rename the NIC, for instance to eth0"
    ))
}

fn media(topology: &Topology) -> Option<String> {
    topology.media.iter().enumerate().find_map(|(id, medium)| {
        let name = &medium.name;
        let attached = ports(topology, id);
        if attached.len() > MOST_PORTS {
            let count = attached.len();
            return Some(format!("medium {name} has {count} ports, but a bridge has at most {MOST_PORTS}; use fewer nodes or several media"));
        }
        let rates = attached.iter().filter_map(|port| port.rate);
        let own = medium.rate.into_iter().chain(medium.kind.backplane()).map(|rate| rate.bits_per_second());
        own.chain(rates).find_map(shaping::fault).map(|fault| format!("medium {name}: {fault}"))
    })
}

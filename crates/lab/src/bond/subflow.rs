//! A bond above IP: every connection uses MPTCP (RFC 8684), with a subflow on each NIC.
//!
//! On connections over its first NIC a node announces the addresses of its other NICs. The peer
//! connects to each address over its NIC on the same network. So each NIC gets one subflow,
//! whichever side opened the connection.

use garland_topology::{Bond, Topology};

use crate::step::Step;
use crate::writer::Writer;

/// The maximum number of NICs: the kernel allows 8 additional subflows per connection.
pub(super) const MOST_NICS: usize = 9;

pub(super) fn steps(topology: &Topology, bonds: &[&Bond], write: &Writer) -> Vec<Step> {
    let Some(further) = bonds.iter().map(|bond| bond.nics.len() - 1).max() else {
        return Vec::new();
    };
    let mut steps = vec![
        write.sysctl("net.mptcp.enabled", 1),
        write.ip(format!("mptcp limits set subflows {further} add_addr_accepted {further}")),
    ];
    for nic in bonds.iter().flat_map(|bond| &bond.nics[1..]) {
        let nic = &topology.nics[*nic];
        steps.extend(nic.address.map(|address| {
            write.ip(format!("mptcp endpoint add {address} dev {} signal", nic.name))
        }));
    }
    steps
}

//! Checks names: they are valid for hosts and network devices, and unique.

use std::collections::HashSet;

use super::super::Topology;
use super::{LONGEST_DEVICE, TopologyFault};

/// The maximum length of a host name in bytes: that of a DNS label (RFC 1035, 2.3.4); Linux allows
/// 64.
const LONGEST_HOST: usize = 63;

pub(super) fn check(topology: &Topology) -> Result<(), TopologyFault> {
    let mut hosts = HashSet::new();
    for node in &topology.nodes {
        if !is_host(&node.name) {
            return Err(TopologyFault::Nodes(format!(
                "{:?} is not a valid node name: a host name consists of letters, digits, `-` and `.`, begins and ends with a letter or digit, and has at most 63 bytes",
                node.name
            )));
        }
        // Generated files of hosts would take it from the machine itself (RFC 6761, 6.3).
        if is_loopback_name(&node.name) {
            return Err(TopologyFault::Nodes(format!(
                "{:?} is the name that each machine has for itself: rename the node",
                node.name
            )));
        }
        // Host names are case-insensitive (RFC 1035, 2.3.3).
        once(&mut hosts, "nodes", node.name.to_ascii_lowercase())?;
    }
    let mut media = HashSet::new();
    for medium in &topology.media {
        device("a medium", &medium.name)?;
        once(&mut media, "media", medium.name.clone())?;
    }
    let mut devices = HashSet::new();
    let nics = topology.nics.iter().map(|nic| (nic.node, &nic.name));
    let bonds = topology.bonds.iter().map(|bond| (bond.node, &bond.name));
    for (node, name) in nics.chain(bonds) {
        let owner = &topology.nodes[node].name;
        device(&format!("a NIC or bond of {owner}"), name)?;
        if name == "lo" || !devices.insert((node, name.as_str())) {
            return Err(same_name(&format!("devices of {owner}"), name));
        }
    }
    Ok(())
}

fn once(seen: &mut HashSet<String>, what: &str, name: String) -> Result<(), TopologyFault> {
    if seen.insert(name.clone()) {
        return Ok(());
    }
    Err(same_name(what, &name))
}

fn same_name(what: &str, name: &str) -> TopologyFault {
    TopologyFault::Nodes(format!("two {what} have the name {name}: rename one of them"))
}

fn is_loopback_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name == "localhost" || name.starts_with("localhost.") || name.ends_with(".localhost")
}

fn is_host(name: &str) -> bool {
    let label = |label: &str| {
        let inner = |b: u8| b.is_ascii_alphanumeric() || b == b'-';
        !label.is_empty()
            && label.bytes().all(inner)
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= LONGEST_HOST && name.split('.').all(label)
}

fn device(what: &str, name: &str) -> Result<(), TopologyFault> {
    let inner = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
    let good = name.len() <= LONGEST_DEVICE
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(inner);
    if good {
        return Ok(());
    }
    Err(TopologyFault::Structure(format!(
        "{name:?} is not a valid name for {what}: the name of a network device begins with a letter, consists of letters, digits, `-` and `_`, and has at most {LONGEST_DEVICE} bytes"
    )))
}

//! What a topology asks for that a lab can't build.

use std::collections::HashSet;

use garland_core::cluster::topology::{MediumKind, Topology};

use crate::medium::ports;
use crate::shaping;

/// The most nodes beside the head: as many as a bridge has ports, and some room.
const MOST_NODES: usize = 1000;
/// The longest name of a device, from linux/if.h, without its end.
const LONGEST_DEVICE: usize = 15;
/// The longest host name, from sethostname(2).
const LONGEST_HOST: usize = 64;
/// The most ports of a Linux bridge.
const MOST_PORTS: usize = 1023;

/// The first thing that is wrong with a topology, in words.
pub(crate) fn topology(topology: &Topology) -> Option<String> {
    nodes(topology).or_else(|| nics(topology)).or_else(|| media(topology))
}

fn nodes(topology: &Topology) -> Option<String> {
    let count = topology.nodes.len();
    if count < 2 {
        return Some("a lab needs one node at least beside its head".to_owned());
    }
    if count > MOST_NODES + 1 {
        return Some(format!(
            "{} nodes are too many: {MOST_NODES} beside the head are the most",
            count - 1
        ));
    }
    let mut seen = HashSet::new();
    topology.nodes.iter().find_map(|node| {
        let name = &node.name;
        if !is_host_name(name) {
            Some(format!(
                "node {name:?} has no host's name: letters, digits, `-` and `.`, at most \
                 {LONGEST_HOST}, beginning with a letter or a digit"
            ))
        } else if !seen.insert(name) {
            Some(format!("two nodes are called {name}"))
        } else {
            None
        }
    })
}

fn is_host_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '.';
    name.len() <= LONGEST_HOST
        && name.chars().all(plain)
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
}

fn nics(topology: &Topology) -> Option<String> {
    let mut seen = HashSet::new();
    topology.nics.iter().find_map(|nic| {
        let (Some(node), Some(_)) =
            (topology.nodes.get(nic.node), topology.media.get(nic.medium))
        else {
            return Some(format!("NIC {:?} belongs to no node or no medium", nic.name));
        };
        let (name, node) = (&nic.name, &node.name);
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let fits = !name.is_empty() && name.len() <= LONGEST_DEVICE && name.chars().all(plain);
        if !fits || name == "lo" || name == "all" || name == "default" {
            Some(format!(
                "NIC {name:?} of {node}: a device's name has 1 to {LONGEST_DEVICE} letters, digits, \
                 `-` and `_`, and isn't lo, all or default"
            ))
        } else if !seen.insert((nic.node, name)) {
            Some(format!("node {node} has two NICs {name}"))
        } else {
            None
        }
    })
}

fn media(topology: &Topology) -> Option<String> {
    topology.media.iter().enumerate().find_map(|(id, medium)| {
        let name = &medium.name;
        let backplane = match medium.kind {
            MediumKind::Hub { .. } if medium.rate.is_none() => {
                return Some(format!("hub {name} has no rate, which a shared medium needs"));
            }
            MediumKind::Switch { backplane } => backplane,
            _ => None,
        };
        let ports = ports(topology, id);
        if ports.len() > MOST_PORTS {
            let count = ports.len();
            return Some(format!("medium {name} has {count} ports: {MOST_PORTS} are the most"));
        }
        if medium.kind == MediumKind::Wire && ports.len() != 2 {
            return Some(format!("wire {name} has {} ends instead of two", ports.len()));
        }
        let rates = ports.iter().filter_map(|port| port.rate);
        let own = medium.rate.into_iter().chain(backplane).map(|rate| rate.bits_per_second());
        own.chain(rates).find_map(shaping::fault).map(|fault| format!("medium {name}: {fault}"))
    })
}

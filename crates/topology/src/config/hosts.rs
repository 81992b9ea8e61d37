//! The names of all nodes: a block in hosts(5), and a numbered map like that of openMosix.

use std::fmt::Write;

use super::super::Topology;
use super::ConfigFile;

/// The path of the map.
pub const MAP: &str = "/etc/garland/nodes.map";

/// Returns the block of `/etc/hosts` with a line for each node: its address and name.
#[must_use]
pub fn hosts(topology: &Topology) -> ConfigFile {
    let mut text = String::new();
    for node in &topology.nodes {
        let _ = writeln!(text, "{} {}", node.address, node.name);
    }
    ConfigFile::new("/etc/hosts", text).block()
}

/// Returns the map with a line for each node: its number, from 1 for the head, its address and its
/// name. openMosix used such numbers in paths: `/mfs/NUMBER/path`.
#[must_use]
pub fn map(topology: &Topology) -> ConfigFile {
    let mut text = "# number address name\n".to_owned();
    for (place, node) in topology.nodes.iter().enumerate() {
        let _ = writeln!(text, "{} {} {}", place + 1, node.address, node.name);
    }
    ConfigFile::new(MAP, text)
}

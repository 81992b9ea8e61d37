//! The names of all nodes: a block of hosts(5), and the numbered map that openMosix had.

use std::fmt::Write;

use super::super::Topology;
use super::ConfigFile;

/// Where the map goes.
pub const MAP: &str = "/etc/garland/nodes.map";

/// A line for each node in `/etc/hosts`: its address and name.
#[must_use]
pub fn hosts(topology: &Topology) -> ConfigFile {
    let mut text = String::new();
    for node in &topology.nodes {
        let _ = writeln!(text, "{} {}", node.address, node.name);
    }
    ConfigFile::new("/etc/hosts", text).block()
}

/// A line for each node: its number, from 1 for the head, its address and its name. openMosix
/// found nodes by such numbers, which its `/mfs/NUMBER/path` named files by.
#[must_use]
pub fn map(topology: &Topology) -> ConfigFile {
    let mut text = "# number address name\n".to_owned();
    for (place, node) in topology.nodes.iter().enumerate() {
        let _ = writeln!(text, "{} {} {}", place + 1, node.address, node.name);
    }
    ConfigFile::new(MAP, text)
}

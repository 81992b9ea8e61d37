//! What joined the nodes: a picture, and the same in a table.

use serde::Serialize;

/// A topology for the page.
#[derive(Clone, Debug, Serialize)]
pub struct Picture {
    /// What people call it.
    pub name: String,
    /// Nodes in it.
    pub nodes: usize,
    /// NICs in it.
    pub nics: usize,
    /// Hubs, switches and wires.
    pub joints: Vec<Joint>,
    /// An SVG element whose colours the page gives; none where there are too many nodes to be seen.
    pub svg: Option<String>,
}

/// What joins nodes.
#[derive(Clone, Debug, Serialize)]
pub struct Joint {
    /// Its name.
    pub name: String,
    /// What it is.
    pub kind: &'static str,
    /// Bits per second; none where it is as fast as the machine.
    pub bits_per_second: Option<u64>,
    /// What is plugged into it: `n1 eth0`.
    pub stations: Vec<String>,
}

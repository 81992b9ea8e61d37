//! A topology on the page: a picture, and a table with the same contents.

use serde::Serialize;

/// A topology for the page.
#[derive(Clone, Debug, Serialize)]
pub struct Picture {
    /// The topology's name.
    pub name: String,
    /// Number of nodes.
    pub nodes: usize,
    /// Number of NICs.
    pub nics: usize,
    /// Hubs, switches and wires.
    pub joints: Vec<Joint>,
    /// An SVG element, coloured by the page's style; none if there are too many nodes to draw.
    pub svg: Option<String>,
}

/// A medium between nodes.
#[derive(Clone, Debug, Serialize)]
pub struct Joint {
    /// The medium's name.
    pub name: String,
    /// The kind of medium.
    pub kind: &'static str,
    /// Bits per second; none if the rate is not limited.
    pub bits_per_second: Option<u64>,
    /// Nodes and NICs that are connected, such as `n1 eth0`.
    pub stations: Vec<String>,
}

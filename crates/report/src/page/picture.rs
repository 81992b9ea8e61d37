//! A topology on the page: a picture, and a table with the same contents.

use serde::Serialize;

/// A topology to be shown on the page.
#[derive(Clone, Debug, Serialize)]
pub struct Picture {
    /// The topology's name.
    pub name: String,
    /// The number of nodes.
    pub nodes: usize,
    /// The number of NICs.
    pub nics: usize,
    /// The media between nodes: hubs, switches and wires.
    pub joints: Vec<Joint>,
    /// An SVG element, coloured by the page's style; `None` if there are too many nodes to draw.
    pub svg: Option<String>,
}

/// A medium between nodes.
#[derive(Clone, Debug, Serialize)]
pub struct Joint {
    /// The medium's name.
    pub name: String,
    /// The kind of medium, in words.
    pub kind: &'static str,
    /// The rate in bits per second; `None` if it is not limited.
    pub bits_per_second: Option<u64>,
    /// The connected NICs, each with its node, such as `n1 eth0`.
    pub stations: Vec<String>,
}

//! A topology on the page: a picture, and a table with the same contents.

use serde::Serialize;
use serde_json::Value;

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
    /// For each two nodes of a copy that were linked, the cables between them: objects with the
    /// nodes' indices in the plan `from` and `to`, and a list `cables` of objects with the
    /// attribute `data-cable` of its line as `cable`, the direction `forth`, the `share` of the
    /// data, and `bits_per_second`. `null` without a copy.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub crossings: Value,
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

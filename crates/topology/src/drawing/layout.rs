//! The layout of a picture: positions of nodes, media and cables.

use crate::{MediumId, NicId, NodeId, Topology};

/// A position in SVG units: x to the right, y down.
pub(super) type Point = (f64, f64);

/// The positions of all parts of a topology.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Layout {
    /// For each node, the centre of its box.
    pub(super) nodes: Vec<Point>,
    /// The bars of hubs and switches.
    pub(super) bars: Vec<Bar>,
    /// Cables: from nodes to bars, between two nodes, and between two bars.
    pub(super) lines: Vec<Line>,
}

/// A hub or a switch, drawn as a bar.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Bar {
    pub(super) medium: MediumId,
    pub(super) from: Point,
    pub(super) to: Point,
    /// The position at which the caption starts.
    pub(super) caption: Point,
}

/// The line of a cable.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Line {
    pub(super) what: Cable,
    pub(super) from: Point,
    pub(super) to: Point,
}

/// What a cable connects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cable {
    /// A NIC and its hub or switch.
    Port(NicId),
    /// Two NICs.
    Wire(MediumId),
    /// Two media: the index of the uplink.
    Uplink(usize),
}

impl Cable {
    /// Returns the attribute `data-cable` of the cable's line, such as `nic3`.
    pub(super) fn key(self) -> String {
        match self {
            Self::Port(id) => format!("nic{id}"),
            Self::Wire(id) => format!("wire{id}"),
            Self::Uplink(id) => format!("uplink{id}"),
        }
    }
}

/// Returns the two nodes of a wire, in the order of its NICs.
pub(super) fn ends(topology: &Topology, wire: MediumId) -> Option<(NodeId, NodeId)> {
    let mut nodes = topology.stations(wire).map(|(_, nic)| nic.node);
    Some((nodes.next()?, nodes.next()?))
}

//! Pictures of topologies: where everything goes (`grid`, `stars`, `layers`), and how it looks as
//! text and as SVG.

mod grid;
mod layers;
mod stars;
mod svg;
mod text;

use crate::{Medium, MediumId, MediumKind, NicId, NodeId, Topology};

pub use svg::{inline, svg};
pub use text::text;

/// A place, in the units of SVG; x to the right, y down.
type Point = (f64, f64);

/// Where everything of a topology goes.
#[derive(Clone, Debug, Default, PartialEq)]
struct Layout {
    /// The middle of each node.
    nodes: Vec<Point>,
    /// Hubs and switches.
    bars: Vec<Bar>,
    /// From nodes to bars or to the other end of a wire, and from bar to bar.
    lines: Vec<Line>,
}

/// A hub or a switch: a bar from here to there.
#[derive(Clone, Debug, PartialEq)]
struct Bar {
    medium: MediumId,
    from: Point,
    to: Point,
    /// Where its name begins.
    caption: Point,
}

/// A cable.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    what: Cable,
    from: Point,
    to: Point,
}

/// What a cable joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cable {
    /// A NIC and its hub or switch.
    Port(NicId),
    /// Two NICs.
    Wire(MediumId),
    /// Two media: the place in the topology's uplinks.
    Uplink(usize),
}

impl Layout {
    /// A grid if the topology is one, stars or a circle if all media are wires, layers otherwise.
    fn of(topology: &Topology) -> Self {
        if let Some(places) = grid::places(topology) {
            return grid::layout(topology, &places);
        }
        if topology.media.iter().all(|medium| medium.kind == MediumKind::Wire) {
            return stars::layout(topology);
        }
        layers::layout(topology)
    }
}

/// What a medium is and how fast: `hub, 10 Mbit/s`.
fn caption(medium: &Medium) -> String {
    let kind = match medium.kind {
        MediumKind::Hub { .. } => "hub",
        MediumKind::Switch { .. } => "switch",
        MediumKind::Wire => "wire",
    };
    match medium.rate {
        Some(rate) => format!("{kind}, {}", bits(rate.bits_per_second() as f64)),
        None => kind.to_owned(),
    }
}

/// A rate of a wire in bits, as wires are sold: `10 Mbit/s`, `2.5 Gbit/s`.
pub fn bits(rate: f64) -> String {
    match rate {
        rate if rate >= 1e9 => format!("{} Gbit/s", rate / 1e9),
        rate if rate >= 1e6 => format!("{} Mbit/s", rate / 1e6),
        rate => format!("{} kbit/s", rate / 1e3),
    }
}

/// The two nodes of a wire, in order of its NICs.
fn ends(topology: &Topology, wire: MediumId) -> Option<(NodeId, NodeId)> {
    let mut nodes = topology.stations(wire).map(|(_, nic)| nic.node);
    Some((nodes.next()?, nodes.next()?))
}

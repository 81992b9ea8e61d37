//! Pictures of topologies: layouts (`grid`, `stars`, `layers`), and their output as text and as
//! SVG.

mod crossed;
mod grid;
mod layers;
mod layout;
mod stars;
mod svg;
mod text;

use self::layout::Layout;
use crate::{Medium, MediumKind, Topology};

pub use crossed::{Crossed, Crossing, crossings};
pub use svg::{inline, svg};
pub use text::text;

/// Computes the layout of a topology: a grid if possible, stars or a circle if all media are wires,
/// otherwise layers.
fn lay_out(topology: &Topology) -> Layout {
    if let Some(cells) = grid::places(topology) {
        return grid::layout(topology, &cells);
    }
    if topology.media.iter().all(|medium| medium.kind == MediumKind::Wire) {
        return stars::layout(topology);
    }
    layers::layout(topology)
}

/// Returns the kind and the rate of a medium: `hub, 10 Mbit/s`.
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

/// Formats a rate in bits per second with a unit: `10 Mbit/s`, `2.5 Gbit/s`.
pub fn bits(rate: f64) -> String {
    match rate {
        rate if rate >= 1e9 => format!("{} Gbit/s", rate / 1e9),
        rate if rate >= 1e6 => format!("{} Mbit/s", rate / 1e6),
        rate => format!("{} kbit/s", rate / 1e3),
    }
}

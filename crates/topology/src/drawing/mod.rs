//! Pictures of topologies: where everything goes (`grid`, `stars`, `layers`), and how it looks as
//! text and as SVG.

mod grid;
mod layers;
mod layout;
mod stars;
mod svg;
mod text;

use self::layout::Layout;
use crate::{Medium, MediumKind, Topology};

pub use svg::{inline, svg};
pub use text::text;

/// The layout of a topology: a grid if it is one, stars or a circle if all media are wires, layers
/// otherwise.
fn lay_out(topology: &Topology) -> Layout {
    if let Some(places) = grid::places(topology) {
        return grid::layout(topology, &places);
    }
    if topology.media.iter().all(|medium| medium.kind == MediumKind::Wire) {
        return stars::layout(topology);
    }
    layers::layout(topology)
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

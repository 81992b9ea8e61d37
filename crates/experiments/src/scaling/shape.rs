//! The only medium of a topology.

use garland_topology::{MediumKind, Topology};

/// Returns the shape and the rate of a topology with one medium, as arguments of `garland forecast`.
pub fn shape(topology: &Topology) -> Option<(&'static str, String)> {
    let [medium] = topology.media.as_slice() else { return None };
    let shape = match medium.kind {
        MediumKind::Hub { .. } => "hub",
        MediumKind::Switch { .. } => "switch",
        _ => return None,
    };
    Some((shape, format!("{}bit", medium.rate?.bits_per_second())))
}

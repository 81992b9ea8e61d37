//! The shape of a topology with one medium.

use garland_topology::{MediumKind, Topology};

use crate::sections::refuse;
use garland_terminal::failure::Failure;

/// Returns the shape and the rate of a topology with one medium, as `garland forecast` takes them.
/// Any other topology is an error.
pub fn shape(topology: &Topology) -> Result<(&'static str, String), Failure> {
    let shape = match topology.media.as_slice() {
        [medium] => match medium.kind {
            MediumKind::Hub { .. } => Some("hub").zip(medium.rate),
            MediumKind::Switch { .. } => Some("switch").zip(medium.rate),
            _ => None,
        },
        _ => None,
    };
    match shape {
        Some((shape, rate)) => Ok((shape, format!("{}bit", rate.bits_per_second()))),
        None => {
            let name = &topology.name;
            refuse(format!("topology {name} is not a single hub or switch with a rate"))
        }
    }
}

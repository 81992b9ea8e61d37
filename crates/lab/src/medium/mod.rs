//! What joins the nodes of a lab; one file a medium.
//!
//! Every medium is a bridge, and every station has a port of its own there: so cutting a wire and
//! counting bytes are the same for all. All of it is in one namespace, the media's, since an IFB
//! gives frames back only where it lives.

mod bridge;
pub mod collisions;
mod fabric;
mod hub;
mod port;
mod queue;
mod switch;
mod wire;

use garland_core::units::Rate;
use garland_topology::{MediumId, MediumKind, Topology};

pub(crate) use bridge::mtu;
pub(crate) use port::sends_from;
pub use port::{Port, Station, ports};

use crate::plan::{Place, Step};
use crate::shaping::{self, Shaping};

/// TCP payload in bits per second that one flow reaches through a medium, alone.
pub fn goodput(topology: &Topology, medium: MediumId) -> Option<f64> {
    let medium = &topology.media[medium];
    let rate = medium.rate.map(Rate::bits_per_second);
    match medium.kind {
        MediumKind::Hub { .. } => rate.map(shaping::goodput_of_hub),
        MediumKind::Wire => rate.map(shaping::goodput),
        // Acknowledgements pass the backplane beside what they answer.
        MediumKind::Switch { backplane } => {
            let of_backplane =
                backplane.map(|rate| shaping::goodput_of_hub(rate.bits_per_second()));
            rate.map(shaping::goodput).into_iter().chain(of_backplane).reduce(f64::min)
        }
    }
}

/// The same for each of two flows against each other, on media of full duplex.
pub fn goodput_both_ways(topology: &Topology, medium: MediumId, exact: bool) -> Option<f64> {
    let medium = &topology.media[medium];
    let rate = medium.rate.map(Rate::bits_per_second);
    let of_backplane = match medium.kind {
        MediumKind::Switch { backplane: Some(rate) } => {
            Some(shaping::goodput_of_hub(rate.bits_per_second()) / 2.0)
        }
        _ => None,
    };
    let of_port = rate.map(|rate| shaping::goodput_both_ways(rate, exact));
    of_port.into_iter().chain(of_backplane).reduce(f64::min)
}

/// The bridges, before there is anything to plug in.
pub(crate) fn bridges(topology: &Topology) -> Vec<Step> {
    let mut steps = bridge::ground();
    steps.extend((0..topology.media.len()).flat_map(|medium| bridge::make(topology, medium)));
    steps
}

/// The cables: NICs that are plugged in, media that are joined. The nodes' namespaces are there.
pub(crate) fn cables(topology: &Topology) -> Vec<Step> {
    let nics = 0..topology.nics.len();
    let mut steps: Vec<Step> = nics.flat_map(|nic| bridge::plug(topology, nic)).collect();
    let uplinks = 0..topology.uplinks.len();
    steps.extend(uplinks.flat_map(|uplink| bridge::join(topology, uplink)));
    steps.extend(fabric::ways(topology));
    steps
}

/// What makes the media as slow as they shall be.
pub(crate) fn queues(topology: &Topology, shaping: &Shaping) -> Vec<Step> {
    let of = |(id, medium): (MediumId, _)| {
        let medium: &garland_topology::Medium = medium;
        let ports = ports(topology, id);
        let exact = shaping.exact(id);
        match medium.kind {
            MediumKind::Hub { .. } => hub::queues(topology, id, &ports),
            MediumKind::Switch { backplane } => {
                switch::queues(id, medium, &ports, backplane, exact)
            }
            MediumKind::Wire => wire::queues(medium, &ports, exact),
        }
    };
    topology.media.iter().enumerate().flat_map(of).collect()
}

/// A line for `ip` in the media's namespace.
fn ip(line: String) -> Step {
    Step::Ip { place: Place::Media, line }
}

/// A line for `tc` in the media's namespace.
fn tc(line: String) -> Step {
    Step::Tc { place: Place::Media, line }
}

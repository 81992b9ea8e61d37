//! The media that connect the nodes of a lab.
//!
//! Every medium is a bridge with a port for each station, so wires are cut and bytes are counted in
//! the same way for all. A wire is a bridge with two ports: a veth pair between two nodes could
//! carry the frames as well, but its ends could not be cut, counted and slowed down. All media are
//! in one network namespace, since an IFB device cannot return frames to another namespace.

mod bridge;
pub mod collisions;
mod fabric;
mod hub;
mod port;
mod queue;
mod switch;

use garland_core::units::Rate;
use garland_topology::{MediumId, MediumKind, Topology};

pub(crate) use bridge::mtu_option;
pub(crate) use port::sends_from;
pub use port::{Port, Station, ports};

use crate::shaping::{self, Shaping};
use crate::step::Step;

/// Returns the TCP goodput of a single flow through a medium, in bits per second; `None` if neither
/// its rate nor its backplane is limited.
pub fn goodput(topology: &Topology, medium: MediumId) -> Option<f64> {
    let medium = &topology.media[medium];
    let rate = medium.rate.map(Rate::bits_per_second);
    match medium.kind {
        MediumKind::Hub { .. } => rate.map(shaping::goodput_of_hub),
        MediumKind::Wire => rate.map(shaping::goodput),
        // Data and acknowledgements share the backplane.
        MediumKind::Switch { backplane } => {
            let of_backplane =
                backplane.map(|rate| shaping::goodput_of_hub(rate.bits_per_second()));
            rate.map(shaping::goodput).into_iter().chain(of_backplane).reduce(f64::min)
        }
    }
}

/// Returns the TCP goodput of each of two opposite flows through a full-duplex medium, in bits per
/// second; `None` if neither its rate nor its backplane is limited. `exact` says whether the medium
/// counts frames one by one.
pub fn goodput_both_ways(topology: &Topology, medium: MediumId, exact: bool) -> Option<f64> {
    let medium = &topology.media[medium];
    let rate = medium.rate.map(Rate::bits_per_second);
    let of_backplane = medium.kind.backplane();
    let of_backplane =
        of_backplane.map(|rate| shaping::goodput_of_hub(rate.bits_per_second()) / 2.0);
    let of_port = rate.map(|rate| shaping::goodput_both_ways(rate, exact));
    of_port.into_iter().chain(of_backplane).reduce(f64::min)
}

/// Returns the steps that create the bridges.
pub(crate) fn bridges(topology: &Topology) -> Vec<Step> {
    let mut steps = bridge::ground();
    steps.extend((0..topology.media.len()).flat_map(|medium| bridge::make(topology, medium)));
    steps
}

/// Returns the steps that create the ports of NICs, and the uplinks. The namespaces of the nodes
/// must exist.
pub(crate) fn cables(topology: &Topology) -> Vec<Step> {
    let nics = 0..topology.nics.len();
    let mut steps: Vec<Step> = nics.flat_map(|nic| bridge::plug(topology, nic)).collect();
    let uplinks = 0..topology.uplinks.len();
    steps.extend(uplinks.flat_map(|uplink| bridge::join(topology, uplink)));
    steps.extend(fabric::ways(topology));
    steps
}

/// Returns the steps that create the queues which limit the rates of the media.
pub(crate) fn queues(topology: &Topology, shaping: &Shaping) -> Vec<Step> {
    let of = |(id, medium): (MediumId, _)| {
        let medium: &garland_topology::Medium = medium;
        let attached = ports(topology, id);
        let exact = shaping.exact(id);
        match medium.kind {
            MediumKind::Hub { .. } => hub::queues(topology, id, &attached),
            MediumKind::Switch { .. } | MediumKind::Wire => {
                switch::queues(id, medium, &attached, exact)
            }
        }
    };
    topology.media.iter().enumerate().flat_map(of).collect()
}

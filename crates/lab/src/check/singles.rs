//! Finds flows that cross only one medium.

use std::net::Ipv4Addr;
use std::time::Duration;

use garland_topology::paths::{Choice, Stream, Ways};
use garland_topology::{MediumId, MediumKind, NicId, NodeId, Resource, Topology};

use super::round::{Flow, weight};
use crate::medium;
use crate::medium::collisions;
use crate::shaping::{self, Shaping};

/// The maximum number of stations of a medium that are tried as the sender or receiver of a flow.
const STATIONS: usize = 4;

/// The flows that measure one medium.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Single {
    pub(super) medium: MediumId,
    pub(super) alone: Flow,
    pub(super) both_ways: [Flow; 2],
    /// The expected sum of both directions in bits per second; `None` unless the medium is a hub.
    pub(super) shared: Option<f64>,
}

/// Returns the flows for each medium that connects two nodes by itself, without other media.
pub(super) fn plan(topology: &Topology, ways: &Ways<'_>, shaping: &Shaping) -> Vec<Single> {
    let media = 0..topology.media.len();
    media.filter_map(|medium| single(topology, ways, shaping, medium)).collect()
}

fn single(topology: &Topology, ways: &Ways<'_>, shaping: &Shaping, id: MediumId) -> Option<Single> {
    let medium = &topology.media[id];
    let theory = medium::goodput(topology, id).unwrap_or(f64::INFINITY);
    let stations: Vec<NicId> = topology.stations(id).map(|(nic, _)| nic).take(STATIONS).collect();
    let ordered = stations.iter().flat_map(|from| stations.iter().map(move |to| (*from, *to)));
    let (there, back) = ordered.filter(|(from, to)| from < to).find_map(|(from, to)| {
        let there = flow(topology, ways, id, from, to, theory)?;
        Some((there, flow(topology, ways, id, to, from, theory)?))
    })?;
    let (each, shared) = match medium.kind {
        MediumKind::Hub { collisions } => {
            let stations = if collisions { 2 } else { 1 };
            let sum = theory * collisions::share(stations, shaping::MEAN_FRAME);
            (sum / 2.0, Some(sum))
        }
        MediumKind::Switch { .. } | MediumKind::Wire => {
            let each = medium::goodput_both_ways(topology, id, shaping.exact(id));
            (each.unwrap_or(f64::INFINITY), None)
        }
    };
    let both_ways = [Flow { theory: each, ..there.clone() }, Flow { theory: each, ..back }];
    Some(Single { medium: id, alone: there, both_ways, shared })
}

/// Returns the flow between two stations if it stays on the medium: to the address of the receiving
/// NIC, or else of its node.
fn flow(
    topology: &Topology,
    ways: &Ways<'_>,
    medium: MediumId,
    from: NicId,
    to: NicId,
    theory: f64,
) -> Option<Flow> {
    let sender = topology.nics[from].node;
    let receiver = topology.nics[to].node;
    if sender == receiver {
        return None;
    }
    let own = topology.nics[to].address;
    let addresses = own.into_iter().chain([topology.nodes[receiver].address]);
    addresses.into_iter().find_map(|address| {
        let stream = ways.to_address(sender, receiver, address);
        let stays = media_of(topology, &stream)?.iter().all(|crossed| *crossed == medium);
        stays.then(|| flow_over(topology, &[stream], sender, receiver, address, theory))
    })
}

/// Combines the streams of a connection from one node to an address of another into one flow.
pub(super) fn flow_over(
    topology: &Topology,
    streams: &[Stream],
    from: NodeId,
    to: NodeId,
    address: Ipv4Addr,
    theory: f64,
) -> Flow {
    let mut senders = Vec::new();
    let mut media = Vec::new();
    let longest = |choices: fn(&Stream) -> &[Choice]| {
        let legs = streams.iter().flat_map(choices).flat_map(|choice| &choice.legs);
        legs.map(|leg| leg.path.delay(topology).0).max().unwrap_or(0)
    };
    let round_trip = longest(|stream| &stream.there) + longest(|stream| &stream.back);
    for path in streams.iter().flat_map(paths) {
        media.extend(path.resources.iter().filter_map(|resource| medium_of(topology, *resource)));
        // Each node on the path sends over one of its NICs on the next resource.
        for node in &path.nodes {
            let crossed = |nic: &NicId| {
                path.resources.iter().any(|resource| is_at(topology, *resource, *nic))
            };
            senders.extend(topology.nics_of(*node).map(|(nic, _)| nic).filter(crossed));
        }
    }
    senders.sort_unstable();
    senders.dedup();
    media.sort_unstable();
    media.dedup();
    let round_trip = Duration::from_nanos(round_trip);
    Flow { from, to, address, theory, senders, media, round_trip }
}

fn paths(stream: &Stream) -> impl Iterator<Item = &garland_topology::paths::Path> {
    let choices = stream.there.iter().chain(&stream.back);
    choices.flat_map(|choice| choice.legs.iter().map(|leg| &leg.path))
}

/// Returns the media that a stream crosses; `None` if packets get lost or the stream crosses an
/// uplink.
fn media_of(topology: &Topology, stream: &Stream) -> Option<Vec<MediumId>> {
    if stream.there.iter().chain(&stream.back).any(|choice| choice.legs.is_empty()) {
        return None;
    }
    let resources = paths(stream).flat_map(|path| path.resources.iter());
    resources.map(|resource| medium_of(topology, *resource)).collect()
}

/// Returns the medium of a resource; `None` for uplinks, which have two.
fn medium_of(topology: &Topology, resource: Resource) -> Option<MediumId> {
    match resource {
        Resource::Hub(medium) | Resource::Backplane(medium) => Some(medium),
        Resource::Out(nic) | Resource::In(nic) => Some(topology.nics[nic].medium),
        Resource::Up(_) | Resource::Down(_) => None,
    }
}

/// Whether a resource is a direction of the NIC itself, a direction of the wire that the NIC is on,
/// or the hub that it is on.
fn is_at(topology: &Topology, resource: Resource, nic: NicId) -> bool {
    let medium = topology.nics[nic].medium;
    match resource {
        Resource::Hub(hub) => hub == medium,
        Resource::Out(at) | Resource::In(at) if topology.media[medium].kind == MediumKind::Wire => {
            topology.nics[at].medium == medium
        }
        Resource::Out(at) | Resource::In(at) => at == nic,
        Resource::Backplane(_) | Resource::Up(_) | Resource::Down(_) => false,
    }
}

/// The maximum number of groups of media that are measured. Most media of a large lab are alike.
const GROUPS: usize = 6;

/// Groups media that this machine can emulate at the same time, at full rate in both directions.
/// Drops the media beyond [`GROUPS`] groups.
pub(super) fn side_by_side(singles: Vec<Single>, shaping: &Shaping) -> Vec<Vec<Single>> {
    let mut groups: Vec<(f64, Vec<Single>)> = Vec::new();
    for single in singles {
        let weight = 2.0 * weight(&single.alone, shaping);
        match groups.last_mut() {
            Some((sum, group)) if *sum + weight <= 1.0 => {
                *sum += weight;
                group.push(single);
            }
            _ => groups.push((weight, vec![single])),
        }
    }
    groups.into_iter().take(GROUPS).map(|(_, group)| group).collect()
}

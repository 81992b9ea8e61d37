//! Upper bounds of the TCP goodput of concurrent connections, by max-min fairness.
//!
//! An Ethernet frame has 38 bytes in addition to its packet (preamble 8, header 14, checksum 4, gap
//! 12), and a TCP packet over IPv4 with time stamps has 52 bytes in addition to its payload: 1448
//! of 1538 bytes are payload at an MTU of 1500. Every second frame is acknowledged by a packet of
//! 90 bytes on the wire. On a hub acknowledgements use the same wire (1448 / (1538 + 45), 91.5 %).
//! On full-duplex ports they use the other direction, where receivers merge them, so they are not
//! counted there.
//!
//! CPU time for forwarding, collisions and disks are not taken into account, so the figures are
//! upper bounds.

mod fair;
mod loads;
#[cfg(test)]
mod tests;
mod uses;

use std::collections::HashMap;

use garland_core::splitmix::SplitMix;

pub use fair::{Use, fair_rates};
pub use loads::{TrafficPattern, loads};
pub use uses::uses;

use super::paths::{Choice, Leg, Stream, Ways};
use super::{NodeId, Reach, Resource, Topology};

/// Bytes on the wire per frame in addition to the packet.
pub(crate) const FRAME: f64 = 38.0;
/// Bytes of IPv4 and TCP headers with time stamps.
pub(crate) const HEADERS: f64 = 52.0;
/// Bytes on the wire for acknowledgements per frame: half of an acknowledgement, since every second
/// frame is acknowledged.
pub(crate) const ACKNOWLEDGEMENT: f64 = (HEADERS + FRAME) / 2.0;

/// Returns the share of the bits on the wire that is TCP payload, 0 to 1, if packets have `packet`
/// bytes. Acknowledgements are not counted.
#[must_use]
pub fn payload_share(packet: u16) -> f64 {
    // A smaller packet has no payload; IPv4 allows MTUs from 68 on.
    let packet = f64::from(packet.max(68));
    (packet - HEADERS) / (packet + FRAME)
}

/// Returns the bytes on the wire when `payload` bytes are sent at once over TCP, in packets of at
/// most `mtu` bytes. Headers, preambles and gaps are included; the result is at least 84, the bytes
/// of the shortest frame.
#[must_use]
pub fn on_the_wire(payload: u64, mtu: u16) -> u64 {
    const LEAST: u64 = 84;
    let full = u64::from(mtu.max(68)) - HEADERS as u64;
    let packets = payload.div_ceil(full).max(1);
    (payload + packets * (HEADERS + FRAME) as u64).max(LEAST)
}

/// The maximum number of combinations of hash results for which all are computed. Of a larger
/// number, [`DRAWS`] random ones are computed.
const ALL_DRAWS: usize = 1024;
/// The number of random combinations.
const DRAWS: usize = 256;

/// Returns the TCP goodput of each connection in bits per second when all send at the same time.
/// The rates are max-min fair; 0 if no packet arrives, infinite if no wire with a rate is used.
///
/// With [`Selector::Packet`](super::Selector::Packet), a connection uses all its paths at the same
/// rate. Subflows get as much as each can, and the connection gets their sum. Connections that use
/// one path are assumed to spread as evenly as possible: the hash is unknown, and this is the upper
/// bound. [`expected`] returns the average over all hashes.
pub fn max_min(topology: &Topology, flows: &[(NodeId, NodeId)]) -> Vec<f64> {
    max_min_of(topology, &streams(topology, flows))
}

/// Returns the TCP goodput of each connection as [`max_min`] does, for connections with known
/// streams.
pub fn max_min_of(topology: &Topology, connections: &[Vec<Stream>]) -> Vec<f64> {
    let all: Vec<&Stream> = connections.iter().flatten().collect();
    let picks = spread(topology, &all, Placing::Even);
    sums(connections, &fill(topology, &all, &picks))
}

/// Returns the TCP goodput of each flow as [`max_min`] does, if each flow has a lane to every NIC
/// of its receiver.
pub fn max_min_over_rails(topology: &Topology, flows: &[(NodeId, NodeId)]) -> Vec<f64> {
    let ways = Ways::new(topology);
    let lanes = |&(from, to): &(NodeId, NodeId)| {
        let addresses = topology.nics_of(to).filter_map(|(_, nic)| nic.address);
        addresses.map(|address| ways.to_address(from, to, address)).collect()
    };
    max_min_of(topology, &flows.iter().map(lanes).collect::<Vec<_>>())
}

/// Returns the number of rails. On each rail every node has a NIC with an address of its own, and
/// neither bonds nor routes connect the rails. Returns 1 if the topology has no rails.
pub fn rails(topology: &Topology) -> usize {
    let head: Vec<_> = topology.nics_of(0).filter_map(|(_, nic)| nic.address).collect();
    let own = (0..topology.nodes.len()).all(|node| {
        let addresses = topology.nics_of(node).filter(|(_, nic)| match nic.reach {
            Reach::Subnet(_) => nic.address.is_some(),
            Reach::Peer(_) | Reach::Nobody => false,
        });
        addresses.count() == head.len()
    });
    let bound = !topology.bonds.is_empty() || !topology.routes.is_empty();
    if own && !bound { head.len().max(1) } else { 1 }
}

/// Returns the average TCP goodput of each connection in bits per second, if all hash results are
/// equally likely: the mean over all combinations, or over 256 of them if there are more than 1024.
pub fn expected(topology: &Topology, flows: &[(NodeId, NodeId)]) -> Vec<f64> {
    let connections = streams(topology, flows);
    let all: Vec<&Stream> = connections.iter().flatten().collect();
    let sizes = all.iter().map(|stream| stream.there.len() * stream.back.len());
    let total = sizes.clone().try_fold(1_usize, usize::checked_mul);
    let draws = total.filter(|total| *total <= ALL_DRAWS);
    let mut random = SplitMix(0x9E37_79B9_7F4A_7C15);
    let mut sum = vec![0.0; all.len()];
    let mut weights = 0.0;
    for draw in 0..draws.unwrap_or(DRAWS) {
        let mut rest = draw;
        let mut weight = 1.0;
        let mut picks = Vec::with_capacity(all.len());
        for (stream, size) in all.iter().zip(sizes.clone()) {
            let place = if draws.is_some() { rest % size } else { random.below(size) };
            rest /= size;
            let pick = (place % stream.there.len(), place / stream.there.len());
            weight *= stream.there[pick.0].chance * stream.back[pick.1].chance;
            picks.push(pick);
        }
        // A sample selects all choices equally often, so the probabilities of nested choices are
        // applied as weights.
        weights += weight;
        for (sum, rate) in sum.iter_mut().zip(fill(topology, &all, &picks)) {
            *sum += weight * rate;
        }
    }
    let means: Vec<f64> = sum.iter().map(|sum| sum / weights).collect();
    sums(&connections, &means)
}

/// Returns the time in seconds until each sender has sent `bytes` bytes to its receiver, if all
/// start at the same time and only the wires limit them; infinite if a receiver cannot be reached.
///
/// This is the time of the slowest connection. It shares its bottleneck only with connections that
/// are as slow, so it does not get faster when others have finished.
pub fn seconds(topology: &Topology, flows: &[(NodeId, NodeId)], bytes: u64) -> f64 {
    let slowest = max_min(topology, flows).into_iter().fold(f64::INFINITY, f64::min);
    bytes as f64 * 8.0 / slowest
}

/// Whether the data of any flow has a choice of paths that a hash makes, so that [`expected`] can
/// differ from [`max_min`].
pub fn by_hash(topology: &Topology, flows: &[(NodeId, NodeId)]) -> bool {
    streams(topology, flows).iter().flatten().any(|stream| stream.there.len() > 1)
}

fn streams(topology: &Topology, flows: &[(NodeId, NodeId)]) -> Vec<Vec<Stream>> {
    let ways = Ways::new(topology);
    flows.iter().map(|&(from, to)| ways.between(from, to)).collect()
}

/// Returns the rate of each connection: the sum of the `rates` of its streams.
fn sums(connections: &[Vec<Stream>], rates: &[f64]) -> Vec<f64> {
    let mut rates = rates.iter();
    connections.iter().map(|streams| rates.by_ref().take(streams.len()).sum()).collect()
}

/// How switches place streams of which each may take several uplinks. They choose by the addresses
/// and ports of a stream, which nobody knows before it exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Placing {
    /// So that the highest load of an uplink is lowest: the bound of what may be.
    #[default]
    Even,
    /// So that it is highest: what a plan that must be sure of its time reckons with.
    Colliding,
}

impl Placing {
    /// Whether a stream with these choices is placed on the fullest wires.
    fn collides(self, choices: &[Choice]) -> bool {
        let of = |choice: &Choice| {
            let mut all = choice.legs.iter().flat_map(|leg| &leg.path.resources);
            all.any(|resource| matches!(resource, Resource::Up(_) | Resource::Down(_)))
        };
        self == Self::Colliding && choices.iter().any(of)
    }
}

/// For each stream, selects one choice for its data and one for its acknowledgements; returns their
/// indices. Each is selected so that the highest load of a resource stays lowest, unless `placing`
/// says otherwise. The data of all streams is placed before any acknowledgements.
fn spread(topology: &Topology, streams: &[&Stream], placing: Placing) -> Vec<(usize, usize)> {
    let mut load: HashMap<Resource, f64> = HashMap::new();
    let mut add = |choices: &[Choice], cost: fn(&Choice) -> Vec<(Resource, f64)>| {
        let costs = choices.iter().map(cost).enumerate();
        let ranked = costs.map(|(place, cost)| {
            let loads = cost.iter().map(|(resource, weight)| {
                (load.get(resource).unwrap_or(&0.0) + weight) / resource.capacity(topology)
            });
            let lost = choices[place].legs.is_empty();
            let (fullest, sum) =
                loads.fold((0.0_f64, 0.0), |(most, sum), load| (most.max(load), sum + load));
            (lost, fullest, sum, place, cost)
        });
        let collides = placing.collides(choices);
        let best = ranked.min_by(|a, b| {
            let load = a.1.total_cmp(&b.1).then(a.2.total_cmp(&b.2));
            let load = if collides { load.reverse() } else { load };
            a.0.cmp(&b.0).then(load).then(a.3.cmp(&b.3))
        });
        best.map_or(0, |(.., place, cost)| {
            for (resource, weight) in cost {
                *load.entry(resource).or_default() += weight;
            }
            place
        })
    };
    // Streams without alternatives first, so that the others avoid their resources.
    let mut order: Vec<usize> = (0..streams.len()).collect();
    order.sort_by_key(|&stream| streams[stream].there.len() > 1);
    let mut picks = vec![(0, 0); streams.len()];
    for &stream in &order {
        picks[stream].0 = add(&streams[stream].there, data);
    }
    for &stream in &order {
        picks[stream].1 = add(&streams[stream].back, acknowledgements);
    }
    picks
}

/// Returns the bits on the wire per bit of payload, for each resource of a choice.
fn data(choice: &Choice) -> Vec<(Resource, f64)> {
    costs(choice, |mtu| 1.0 / payload_share(mtu), |_| true)
}

/// Returns the bits on the wire of acknowledgements per bit of payload, for each hub of a choice.
fn acknowledgements(choice: &Choice) -> Vec<(Resource, f64)> {
    let hub = |resource: Resource| matches!(resource, Resource::Hub(_));
    costs(choice, |mtu| ACKNOWLEDGEMENT / (f64::from(mtu) - HEADERS), hub)
}

fn costs(
    choice: &Choice,
    weight: impl Fn(u16) -> f64,
    counts: impl Fn(Resource) -> bool,
) -> Vec<(Resource, f64)> {
    let of_leg = |leg: &Leg| {
        // A smaller packet has no payload; IPv4 allows MTUs from 68 on.
        let weight = leg.share * weight(leg.path.mtu.max(68));
        let resources = leg.path.resources.iter().filter(|resource| counts(**resource));
        resources.map(|&resource| (resource, weight)).collect::<Vec<_>>()
    };
    choice.legs.iter().flat_map(of_leg).collect()
}

/// Returns the max-min fair rates of the streams in bits per second, with the choices `picks`; 0
/// for streams whose packets get lost.
fn fill(topology: &Topology, streams: &[&Stream], picks: &[(usize, usize)]) -> Vec<f64> {
    let mut places: HashMap<Resource, usize> = HashMap::new();
    let mut capacity: Vec<f64> = Vec::new();
    let mut flows: Vec<Vec<Use>> = Vec::with_capacity(streams.len());
    let mut arriving = Vec::with_capacity(streams.len());
    for (stream, (at, pick)) in streams.iter().zip(picks).enumerate() {
        let there = &at.there[pick.0];
        let back = &at.back[pick.1];
        if there.legs.is_empty() || back.legs.is_empty() {
            continue;
        }
        arriving.push(stream);
        let costs = data(there).into_iter().chain(acknowledgements(back));
        let costs = costs.filter(|(resource, _)| resource.capacity(topology).is_finite());
        let placed = costs.map(|(resource, weight)| {
            let place = *places.entry(resource).or_insert_with(|| {
                capacity.push(resource.capacity(topology));
                capacity.len() - 1
            });
            (place, weight)
        });
        flows.push(placed.collect());
    }
    let flows: Vec<&[Use]> = flows.iter().map(Vec::as_slice).collect();
    let mut rates = vec![0.0; streams.len()];
    for (stream, rate) in arriving.into_iter().zip(fair_rates(&capacity, &flows)) {
        rates[stream] = rate;
    }
    rates
}

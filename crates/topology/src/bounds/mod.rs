//! What the wires allow: TCP payload of concurrent connections, by max-min fairness.
//!
//! A full frame of Ethernet takes 38 bytes beside its packet (preamble 8, header 14, check 4, gap
//! 12), a packet of TCP over IPv4 with time stamps 52 beside its payload: 1448 of 1538 bytes at an
//! MTU of 1500. Every second frame is answered by an acknowledgement of 90 bytes on the wire. On a
//! hub it takes from the same wire (1448 / (1538 + 45), 91.5 %); full-duplex ports have the other
//! direction for it, where receivers merge acknowledgements, so it isn't charged there.
//!
//! What forwarding costs a processor, collisions, and the disks are not in these figures: they are
//! bounds from above.

mod loads;
#[cfg(test)]
mod tests;
mod uses;

pub use loads::{TrafficPattern, loads};
pub use uses::uses;

use std::collections::HashMap;

use super::paths::{Choice, Leg, Stream, Ways};
use super::{NodeId, Reach, Resource, Topology};
use garland_core::splitmix::SplitMix;

/// Bytes on the wire beside a packet.
const FRAME: f64 = 38.0;
/// Bytes of IPv4 and TCP headers with time stamps.
const HEADERS: f64 = 52.0;
/// Bytes on the wire of an acknowledgement, shared by the two frames it answers.
const ACKNOWLEDGEMENT: f64 = (HEADERS + FRAME) / 2.0;

/// The part of a wire's bits that is TCP payload where no acknowledgement takes from it, in packets of
/// so many bytes.
#[must_use]
pub fn payload_share(packet: u16) -> f64 {
    // A packet that holds no payload can't be; IPv4 hosts take 68 at least.
    let packet = f64::from(packet.max(68));
    (packet - HEADERS) / (packet + FRAME)
}

/// Bytes of wire that a TCP payload takes which is handed over at once, in packets of at most `mtu`
/// bytes: headers and what is between frames included. A frame has 84 at least.
#[must_use]
pub fn on_the_wire(payload: u64, mtu: u16) -> u64 {
    const LEAST: u64 = 84;
    let full = u64::from(mtu.max(68)) - HEADERS as u64;
    let packets = payload.div_ceil(full).max(1);
    (payload + packets * (HEADERS + FRAME) as u64).max(LEAST)
}

/// The most that hashes are combined in all ways; beyond it, a sample is taken.
const ALL_DRAWS: usize = 1024;
/// The size of that sample.
const DRAWS: usize = 256;

/// The TCP payload that each connection gets, in bits per second, when all send at once: max-min
/// fair, 0 where no packet arrives, infinite where no wire is in between or none has a rate.
///
/// Selected packet by packet, a connection has the same rate on all its ways, in equal shares.
/// Subflows get what each can, and the connection their sum. Of connections that keep to one way
/// it is assumed that they spread as evenly as can be: the hash is unknown, and this is the bound.
/// [`expected`] is what a hash does on average.
pub fn max_min(topology: &Topology, flows: &[(NodeId, NodeId)]) -> Vec<f64> {
    max_min_of(topology, &streams(topology, flows))
}

/// The TCP goodput of each connection as of [`max_min`], for connections with known streams.
pub fn max_min_of(topology: &Topology, connections: &[Vec<Stream>]) -> Vec<f64> {
    let all: Vec<&Stream> = connections.iter().flatten().collect();
    let picks = spread(topology, &all);
    sums(connections, &fill(topology, &all, &picks))
}

/// The TCP goodput of each flow as of [`max_min`], with a lane for each NIC of the receiver.
pub fn max_min_over_rails(topology: &Topology, flows: &[(NodeId, NodeId)]) -> Vec<f64> {
    let ways = Ways::of(topology);
    let lanes = |&(from, to): &(NodeId, NodeId)| {
        let addresses = topology.nics_of(to).filter_map(|(_, nic)| nic.address);
        addresses.map(|address| ways.to_address(from, to, address)).collect()
    };
    max_min_of(topology, &flows.iter().map(lanes).collect::<Vec<_>>())
}

/// How many rails there are: every node has a NIC with an address of its own on each, and nothing
/// binds them together. One where there are none.
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

/// What each connection gets on average when every hash is as likely as any other: the mean over
/// all combinations, or over 256 of them when there are more than 1024.
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
        let (mut weight, mut picks) = (1.0, Vec::with_capacity(all.len()));
        for (stream, size) in all.iter().zip(sizes.clone()) {
            let place = if draws.is_some() { rest % size } else { random.below(size) };
            rest /= size;
            let pick = (place % stream.there.len(), place / stream.there.len());
            weight *= stream.there[pick.0].chance * stream.back[pick.1].chance;
            picks.push(pick);
        }
        // A sample has each place as often as any other: the chances of nested choices that
        // differ are weighed in, too.
        weights += weight;
        for (sum, rate) in sum.iter_mut().zip(fill(topology, &all, &picks)) {
            *sum += weight * rate;
        }
    }
    let means: Vec<f64> = sum.iter().map(|sum| sum / weights).collect();
    sums(&connections, &means)
}

/// The seconds that a file of `bytes` takes from each sender to its receiver, when all begin at once
/// and the wires are all that holds them up; infinite where a receiver isn't reached.
///
/// It is the slowest one's time: what holds a connection up is shared only with others that are as
/// slow or slower, so none gets faster when others are done.
pub fn seconds(topology: &Topology, flows: &[(NodeId, NodeId)], bytes: u64) -> f64 {
    let slowest = max_min(topology, flows).into_iter().fold(f64::INFINITY, f64::min);
    bytes as f64 * 8.0 / slowest
}

/// Whether anything is chosen by flow, so that [`expected`] differs from [`max_min`].
pub fn by_hash(topology: &Topology, flows: &[(NodeId, NodeId)]) -> bool {
    streams(topology, flows).iter().flatten().any(|stream| stream.there.len() > 1)
}

fn streams(topology: &Topology, flows: &[(NodeId, NodeId)]) -> Vec<Vec<Stream>> {
    let ways = Ways::of(topology);
    flows.iter().map(|&(from, to)| ways.between(from, to)).collect()
}

/// The streams' rates as those of their connections.
fn sums(connections: &[Vec<Stream>], rates: &[f64]) -> Vec<f64> {
    let mut rates = rates.iter();
    connections.iter().map(|streams| rates.by_ref().take(streams.len()).sum()).collect()
}

/// For each stream which of the choices there and back: each takes what leaves the fullest resource
/// on its way the emptiest, all data before the acknowledgements.
fn spread(topology: &Topology, streams: &[&Stream]) -> Vec<(usize, usize)> {
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
        let best = ranked.min_by(|a, b| {
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then(a.2.total_cmp(&b.2)).then(a.3.cmp(&b.3))
        });
        best.map_or(0, |(.., place, cost)| {
            for (resource, weight) in cost {
                *load.entry(resource).or_default() += weight;
            }
            place
        })
    };
    // Those without a choice first: the others then go round them.
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

/// The bits on the wire per bit of payload, for each resource of a route.
fn data(choice: &Choice) -> Vec<(Resource, f64)> {
    costs(choice, |mtu| 1.0 / payload_share(mtu), |_| true)
}

/// The bits on the wire of acknowledgements per bit of payload, for each hub of a route.
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
        // A packet that holds no payload can't be; IPv4 hosts take 68 at least.
        let weight = leg.share * weight(leg.path.mtu.max(68));
        let resources = leg.path.resources.iter().filter(|resource| counts(**resource));
        resources.map(|&resource| (resource, weight)).collect::<Vec<_>>()
    };
    choice.legs.iter().flat_map(of_leg).collect()
}

/// Raises the rates of all streams together; where a resource is full, those that use it keep what
/// they have and the others go on.
fn fill(topology: &Topology, streams: &[&Stream], picks: &[(usize, usize)]) -> Vec<f64> {
    let mut places: HashMap<Resource, usize> = HashMap::new();
    let mut left: Vec<f64> = Vec::new();
    let mut uses: Vec<Vec<(usize, f64)>> = Vec::with_capacity(streams.len());
    let mut rates = vec![0.0; streams.len()];
    let mut rising = Vec::new();
    for (stream, (at, pick)) in streams.iter().zip(picks).enumerate() {
        let (there, back) = (&at.there[pick.0], &at.back[pick.1]);
        if !there.legs.is_empty() && !back.legs.is_empty() {
            rising.push(stream);
        }
        let costs = data(there).into_iter().chain(acknowledgements(back));
        let costs = costs.filter(|(resource, _)| resource.capacity(topology).is_finite());
        let placed = costs.map(|(resource, weight)| {
            let place = *places.entry(resource).or_insert_with(|| {
                left.push(resource.capacity(topology));
                left.len() - 1
            });
            (place, weight)
        });
        uses.push(placed.collect());
    }
    let capacity = left.clone();
    while !rising.is_empty() {
        let mut demand = vec![0.0; left.len()];
        for &(place, weight) in rising.iter().flat_map(|&stream| &uses[stream]) {
            demand[place] += weight;
        }
        let rooms = left.iter().zip(&demand).filter(|(_, demand)| **demand > 0.0);
        let step = rooms.map(|(left, demand)| left / demand).fold(f64::INFINITY, f64::min);
        rising.iter().for_each(|&stream| rates[stream] += step);
        if step.is_infinite() {
            break;
        }
        for (left, demand) in left.iter_mut().zip(&demand) {
            *left -= step * demand;
        }
        // Sums of fractions miss zero by a little.
        let full = |place: usize| left[place] <= capacity[place] * 1e-9;
        rising.retain(|&stream| !uses[stream].iter().any(|&(place, _)| full(place)));
    }
    rates
}

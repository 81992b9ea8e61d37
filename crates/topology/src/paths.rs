//! The paths of packets from node to node, and how the packets of a connection are divided among
//! them.

use std::net::Ipv4Addr;

use garland_core::units::Nanos;
use serde::Serialize;

use super::crossing::crossings;
use super::{
    Forwarding, MediumId, MediumKind, NextHop, NicId, NodeId, Resource, Selector, Topology,
};

/// The maximum number of choices that [`in_turn`] combines; beyond it, only one choice of each hop
/// is used.
const MOST_CHOICES: usize = 256;

/// A path of packets from one node to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Path {
    /// The nodes in order: the sender, the forwarding nodes, the receiver.
    pub nodes: Vec<NodeId>,
    /// The sending NICs in order: one of each node except the receiver.
    pub senders: Vec<NicId>,
    /// The crossed resources in order; a hub twice if a node forwards on it.
    pub resources: Vec<Resource>,
    /// The largest packet that passes the whole path, in bytes.
    pub mtu: u16,
}

impl Path {
    /// Returns the time that a packet takes over the path in addition to its length and to queues:
    /// the delay of each medium, as often as the packet leaves it.
    pub fn delay(&self, topology: &Topology) -> Nanos {
        let of = |medium: MediumId| topology.media[medium].delay.0;
        // A hub is among the resources itself, the port through which a frame leaves it as well.
        let unless_hub = |medium: MediumId| match topology.media[medium].kind {
            MediumKind::Hub { .. } => 0,
            MediumKind::Switch { .. } | MediumKind::Wire => of(medium),
        };
        let each = self.resources.iter().map(|resource| match *resource {
            Resource::Hub(medium) => of(medium),
            Resource::In(nic) => unless_hub(topology.nics[nic].medium),
            // A wire has no resource at its far end.
            Resource::Out(nic) => match topology.media[topology.nics[nic].medium].kind {
                MediumKind::Wire => of(topology.nics[nic].medium),
                MediumKind::Hub { .. } | MediumKind::Switch { .. } => 0,
            },
            Resource::Up(uplink) => unless_hub(topology.uplinks[uplink].from),
            Resource::Down(uplink) => unless_hub(topology.uplinks[uplink].to),
            Resource::Backplane(_) => 0,
        });
        Nanos(each.sum())
    }
}

/// A share of the packets of a connection, and their path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Leg {
    /// The share, above 0 and at most 1.
    pub share: f64,
    /// The path of these packets.
    pub path: Path,
}

/// One of the choices that a hash can make for a connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// The probability of the choice, if all hash values are equally likely.
    pub chance: f64,
    /// The paths that the packets use in turn, with shares that sum to 1. Empty if packets get
    /// lost: there is no path, or one of the paths leads nowhere.
    pub legs: Vec<Leg>,
}

/// A connection, or one subflow of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stream {
    /// The choices for the data; only one unless a path is selected by flow.
    pub there: Vec<Choice>,
    /// The choices for the acknowledgements.
    pub back: Vec<Choice>,
}

/// Finds the paths of packets in a topology.
pub struct Ways<'t> {
    topology: &'t Topology,
    forwarding: Forwarding<'t>,
}

impl<'t> Ways<'t> {
    /// Prepares a topology, whose indices must be valid, as [`Topology::check`] ensures.
    pub fn new(topology: &'t Topology) -> Self {
        Self { topology, forwarding: Forwarding::new(topology) }
    }

    /// Returns the streams of a connection from a node to the address of another one: one stream,
    /// or with [`Selector::Subflow`] at both ends one for each NIC of their bonds.
    pub fn between(&self, from: NodeId, to: NodeId) -> Vec<Stream> {
        let subflows = |node: NodeId| {
            let mut bonds = self.topology.bonds.iter().filter(|bond| bond.node == node);
            bonds.find(|bond| bond.selector == Selector::Subflow)
        };
        match (subflows(from), subflows(to)) {
            (Some(ours), Some(theirs)) if from != to => {
                let address = |nic: usize| self.topology.nics[nic].address;
                let ends = ours.nics.iter().zip(&theirs.nics);
                let ends = ends.filter_map(|(&ours, &theirs)| address(ours).zip(address(theirs)));
                ends.map(|(ours, theirs)| self.stream((from, ours), (to, theirs))).collect()
            }
            _ => vec![self.to_address(from, to, self.topology.nodes[to].address)],
        }
    }

    /// Returns the stream from a node to a certain address of another one, such as one on a rail.
    pub fn to_address(&self, from: NodeId, to: NodeId, address: Ipv4Addr) -> Stream {
        let topology = self.topology;
        // On a rail, the source address is that of the sender's NIC on the rail.
        let rail = (address != topology.nodes[to].address)
            .then(|| topology.nics_of(to).position(|(_, nic)| nic.address == Some(address)))
            .flatten();
        let ours = rail.and_then(|rail| topology.nics_of(from).nth(rail)?.1.address);
        self.stream((from, ours.unwrap_or(topology.nodes[from].address)), (to, address))
    }

    fn stream(&self, from: (NodeId, Ipv4Addr), to: (NodeId, Ipv4Addr)) -> Stream {
        let ahead = |from: NodeId, (to, address)| {
            Walk { ways: self, to, address }.ahead(from, &mut Vec::new())
        };
        Stream { there: ahead(from.0, to), back: ahead(to.0, from) }
    }
}

/// A search for the paths to an address of a node.
struct Walk<'a> {
    ways: &'a Ways<'a>,
    to: NodeId,
    address: Ipv4Addr,
}

impl Walk<'_> {
    /// Returns the choices of paths from `at` to the destination. `seen`: the nodes passed before.
    fn ahead(&self, at: NodeId, seen: &mut Vec<NodeId>) -> Vec<Choice> {
        if at == self.to {
            let nodes = vec![at];
            let senders = Vec::new();
            let path = Path { nodes, senders, resources: Vec::new(), mtu: u16::MAX };
            return vec![Choice { chance: 1.0, legs: vec![Leg { share: 1.0, path }] }];
        }
        let forwards = seen.is_empty() || self.ways.topology.nodes[at].forwards;
        if !forwards || seen.contains(&at) {
            return vec![Choice::LOST];
        }
        let (selector, hops) = self.ways.forwarding.hops(at, self.address);
        seen.push(at);
        let each = hops.iter().map(|hop| self.hop(at, hop, seen)).collect::<Vec<_>>();
        seen.pop();
        match selector {
            _ if each.is_empty() => vec![Choice::LOST],
            Selector::Packet => in_turn(&each),
            Selector::Flow | Selector::Subflow => one_of(each),
        }
    }

    /// Returns the choices of paths from `at` that begin with `hop`.
    fn hop(&self, at: NodeId, hop: &NextHop, seen: &mut Vec<NodeId>) -> Vec<Choice> {
        let Ways { topology, forwarding } = self.ways;
        let Some(station) = forwarding.station(hop.nic, hop.via.unwrap_or(self.address)) else {
            return vec![Choice::LOST];
        };
        let next = &topology.nics[station];
        let mtu = topology.nics[hop.nic].mtu.min(next.mtu);
        let ahead = self.ahead(next.node, seen);
        let ways = crossings(topology, hop.nic, station);
        one_of(
            ways.iter()
                .map(|crossing| {
                    ahead.iter().map(|choice| choice.behind((at, hop.nic), crossing, mtu)).collect()
                })
                .collect(),
        )
    }
}

impl Choice {
    /// The choice of packets that do not arrive.
    const LOST: Self = Self { chance: 1.0, legs: Vec::new() };

    /// Returns the choice with one hop prepended to each of its paths.
    fn behind(&self, hop: (NodeId, NicId), crossing: &[Resource], mtu: u16) -> Self {
        let legs = self.legs.iter().map(|leg| {
            let path = &leg.path;
            let nodes = std::iter::once(hop.0).chain(path.nodes.iter().copied()).collect();
            let senders = std::iter::once(hop.1).chain(path.senders.iter().copied()).collect();
            let resources = crossing.iter().chain(&path.resources).copied().collect();
            let path = Path { nodes, senders, resources, mtu: mtu.min(path.mtu) };
            Leg { share: leg.share, path }
        });
        Self { chance: self.chance, legs: legs.collect() }
    }
}

/// Combines hops of which a hash selects one, all with the same probability.
fn one_of(each: Vec<Vec<Choice>>) -> Vec<Choice> {
    let parts = each.len() as f64;
    let choices = each.into_iter().flatten();
    choices.map(|choice| Choice { chance: choice.chance / parts, ..choice }).collect()
}

/// Combines hops that packets use in turn: every combination of the choices after each hop, up to
/// [`MOST_CHOICES`].
fn in_turn(each: &[Vec<Choice>]) -> Vec<Choice> {
    let share = 1.0 / each.len() as f64;
    let mut all = vec![Choice { chance: 1.0, legs: Vec::new() }];
    for (place, choices) in each.iter().enumerate() {
        let few = all.len() * choices.len() <= MOST_CHOICES;
        // If there are too many combinations, only one choice of each hop is used, a different one
        // for each hop.
        let one = &choices[place % choices.len()];
        let picked: Vec<Choice> = if few {
            choices.clone()
        } else {
            vec![Choice { chance: 1.0, legs: one.legs.clone() }]
        };
        all = all.iter().flat_map(|so_far| picked.iter().map(|c| so_far.and(c, share))).collect();
    }
    for choice in &mut all {
        let arrives: f64 = choice.legs.iter().map(|leg| leg.share).sum();
        if arrives < 0.999_999 {
            choice.legs.clear();
        }
    }
    all
}

impl Choice {
    /// Adds the paths of `other`, which carry the share `share` of the packets.
    fn and(&self, other: &Self, share: f64) -> Self {
        let more = other.legs.iter().map(|leg| Leg { share: leg.share * share, ..leg.clone() });
        Self {
            chance: self.chance * other.chance,
            legs: self.legs.iter().cloned().chain(more).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shapes::{Basis, Between, LeafSpine, hub, leaf_spine, star, switch};

    /// Returns the delay from one node to another if every medium has one of a millisecond.
    fn millis(mut topology: Topology, from: NodeId, to: NodeId) -> f64 {
        topology.media.iter_mut().for_each(|medium| medium.delay = Nanos::from_millis(1));
        let streams = Ways::new(&topology).between(from, to);
        let path = &streams[0].there[0].legs[0].path;
        path.delay(&topology).as_secs_f64() * 1e3
    }

    #[test]
    fn each_medium_delays_a_packet_once() {
        let basis = Basis::numbered("try", 4).at("100mbit".parse().unwrap());
        assert_eq!(millis(switch(&basis, None), 0, 2), 1.0);
        assert_eq!(millis(hub(&basis), 0, 2), 1.0);
        assert_eq!(millis(star(&basis, Between::Forwarded), 0, 2), 1.0);
        assert_eq!(millis(star(&basis, Between::Forwarded), 1, 2), 2.0, "over the head");
        let measures = LeafSpine { leaves: 2, spines: 1, uplink: None };
        let leaves = leaf_spine(&basis, &measures);
        assert_eq!(millis(leaves.clone(), 0, 1), 1.0);
        assert_eq!(millis(leaves, 0, 4), 3.0, "over two leaves and a spine");
    }
}

//! Which ways packets take from node to node, and how a connection's traffic divides among them.

use std::net::Ipv4Addr;

use serde::Serialize;

use super::crossing::crossings;
use super::{Forwarding, NextHop, NicId, NodeId, Resource, Selector, Topology};

/// The maximum number of choices of a stream whose flows choose at several hops.
const MOST_CHOICES: usize = 256;

/// One way from node to node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Path {
    /// The nodes in order: the sender, those that forward, the receiver.
    pub nodes: Vec<NodeId>,
    /// The NICs that send, in order: one of each node but the receiver.
    pub senders: Vec<NicId>,
    /// What is crossed, in order; a hub twice when a node forwards on it.
    pub resources: Vec<Resource>,
    /// The largest packet that passes everywhere, in bytes.
    pub mtu: u16,
}

/// A part of a connection's packets, and their way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Leg {
    /// The part, above 0 and at most 1.
    pub share: f64,
    /// The way.
    pub path: Path,
}

/// One of the ways that a hash may choose for a connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// How likely it is, when hashes are.
    pub chance: f64,
    /// The ways that the packets take in turn, with shares that sum to 1. None when packets get
    /// lost: there is no way, or one of those used in turn leads nowhere.
    pub legs: Vec<Leg>,
}

/// A connection, or one subflow of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Stream {
    /// How its data may go; one choice unless something selects by flow.
    pub there: Vec<Choice>,
    /// How its acknowledgements may come back.
    pub back: Vec<Choice>,
}

/// The streams of a connection from a node to another one's address: see [`Ways::between`].
pub fn paths(topology: &Topology, from: NodeId, to: NodeId) -> Vec<Stream> {
    Ways::of(topology).between(from, to)
}

/// All ways of a topology.
pub struct Ways<'t> {
    topology: &'t Topology,
    forwarding: Forwarding<'t>,
}

impl<'t> Ways<'t> {
    /// Those of this topology, whose indices must be good, as [`Topology::check`] makes sure.
    pub fn of(topology: &'t Topology) -> Self {
        Self { topology, forwarding: Forwarding::of(topology) }
    }

    /// The streams of a connection from a node to another one's address: one, or with
    /// [`Selector::Subflow`] at both ends one for each NIC of their bonds.
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

    /// The stream from a node to a certain address of another one: that of a rail.
    pub fn to_address(&self, from: NodeId, to: NodeId, address: Ipv4Addr) -> Stream {
        let topology = self.topology;
        // On a rail a connection has the address of the sender's NIC on it.
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

/// On the way to an address of a node.
struct Walk<'a> {
    ways: &'a Ways<'a>,
    to: NodeId,
    address: Ipv4Addr,
}

impl Walk<'_> {
    /// The choices from `at` on; `seen` are the nodes behind.
    fn ahead(&self, at: NodeId, seen: &mut Vec<NodeId>) -> Vec<Choice> {
        if at == self.to {
            let (nodes, senders) = (vec![at], Vec::new());
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

    /// The choices through one hop.
    fn hop(&self, at: NodeId, hop: &NextHop, seen: &mut Vec<NodeId>) -> Vec<Choice> {
        let Ways { topology, forwarding } = self.ways;
        let Some(station) = forwarding.station(hop.nic, hop.via.unwrap_or(self.address)) else {
            return vec![Choice::LOST];
        };
        let next = &topology.nics[station];
        let mtu = topology.nics[hop.nic].mtu.min(next.mtu);
        let ahead = self.ahead(next.node, seen);
        let crossings = crossings(topology, hop.nic, station);
        one_of(
            crossings
                .iter()
                .map(|crossing| {
                    ahead.iter().map(|choice| choice.behind((at, hop.nic), crossing, mtu)).collect()
                })
                .collect(),
        )
    }
}

impl Choice {
    /// Packets that don't arrive.
    const LOST: Self = Self { chance: 1.0, legs: Vec::new() };

    /// The choice with a hop before it.
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

/// A hash takes one of the ways, each as likely as the others.
fn one_of(each: Vec<Vec<Choice>>) -> Vec<Choice> {
    let parts = each.len() as f64;
    let choices = each.into_iter().flatten();
    choices.map(|choice| Choice { chance: choice.chance / parts, ..choice }).collect()
}

/// Packets take all ways in turn: every combination of what hashes choose further on, as long as
/// these are few.
fn in_turn(each: &[Vec<Choice>]) -> Vec<Choice> {
    let share = 1.0 / each.len() as f64;
    let mut all = vec![Choice { chance: 1.0, legs: Vec::new() }];
    for (place, choices) in each.iter().enumerate() {
        let few = all.len() * choices.len() <= MOST_CHOICES;
        // With too many, each way keeps to another one of its choices.
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
    /// Both, where `other` gets a share of the packets.
    fn and(&self, other: &Self, share: f64) -> Self {
        let more = other.legs.iter().map(|leg| Leg { share: leg.share * share, ..leg.clone() });
        Self {
            chance: self.chance * other.chance,
            legs: self.legs.iter().cloned().chain(more).collect(),
        }
    }
}

//! What connects the nodes of a copy: a topology, or rates that were measured between nodes.

use garland_core::units::Nanos;
use garland_topology::paths::Ways;
use garland_topology::{NodeId, Topology};

use super::measured::Measured;
use super::network::{Network, NoWay, Use};
use super::processors::Work;

/// What connects nodes. A node is identified by its index in the topology, or in the measurement.
#[derive(Clone, Copy, Debug)]
pub enum Wires<'a> {
    /// The media of a topology.
    Drawn(&'a Topology),
    /// The rates between pairs of nodes.
    Measured(&'a Measured),
}

impl Wires<'_> {
    /// Returns the use of the resources per byte for each of `hops`, a pair of sender and receiver;
    /// over the receiver's NIC number `rail`, if it is given.
    pub(super) fn uses(
        self,
        network: &mut Network,
        hops: &[(NodeId, NodeId)],
        rail: Option<usize>,
    ) -> Result<Vec<Vec<Use>>, NoWay> {
        match (self, rail) {
            (Self::Drawn(topology), None) => network.between(topology, hops),
            (Self::Drawn(topology), Some(rail)) => network.over_rail(topology, hops, rail),
            (Self::Measured(measured), rail) => Ok(measured.uses(network, hops, rail.unwrap_or(0))),
        }
    }

    /// Returns the use of a node's disk per byte; `None` if the disk has no known rate.
    pub(super) fn disk(self, network: &mut Network, node: NodeId) -> Option<Use> {
        match self {
            Self::Drawn(topology) => network.disk(topology, node),
            Self::Measured(_) => None,
        }
    }

    /// Returns the work of a node that feeds this number of nodes.
    pub(super) fn work(self, node: NodeId, reads: bool, feeds: usize) -> Work {
        let (name, limit, is_shaped) = match self {
            Self::Drawn(topology) => {
                let medium = topology.nics_of(node).next().map(|(_, nic)| nic.medium);
                let rate = medium.and_then(|medium| topology.media[medium].rate);
                let node = &topology.nodes[node];
                let limit = node.cpu.map(|thousandths| f64::from(thousandths) / 1000.0);
                (&node.name, limit, rate.is_some())
            }
            Self::Measured(measured) => (measured.name(node), None, true),
        };
        Work { name: name.clone(), reads, feeds, limit, is_shaped }
    }

    /// Returns for each of `hops`, a pair of sender and receiver, the longest delay of a packet,
    /// one way, in seconds; 0 if unknown.
    pub(super) fn delays(self, hops: &[(NodeId, NodeId)]) -> Vec<f64> {
        let Self::Drawn(topology) = self else { return vec![0.0; hops.len()] };
        if topology.media.iter().all(|medium| medium.delay == Nanos::ZERO) {
            return vec![0.0; hops.len()];
        }
        let ways = Ways::new(topology);
        let longest = |&(from, to): &(NodeId, NodeId)| {
            let streams = ways.between(from, to);
            let choices = streams.iter().flat_map(|stream| &stream.there);
            let paths = choices.flat_map(|choice| choice.legs.iter().map(|leg| &leg.path));
            paths.map(|path| path.delay(topology).as_secs_f64()).fold(0.0, f64::max)
        };
        hops.iter().map(longest).collect()
    }

    /// Returns a number for each node of `places`, the head first. Nodes that are near each other
    /// have equal or near numbers, and the head's neighbours have the lowest ones.
    pub(super) fn neighbourhoods(self, places: &[NodeId]) -> Vec<usize> {
        match self {
            Self::Drawn(topology) => by_media(topology, places),
            Self::Measured(measured) => places.iter().map(|&node| measured.group(node)).collect(),
        }
    }
}

/// Returns for each node the rank of its first medium, in a walk over uplinks from the medium of
/// the head that leaves a branch only when it is done.
fn by_media(topology: &Topology, places: &[NodeId]) -> Vec<usize> {
    let mut medium_of = vec![None; topology.nodes.len()];
    for nic in &topology.nics {
        medium_of[nic.node].get_or_insert(nic.medium);
    }
    let mut rank = vec![usize::MAX; topology.media.len()];
    let mut ranked = 0;
    let mut ahead: Vec<usize> = (0..topology.media.len()).rev().collect();
    ahead.extend(places.first().and_then(|&head| medium_of[head]));
    while let Some(medium) = ahead.pop() {
        if rank[medium] == usize::MAX {
            rank[medium] = ranked;
            ranked += 1;
            ahead.extend(topology.uplinks_at(medium).map(|(_, next)| next));
        }
    }
    places.iter().map(|&node| medium_of[node].map_or(usize::MAX, |medium| rank[medium])).collect()
}

//! The pairs of a sweep, grouped by the kind of wire between them: local or remote.

use garland_analysis::pairs::{MatchUp, apart};
use garland_core::cluster::Node;
use garland_fleet::inventory::LAB_PREFIX;
use garland_topology::{NodeId, Topology, bounds};

/// Pairs whose nodes are connected by the same kind of wire.
pub struct Group {
    /// The kind of wire: `local`, `remote`, or `any` if nothing is known of the network.
    pub wire: &'static str,
    /// The pairs; no node is in two of them.
    pub pairs: Vec<MatchUp>,
}

/// What is known of the network between the nodes.
pub struct Network<'t> {
    nodes: &'t [Node],
    /// The topology, and for each node its identifier there; none if the topology is unknown.
    topology: Option<(&'t Topology, Vec<NodeId>)>,
}

impl<'t> Network<'t> {
    /// Creates the network from a lab's `topology`, or else from the racks of the nodes.
    pub fn new(nodes: &'t [Node], topology: Option<&'t Topology>) -> Self {
        let places = topology.and_then(|topology| {
            let place = |node: &Node| {
                topology.node(node.name.strip_prefix(LAB_PREFIX).unwrap_or(&node.name))
            };
            let places: Option<Vec<NodeId>> = nodes.iter().map(place).collect();
            Some((topology, places?))
        });
        Self { nodes, topology: places }
    }

    /// Returns whether two nodes are on one medium, and its index; without a topology, whether they
    /// are in one rack. None if nothing is known.
    fn between(&self, pair: MatchUp) -> Option<(bool, Option<usize>)> {
        if let Some((topology, places)) = &self.topology {
            let medium = topology.medium_between(places[pair.one], places[pair.other]);
            return Some((medium.is_some(), medium));
        }
        let racks = pair.nodes().map(|node| self.nodes[node].rack.as_deref());
        let [Some(one), Some(other)] = racks else { return None };
        Some((one == other, None))
    }

    /// Returns the pairs to sweep, by kind of wire. Only nodes for which `is_there` returns true
    /// take part.
    pub fn groups(&self, is_there: impl Fn(usize) -> bool) -> Vec<Group> {
        let there: Vec<usize> = (0..self.nodes.len()).filter(|&node| is_there(node)).collect();
        let pairs = there.iter().enumerate();
        let pairs: Vec<MatchUp> = pairs
            .flat_map(|(at, &one)| {
                there[at + 1..].iter().map(move |&other| MatchUp::new(one, other))
            })
            .collect();
        let known: Option<Vec<_>> =
            pairs.iter().map(|&pair| Some((pair, self.between(pair)?))).collect();
        let Some(known) = known else {
            let pairs = pairs.into_iter().map(|pair| (pair, None)).collect::<Vec<_>>();
            return vec![Group { wire: "any", pairs: apart(&pairs) }];
        };
        let of = |wire, local: bool| {
            let candidates = known.iter().filter(|(_, (is_local, _))| *is_local == local);
            let candidates: Vec<_> =
                candidates.map(|&(pair, (_, medium))| (pair, medium)).collect();
            Group { wire, pairs: apart(&candidates) }
        };
        let groups = [of("local", true), of("remote", false)];
        groups.into_iter().filter(|group| !group.pairs.is_empty()).collect()
    }

    /// Returns, for each of `pairs`, the payload rate in bytes per second that the wires allow if
    /// all send at once in packets of at most `packet` bytes. None if a rate is unknown.
    pub fn bounds(&self, pairs: &[MatchUp], packet: u16) -> Option<Vec<f64>> {
        let (topology, places) = self.topology.as_ref()?;
        let mut topology = (*topology).clone();
        topology.nics.iter_mut().for_each(|nic| nic.mtu = nic.mtu.min(packet));
        let flows: Vec<_> =
            pairs.iter().map(|pair| (places[pair.one], places[pair.other])).collect();
        let bits = bounds::max_min(&topology, &flows);
        let known = bits.iter().all(|bits| bits.is_finite() && *bits > 0.0);
        known.then(|| bits.into_iter().map(|bits| bits / 8.0).collect())
    }
}

//! The resources that flows compete for: the wires of a topology, and the disks of its nodes.

use std::collections::HashMap;

pub use garland_topology::bounds::Use;
use garland_topology::bounds::{Placing, uses};
use garland_topology::paths::{Path, Stream, Ways};
use garland_topology::{NodeId, Resource, Topology};

/// The use of the resources per byte sent from the head to a node, and per byte sent from the node
/// to the head.
pub type ThereAndBack = (Vec<Use>, Vec<Use>);

/// The factor by which the use of a hub grows if the packets of a connection take several paths in
/// turn. They overtake each other, so each packet is acknowledged instead of every second packet: a
/// frame has 1538 bytes, and the acknowledgement (selective) per frame 102 bytes instead of 45.
const ACKNOWLEDGED: f64 = 1640.0 / 1583.0;

/// What a resource is: a part of the topology, a disk, or something that has a name only.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Thing {
    Wire(Resource),
    Disk(NodeId),
    Named(String),
}

/// The resources, with their names and rates. A resource is identified by its index.
#[derive(Clone, Debug, Default)]
pub struct Network {
    names: Vec<String>,
    capacity: Vec<f64>,
    places: HashMap<Thing, usize>,
    /// How switches place connections that may take several uplinks.
    placing: Placing,
    /// The factor by which overtaking packets make the use of the resources grow; `None` if they
    /// are taken to cost nothing.
    overtaking: Option<f64>,
}

/// The error for nodes between which there is no route.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no route from {from} to {to}")]
pub struct NoWay {
    /// The sender's name.
    pub from: String,
    /// The receiver's name.
    pub to: String,
}

impl Network {
    /// Creates a network without resources.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Creates a network without resources, in which connections that may take several uplinks meet
    /// on one: a plan in which they share none is sure of its time.
    #[must_use]
    pub fn colliding() -> Self {
        Self { placing: Placing::Colliding, ..Self::default() }
    }

    /// Returns the network in which a connection costs `factor` times its bytes if its packets take
    /// several paths in turn that are longer than one medium, and other connections use these
    /// paths. Queues of different lengths reorder such packets by more than TCP tolerates, so it
    /// sends some again, and how many only a measurement tells. Without a factor they cost nothing.
    #[must_use]
    pub fn with_overtaking(self, factor: Option<f64>) -> Self {
        Self { overtaking: factor, ..self }
    }

    /// Returns whether packets of any connection in `hops`, pairs of sender and receiver, overtake
    /// each other as described for [`Network::with_overtaking`].
    #[must_use]
    pub fn overtakes(topology: &Topology, hops: &[(NodeId, NodeId)]) -> bool {
        let ways = Ways::new(topology);
        hops.iter().any(|&(from, to)| from != to && overtaking(&ways.between(from, to)).1)
    }

    /// Adds a resource with a rate in bytes (or other units) per second; returns its index.
    pub fn add(&mut self, name: &str, capacity: f64) -> usize {
        self.names.push(name.to_owned());
        self.capacity.push(capacity);
        self.names.len() - 1
    }

    /// Returns the index of the resource with this name; added with this rate if there is none.
    pub(super) fn shared(&mut self, name: &str, capacity: f64) -> usize {
        self.place(Thing::Named(name.to_owned()), || (name.to_owned(), capacity))
    }

    /// Returns the name of the resource with the index `place`.
    #[must_use]
    pub fn name(&self, place: usize) -> &str {
        &self.names[place]
    }

    /// Returns the number of resources.
    #[must_use]
    pub fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns whether there are no resources.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    /// Returns the rate of the resource with the index `place`, in bytes (or other units) per
    /// second.
    #[must_use]
    pub fn capacity_of(&self, place: usize) -> f64 {
        self.capacity[place]
    }

    pub(super) fn capacity(&self) -> &[f64] {
        &self.capacity
    }

    /// Returns the use of the resources per byte for each connection in `hops`, a pair of sender
    /// and receiver. A connection from a node to itself uses no resource.
    ///
    /// # Errors
    /// If there is no route to a receiver.
    pub fn between(
        &mut self,
        topology: &Topology,
        hops: &[(NodeId, NodeId)],
    ) -> Result<Vec<Vec<Use>>, NoWay> {
        let ways = Ways::new(topology);
        let streams: Vec<Vec<Stream>> = hops
            .iter()
            .map(|&(from, to)| if from == to { Vec::new() } else { ways.between(from, to) })
            .collect();
        self.of_streams(topology, hops, &streams)
    }

    /// Returns for each of these nodes the use of the resources per byte from the head to the node,
    /// and per byte back, as needed for staging. Bytes from the head to itself use no resource.
    ///
    /// # Errors
    /// If there is no route to a node or back.
    pub fn there_and_back(
        &mut self,
        topology: &Topology,
        head: NodeId,
        nodes: impl IntoIterator<Item = NodeId>,
    ) -> Result<Vec<ThereAndBack>, NoWay> {
        let there: Vec<_> = nodes.into_iter().map(|node| (head, node)).collect();
        let back: Vec<_> = there.iter().map(|&(head, node)| (node, head)).collect();
        let outward = self.between(topology, &there)?;
        let inward = self.between(topology, &back)?;
        Ok(outward.into_iter().zip(inward).collect())
    }

    /// Works like [`Network::between`], over a rail: each receiver uses its NIC number `rail`,
    /// modulo the number of its NICs.
    ///
    /// # Errors
    /// When there is no route to a receiver.
    pub fn over_rail(
        &mut self,
        topology: &Topology,
        hops: &[(NodeId, NodeId)],
        rail: usize,
    ) -> Result<Vec<Vec<Use>>, NoWay> {
        let ways = Ways::new(topology);
        let stream = |&(from, to): &(NodeId, NodeId)| {
            let addresses: Vec<_> =
                topology.nics_of(to).filter_map(|(_, nic)| nic.address).collect();
            match addresses.get(rail % addresses.len().max(1)) {
                _ if from == to => Vec::new(),
                Some(address) => vec![ways.to_address(from, to, *address)],
                None => ways.between(from, to),
            }
        };
        let streams: Vec<Vec<Stream>> = hops.iter().map(stream).collect();
        self.of_streams(topology, hops, &streams)
    }

    /// Returns the use of a node's disk per byte; `None` if the disk has no rate limit.
    pub fn disk(&mut self, topology: &Topology, node: NodeId) -> Option<Use> {
        let Some(rate) = topology.nodes[node].disk else {
            return self.places.get(&Thing::Disk(node)).map(|place| (*place, 1.0));
        };
        let name = format!("disk of {}", topology.nodes[node].name);
        Some((self.place(Thing::Disk(node), || (name, rate.bytes_per_second())), 1.0))
    }

    fn of_streams(
        &mut self,
        topology: &Topology,
        hops: &[(NodeId, NodeId)],
        streams: &[Vec<Stream>],
    ) -> Result<Vec<Vec<Use>>, NoWay> {
        let taken = uses(topology, streams, self.placing);
        let mut users: HashMap<Resource, usize> = HashMap::new();
        for &(resource, _) in taken.iter().flatten().flatten() {
            *users.entry(resource).or_default() += 1;
        }
        let mut all = Vec::with_capacity(hops.len());
        for ((&(from, to), taken), streams) in hops.iter().zip(taken).zip(streams) {
            let (direct, far) = overtaking(streams);
            let mut resources = taken.iter().flatten();
            let meets = resources.any(|(resource, _)| users[resource] > 1);
            let again = self.overtaking.filter(|_| far && meets).unwrap_or(1.0);
            let name = |node: NodeId| topology.nodes[node].name.clone();
            let taken = match taken {
                Some(taken) => taken,
                None if from == to => Vec::new(),
                None => return Err(NoWay { from: name(from), to: name(to) }),
            };
            let finite = taken.into_iter().filter_map(|(resource, weight)| {
                let bits = resource.capacity(topology);
                let make = || (resource.describe(topology), bits / 8.0);
                let on_hub = matches!(resource, Resource::Hub(_)) && direct;
                let more = if on_hub { ACKNOWLEDGED } else { 1.0 };
                let weight = weight * more * again;
                bits.is_finite().then(|| (self.place(Thing::Wire(resource), make), weight))
            });
            all.push(finite.collect());
        }
        Ok(all)
    }

    fn place(&mut self, thing: Thing, make: impl FnOnce() -> (String, f64)) -> usize {
        if let Some(&place) = self.places.get(&thing) {
            return place;
        }
        let (name, capacity) = make();
        let place = self.add(&name, capacity);
        self.places.insert(thing, place);
        place
    }
}

/// Returns whether packets of a connection overtake each other on paths within one medium, and
/// whether packets overtake each other on longer paths.
fn overtaking(streams: &[Stream]) -> (bool, bool) {
    let in_turn = streams.iter().flat_map(|stream| &stream.there).filter(|way| way.legs.len() > 1);
    let mut legs = in_turn.flat_map(|way| &way.legs).peekable();
    let some = legs.peek().is_some();
    let hubs = |path: &Path| {
        path.resources.iter().filter(|resource| matches!(resource, Resource::Hub(_))).count()
    };
    let far = legs.any(|leg| leg.path.nodes.len() > 2 || hubs(&leg.path) > 1);
    (some && !far, far)
}

#[cfg(test)]
mod tests {
    use garland_topology::file::parse;

    use super::*;

    /// Returns the use per bit of the resource that a connection uses most.
    fn most(text: &str, from: NodeId, to: NodeId) -> f64 {
        let text = format!("version = 1\n[topology]\n{text}\nrate = \"10mbit\"\n");
        let topology = parse(&text, "x.toml").unwrap().topology;
        let uses = Network::new().between(&topology, &[(from, to)]).unwrap().remove(0);
        uses.iter().map(|(_, weight)| *weight).fold(0.0, f64::max)
    }

    #[test]
    fn packets_that_take_turns_are_acknowledged_one_by_one() {
        let one = most("shape = \"hub\"\nnodes = 3", 0, 1);
        let two = most(
            "shape = \"bonded\"\nnets = 2\nselector = \"packet\"\nsegments = \"hub\"\nnodes = 3",
            0,
            1,
        );
        assert!((two / (one / 2.0) - ACKNOWLEDGED).abs() < 0.01, "{one} {two}");
    }

    #[test]
    fn packets_that_overtake_each_other_cost_what_was_measured_where_connections_meet() {
        let mesh = "version = 1\n[topology]\nshape = \"mesh\"\nnodes = 3\nrows = 2\ncolumns = 2\n\
                    segments = \"hub\"\njoined = \"routed\"\nrate = \"10mbit\"\n";
        let two = format!("{mesh}routes = 2\nselector = \"packet\"\n");
        let [one, two] = [mesh, &two].map(|text| parse(text, "x.toml").unwrap().topology);
        let alone = [(0, 3)];
        let both = [(0, 3), (1, 2)];
        assert!(Network::overtakes(&two, &alone) && !Network::overtakes(&one, &alone));
        let cost = |hops: &[(NodeId, NodeId)], factor: Option<f64>| {
            let mut network = Network::new().with_overtaking(factor);
            let uses = network.between(&two, hops).unwrap().remove(0);
            uses.iter().map(|(_, weight)| *weight).sum::<f64>()
        };
        assert!((cost(&alone, Some(1.2)) - cost(&alone, None)).abs() < 1e-9);
        assert!((cost(&both, Some(1.2)) / cost(&both, None) - 1.2).abs() < 1e-9);
    }
}

//! Checks that packets from every node to every other one arrive, unless the nodes are isolated.

use super::super::forwarding::Forwarding;
use super::super::{NodeId, Topology};
use super::TopologyFault;

/// The head. It must reach every node, and every node must reach it.
const HEAD: NodeId = 0;

/// Checks that packets from every node arrive at every other node. Two nodes other than the head
/// may have no routes to each other, as in a star with isolated nodes; if a node has a route,
/// packets must arrive over it.
pub(super) fn check(topology: &Topology) -> Result<(), TopologyFault> {
    let forwarding = Forwarding::new(topology);
    for to in 0..topology.nodes.len() {
        let mut walk = Walk {
            topology,
            forwarding: &forwarding,
            to,
            states: vec![State::Unknown; topology.nodes.len()],
            way: Vec::new(),
        };
        for from in 0..topology.nodes.len() {
            match walk.arrives(from) {
                Ok(()) => {}
                Err(Stop::NoRoute(at)) if at == from && from != HEAD && to != HEAD => {}
                Err(stop) => return Err(walk.fault(from, stop)),
            }
        }
    }
    Ok(())
}

/// The progress of the search at one node.
#[derive(Clone, Copy)]
enum State {
    Unknown,
    /// The node is on the path that is being followed.
    Open,
    Known(Result<(), Stop>),
}

/// The reason why packets do not arrive, with the nodes concerned.
#[derive(Clone, Copy)]
enum Stop {
    /// The node has no route.
    NoRoute(NodeId),
    /// No neighbour of the node has the address of the next hop.
    NoNeighbour(NodeId),
    /// The first node sends packets to the second, which does not forward.
    NotForwarding(NodeId, NodeId),
    /// Packets loop; the node is the first one that they pass twice.
    Loop(NodeId),
}

/// A search for the paths to one node.
struct Walk<'a> {
    topology: &'a Topology,
    forwarding: &'a Forwarding<'a>,
    to: NodeId,
    states: Vec<State>,
    /// The nodes of a loop in reverse order.
    way: Vec<NodeId>,
}

impl Walk<'_> {
    fn arrives(&mut self, from: NodeId) -> Result<(), Stop> {
        if from == self.to {
            return Ok(());
        }
        match self.states[from] {
            State::Known(known) => return known,
            State::Open => return Err(Stop::Loop(from)),
            State::Unknown => {}
        }
        self.states[from] = State::Open;
        let result = self.beyond(from);
        self.states[from] = State::Known(result);
        if matches!(result, Err(Stop::Loop(_))) {
            self.way.push(from);
        }
        result
    }

    /// Checks that packets from `from` arrive, whichever next hop the node selects.
    fn beyond(&mut self, from: NodeId) -> Result<(), Stop> {
        let address = self.topology.nodes[self.to].address;
        let (_, hops) = self.forwarding.hops(from, address);
        if hops.is_empty() {
            return Err(Stop::NoRoute(from));
        }
        for hop in hops {
            let station = self.forwarding.station(hop.nic, hop.via.unwrap_or(address));
            let next = station.map(|nic| self.topology.nics[nic].node);
            let next = next.ok_or(Stop::NoNeighbour(from))?;
            if next != self.to && !self.topology.nodes[next].forwards {
                return Err(Stop::NotForwarding(from, next));
            }
            self.arrives(next)?;
        }
        Ok(())
    }

    fn fault(&self, from: NodeId, stop: Stop) -> TopologyFault {
        let name = |node: NodeId| self.topology.nodes[node].name.clone();
        let address = self.topology.nodes[self.to].address;
        let reason = match stop {
            Stop::NoRoute(at) => format!("{} has no route to {address}; add one", name(at)),
            Stop::NoNeighbour(at) => format!(
                "{} expects {address} among its neighbours, but it is not there; add a route, or move {} to another network",
                name(at),
                name(self.to)
            ),
            Stop::NotForwarding(at, next) => format!(
                "{} sends packets to {}, which does not forward; enable forwarding there, or change the route",
                name(at),
                name(next)
            ),
            Stop::Loop(again) => {
                let round = self.way.iter().rev().map(|node| name(*node));
                let way: Vec<String> = round.chain([name(again)]).collect();
                return TopologyFault::Structure(format!(
                    "a routing loop for packets from {} to {}: {}; change one of these routes",
                    name(from),
                    name(self.to),
                    way.join(", ")
                ));
            }
        };
        let from = name(from);
        let to = name(self.to);
        TopologyFault::Structure(format!("packets from {from} to {to} do not arrive: {reason}"))
    }
}

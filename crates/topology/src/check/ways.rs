//! The ways of packets from every node to every other one: they arrive or aren't meant to.

use super::super::forwarding::Forwarding;
use super::super::{NodeId, Topology};
use super::TopologyFault;

/// The head, which must reach every node and be reached by it.
const HEAD: NodeId = 0;

/// Nodes other than the head needn't know a way to each other (as in a star whose nodes are
/// isolated), but one they know must lead there.
pub(super) fn check(topology: &Topology) -> Result<(), TopologyFault> {
    let forwarding = Forwarding::of(topology);
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

/// What is known of packets from a node.
#[derive(Clone, Copy)]
enum State {
    Unknown,
    /// The node is on the way that is being followed.
    Open,
    Known(Result<(), Stop>),
}

/// Where packets stop.
#[derive(Clone, Copy)]
enum Stop {
    /// At a node that knows no way.
    NoRoute(NodeId),
    /// At a NIC of a node, where no station has the address.
    NoNeighbour(NodeId),
    /// Between a node and the next one, which doesn't forward.
    NotForwarding(NodeId, NodeId),
    /// Nowhere: they come back to this node.
    Loop(NodeId),
}

/// The ways to one node.
struct Walk<'a> {
    topology: &'a Topology,
    forwarding: &'a Forwarding<'a>,
    to: NodeId,
    states: Vec<State>,
    /// The nodes from the first asked to where packets went round.
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

    /// Whether packets arrive over every hop that the node may take.
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
            Stop::NoRoute(at) => format!("{} has no route to {address}: give it one", name(at)),
            Stop::NoNeighbour(at) => format!(
                "{} looks for {address} among its neighbours, and it isn't there: give it a route, or {} another network",
                name(at),
                name(self.to)
            ),
            Stop::NotForwarding(at, next) => format!(
                "{} sends them to {}, which doesn't forward: let it forward, or take another route",
                name(at),
                name(next)
            ),
            Stop::Loop(again) => {
                let round = self.way.iter().rev().map(|node| name(*node));
                let way: Vec<String> = round.chain([name(again)]).collect();
                return TopologyFault::Loop {
                    from: name(from),
                    to: name(self.to),
                    way: way.join(", "),
                };
            }
        };
        TopologyFault::NoWay { from: name(from), to: name(self.to), reason }
    }
}

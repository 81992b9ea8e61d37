//! What a copy costs the processors of its machines, in CPU seconds per byte.

use serde::{Deserialize, Serialize};

use super::network::{Network, Use};
use super::payload::Payload;

/// The CPU time of the steps of a copy, in seconds per byte.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CpuCosts {
    /// Reading from the page cache, and writing to it.
    pub copy: f64,
    /// Hashing.
    pub hash: f64,
    /// Sealing, and opening.
    pub seal: f64,
    /// Sending over TCP on loopback, and receiving, together.
    pub stream: f64,
}

/// The factor by which a hop over a shaped wire of a lab costs more than one over loopback: frames
/// of 1500 bytes pass a shaper, a bridge and two pairs of virtual NICs. Measured: a relay that
/// checks nothing took 17.8 CPU seconds for 1 GiB to 20 nodes, where loopback costs 0.165 s a GiB.
const EMULATED: f64 = 4.8;

/// The processors of the machines of a copy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Processors {
    /// What a byte costs.
    pub costs: CpuCosts,
    /// The number of processors of a machine.
    pub count: f64,
    /// Whether all nodes are on one machine, such as those of a lab, and share its processors.
    pub is_shared: bool,
}

/// The rate at which the processors of one machine would limit a copy if nothing else did.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProcessorLimit {
    /// The node's index in the plan; `None` for the machine that all nodes are on.
    pub node: Option<usize>,
    /// The rate of the whole copy in bytes per second.
    pub rate: f64,
}

/// What a byte of a lane costs the processors of a machine.
pub(super) struct ProcessorUse {
    /// The node's index in the lane; `None` for the machine that all nodes are on.
    pub(super) node: Option<usize>,
    /// The number of processors.
    pub(super) count: f64,
    /// CPU seconds per byte.
    pub(super) cost: f64,
}

/// The work of a node in a lane.
#[derive(Clone, Debug)]
pub(super) struct Work {
    /// The node's name.
    pub(super) name: String,
    /// Whether the node reads the source; otherwise it receives.
    pub(super) reads: bool,
    /// The number of nodes that it feeds.
    pub(super) feeds: usize,
    /// The node's own limit in processors.
    pub(super) limit: Option<f64>,
    /// Whether the node's wires have a rate, so that a lab shapes them.
    pub(super) is_shaped: bool,
}

impl Processors {
    /// Returns the name of the processors that all transfers between the head and nodes use.
    #[must_use]
    pub fn common_name(&self) -> &'static str {
        if self.is_shared { "processors of this machine" } else { "processors of the head" }
    }

    /// Returns the CPU seconds for which these common processors are used by a byte that goes
    /// between the head and a node over a wire, in either direction.
    #[must_use]
    pub fn staging(&self) -> f64 {
        let work = |reads| Work {
            name: String::new(),
            reads,
            feeds: usize::from(reads),
            limit: None,
            is_shaped: true,
        };
        let costs = self.costs_of(&[work(true), work(false)], &Payload::USUAL);
        let common = if self.is_shared { None } else { Some(0) };
        costs.iter().filter(|used| used.node == common).map(|used| used.cost).sum()
    }

    /// Returns the use of processors per byte that passes through a lane with these nodes in the
    /// form `payload`.
    pub(super) fn uses(&self, network: &mut Network, lane: &[Work], payload: &Payload) -> Vec<Use> {
        let of = |used: ProcessorUse| {
            let name = used.node.map_or("this machine", |node| lane[node].name.as_str());
            (network.shared(&format!("processors of {name}"), used.count), used.cost)
        };
        self.costs_of(lane, payload).into_iter().map(of).collect()
    }

    /// Returns what a byte of a lane with these nodes costs each machine.
    pub(super) fn costs_of(&self, lane: &[Work], payload: &Payload) -> Vec<ProcessorUse> {
        let mut costs = Vec::new();
        let mut all = 0.0;
        for (node, work) in lane.iter().enumerate() {
            let cost = self.seconds(work, payload);
            all += cost;
            let own = if self.is_shared { work.limit } else { Some(self.count) };
            costs.extend(own.map(|count| ProcessorUse { node: Some(node), count, cost }));
        }
        if self.is_shared {
            costs.push(ProcessorUse { node: None, count: self.count, cost: all });
        }
        costs
    }

    /// Returns the CPU time that a byte costs a node. A hop costs half of it at each end.
    fn seconds(&self, work: &Work, payload: &Payload) -> f64 {
        let CpuCosts { copy, hash, seal, stream } = self.costs;
        let Payload { sealed, ratio, pack, unpack } = *payload;
        let emulated = if self.is_shared && work.is_shaped { EMULATED } else { 1.0 };
        let end = stream * emulated / 2.0;
        // The head reads, hashes, compresses and seals; a node receives, opens, decompresses,
        // hashes and writes. What is sent and sealed are the compressed bytes.
        let ends = (work.feeds + usize::from(!work.reads)) as f64;
        let form = if work.reads { pack } else { unpack };
        let seal = if sealed { seal } else { 0.0 };
        copy + hash + form + (seal + end * ends) * ratio
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: CpuCosts = CpuCosts { copy: 1.0, hash: 2.0, seal: 3.0, stream: 4.0 };

    #[test]
    fn nodes_of_one_machine_share_its_processors_and_others_have_their_own() {
        let node = |name: &str, reads, feeds| {
            let name = name.to_owned();
            let is_shaped = reads;
            Work { name, reads, feeds, limit: None, is_shaped }
        };
        let mut lane = vec![node("head", true, 1), node("n1", false, 1), node("n2", false, 0)];
        let apart = Processors { costs: COSTS, count: 2.0, is_shared: false };
        let uses = apart.uses(&mut Network::new(), &lane, &Payload::USUAL);
        assert_eq!(uses, [(0, 8.0), (1, 10.0), (2, 8.0)]);
        lane[2].limit = Some(0.5);
        let mut network = Network::new();
        let together = Processors { is_shared: true, ..apart };
        let shared = together.uses(&mut network, &lane, &Payload::USUAL);
        assert_eq!(shared, [(0, 8.0), (1, 6.0 + 2.0 * EMULATED + 10.0 + 8.0)]);
        assert_eq!([0, 1].map(|place| network.capacity_of(place)), [0.5, 2.0]);
    }

    #[test]
    fn staging_uses_the_head_alone_or_the_one_machine() {
        let apart = Processors { costs: COSTS, count: 2.0, is_shared: false };
        assert_eq!((apart.staging(), apart.common_name()), (8.0, "processors of the head"));
        let shared = Processors { is_shared: true, ..apart };
        assert_eq!(shared.staging(), 2.0 * (6.0 + 2.0 * EMULATED));
    }

    #[test]
    fn what_is_compressed_costs_less_to_seal_and_to_send() {
        let work =
            |reads| Work { name: String::new(), reads, feeds: 1, limit: None, is_shaped: false };
        let cost = |reads, payload: &Payload| {
            Processors { costs: COSTS, count: 1.0, is_shared: false }.seconds(&work(reads), payload)
        };
        let plain = Payload { sealed: false, ..Payload::USUAL };
        assert_eq!((cost(true, &Payload::USUAL), cost(true, &plain)), (8.0, 5.0));
        let packed = Payload { ratio: 0.5, pack: 9.0, unpack: 0.25, ..Payload::USUAL };
        assert_eq!(cost(true, &packed), 3.0 + 9.0 + 0.5 * (3.0 + 2.0));
        assert_eq!(cost(false, &packed), 3.0 + 0.25 + 0.5 * (3.0 + 4.0));
    }
}

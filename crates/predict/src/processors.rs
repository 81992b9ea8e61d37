//! What a copy costs the processors of its machines, in CPU seconds per byte.

use serde::{Deserialize, Serialize};

use super::network::{Network, Use};

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

/// The factor by which a hop over a shaped wire of a lab costs more than one over loopback: frames of
/// 1500 bytes pass a shaper, a bridge and two pairs of virtual NICs. Measured: a relay that checks
/// nothing took 17.8 CPU seconds for 1 GiB to 20 nodes, where loopback costs 0.165 s a GiB.
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
    /// Returns the use of processors per byte that passes through a lane with these nodes.
    pub(super) fn uses(&self, network: &mut Network, lane: &[Work]) -> Vec<Use> {
        let mut uses = Vec::new();
        let mut all = 0.0;
        for work in lane {
            let cost = self.seconds(work);
            all += cost;
            let own = if self.is_shared { work.limit } else { Some(self.count) };
            if let Some(count) = own {
                let name = format!("processors of {}", work.name);
                uses.push((network.shared(&name, count), cost));
            }
        }
        if self.is_shared {
            uses.push((network.shared("processors of this machine", self.count), all));
        }
        uses
    }

    /// Returns the CPU time that a byte costs a node. A hop costs half of it at each end.
    fn seconds(&self, work: &Work) -> f64 {
        let CpuCosts { copy, hash, seal, stream } = self.costs;
        let emulated = if self.is_shared && work.is_shaped { EMULATED } else { 1.0 };
        let end = stream * emulated / 2.0;
        // The head reads, hashes and seals; a node receives, opens, hashes and writes.
        let ends = work.feeds + usize::from(!work.reads);
        copy + hash + seal + end * ends as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: CpuCosts = CpuCosts { copy: 1.0, hash: 2.0, seal: 3.0, stream: 4.0 };

    #[test]
    fn nodes_of_one_machine_share_its_processors_and_others_have_their_own() {
        let node = |name: &str, reads, feeds| {
            let (name, is_shaped) = (name.to_owned(), reads);
            Work { name, reads, feeds, limit: None, is_shaped }
        };
        let mut lane = vec![node("head", true, 1), node("n1", false, 1), node("n2", false, 0)];
        let apart = Processors { costs: COSTS, count: 2.0, is_shared: false };
        let uses = apart.uses(&mut Network::new(), &lane);
        assert_eq!(uses, [(0, 8.0), (1, 10.0), (2, 8.0)]);
        lane[2].limit = Some(0.5);
        let mut network = Network::new();
        let shared = Processors { is_shared: true, ..apart }.uses(&mut network, &lane);
        assert_eq!(shared, [(0, 8.0), (1, 6.0 + 2.0 * EMULATED + 10.0 + 8.0)]);
        assert_eq!([0, 1].map(|place| network.capacity_of(place)), [0.5, 2.0]);
    }
}

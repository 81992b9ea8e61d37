//! Measures the times between the head's orders and the nodes' answers.

use garland_core::plan::NodeId;
use garland_core::trace::{Exchange, Stage};

use super::at::{At, peer_index};
use super::collector::Collector;

/// The time at which an order was sent, in monotonic nanoseconds, for each node and kind of order;
/// 0 if no answer is awaited.
#[derive(Debug)]
pub struct Exchanges(Vec<[u64; 4]>);

impl Exchanges {
    /// Returns an instance for `nodes` nodes, without orders.
    pub fn new(nodes: usize) -> Self {
        Self(vec![[0; 4]; nodes])
    }

    /// Adds a node at the end of the plan.
    pub fn grow(&mut self) {
        self.0.push([0; 4]);
    }

    /// Records that an order is sent to node `id` now.
    pub fn asked(&mut self, id: NodeId, exchange: Exchange, trace: &Collector) {
        if let Some(open) = self.open(id, exchange) {
            *open = trace.now();
        }
    }

    /// Records that the answer of node `id` to an order has arrived. Adds the time between order
    /// and answer to `trace`.
    pub fn answered(&mut self, id: NodeId, exchange: Exchange, trace: &Collector) {
        let Some(asked_ns) = self.open(id, exchange).map(std::mem::take) else { return };
        if asked_ns > 0 {
            let peer = peer_index(id);
            let at = At::exchange(exchange).with(peer);
            trace.took(Stage::Control, at, asked_ns);
        }
    }

    fn open(&mut self, id: NodeId, exchange: Exchange) -> Option<&mut u64> {
        self.0.get_mut(id.index())?.get_mut(exchange.number() as usize)
    }
}

//! Nodes that come when the copy is under way: they are fed beside the others, which go on as they were.

use super::node::Node;
use super::{Head, NodeState};
use crate::plan::{HEAD, NodeId};
use crate::proto::route::NodeAddress;

impl Head {
    /// Takes in a node that was given up before it had begun, by all lanes that it was planned for.
    pub(super) fn join(&mut self, now: u64, id: NodeId, address: NodeAddress) {
        let at = id.index();
        let known = id != HEAD && at < self.nodes.len() && at < self.addresses.len();
        // Where none has a substitute all are lost already; and what is over isn't begun anew.
        if !known || self.policy.together || self.finished {
            return;
        }
        if !self.nodes[at].left || !matches!(self.nodes[at].state, NodeState::Failed(_)) {
            return;
        }
        self.nodes[at] = Node { wanted: self.roots.get(at - 1).copied(), ..Node::new(now) };
        self.addresses[at] = address;
        for lane in 0..self.lanes.len() {
            let state = &self.lanes[lane];
            if !state.route.contains(id) || state.nodes.contains(&id) {
                continue;
            }
            let feeder = self.side_feeder(lane, id);
            self.lanes[lane].hang(id, feeder, true);
            feeder.into_iter().for_each(|feeder| self.send_route(lane, feeder));
        }
    }
}

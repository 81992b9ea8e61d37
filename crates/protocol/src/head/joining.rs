//! Nodes that join while the copy is in progress: they are fed on the side.

use super::node::Node;
use super::{Head, NodeState};
use crate::route::NodeAddress;
use garland_core::plan::{HEAD, NodeId};

impl Head {
    /// Adds a node that is not in the plan. It counts as failed until it joins.
    pub(super) fn add(&mut self, now: u64, name: String) {
        let failed = NodeState::Failed("it did not join before the copy ended".to_owned());
        self.nodes.push(Node { state: failed, left: true, ..Node::new(now) });
        self.names.push(name);
        self.addresses.push(NodeAddress::default());
    }

    /// Adds a node that failed before it began to all lanes that it belongs to.
    pub(super) fn join(&mut self, now: u64, id: NodeId, address: NodeAddress) {
        let at = id.index();
        let known = id != HEAD && at < self.nodes.len() && at < self.addresses.len();
        // A copy in which each node has its own part has failed already, and a finished one is not
        // resumed.
        if !known || self.policy.together || self.finished {
            return;
        }
        if !self.nodes[at].left || !matches!(self.nodes[at].state, NodeState::Failed(_)) {
            return;
        }
        // A node that is not in the plan gets the same bytes as the others.
        let wanted = self.roots.get(at - 1).or(self.roots.first()).copied();
        self.nodes[at] = Node { wanted, ..Node::new(now) };
        self.addresses[at] = address;
        for lane in 0..self.lanes.len() {
            let state = &self.lanes[lane];
            let belongs = state.route.contains(id) || at >= self.planned;
            if !belongs || state.nodes.contains(&id) {
                continue;
            }
            let feeder = self.side_feeder(lane, id);
            self.lanes[lane].attach(id, feeder, true);
            feeder.into_iter().for_each(|feeder| self.send_route(lane, feeder));
        }
    }
}

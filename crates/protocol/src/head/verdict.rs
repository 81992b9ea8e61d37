//! The end of nodes and of the copy: commit, failure and death.

use super::node::Node;
use super::{Head, HeadOrder, NodeState, Verdict};
use crate::message::ToAgent;
use garland_core::plan::NodeId;

impl Head {
    /// Returns the verdict of a node; `None` if it has none yet.
    #[must_use]
    pub fn verdict(&self, node: NodeId) -> Option<Verdict> {
        match &self.nodes[node.index()].state {
            NodeState::Committed if self.is_final() => Some(Verdict::Ok),
            NodeState::Failed(reason) => Some(Verdict::Failed(reason.clone())),
            NodeState::Dead(reason) => Some(Verdict::Dead(reason.clone())),
            NodeState::Joining
            | NodeState::Ready
            | NodeState::Complete
            | NodeState::Prepared
            | NodeState::Committed => None,
        }
    }

    /// Whether a committed node is done. If the policy is to prepare first, it is done only after
    /// all nodes have committed.
    fn is_final(&self) -> bool {
        self.settled || !self.policy.prepare
    }

    /// Whether a node may commit. A node that failed may not: it withdraws what it has prepared.
    pub(super) fn may_commit(&self, at: usize) -> bool {
        let node = &self.nodes[at];
        let was_ordered = self.committing && node.state == NodeState::Prepared;
        !node.left && (was_ordered || !self.policy.prepare)
    }

    /// Orders all nodes to commit if all have prepared.
    pub(super) fn commit_prepared(&mut self) {
        let prepared = |node: &Node| node.state == NodeState::Prepared;
        if self.committing || !self.nodes.iter().skip(1).all(prepared) {
            return;
        }
        self.committing = true;
        for (id, node) in self.receivers().zip(self.nodes.iter().skip(1)) {
            if let Some(root) = node.root {
                self.orders.push_back(HeadOrder::Send(id, ToAgent::Commit(self.copy, root)));
            }
        }
    }

    /// Orders all nodes to remove the files that they replaced if all have committed. A node that
    /// has died since then keeps these files, which does no harm.
    pub(super) fn settle(&mut self) {
        let committed = |node: &Node| node.state == NodeState::Committed;
        if !self.policy.prepare || self.settled || !self.nodes.iter().skip(1).all(committed) {
            return;
        }
        self.settled = true;
        for (id, node) in self.receivers().zip(self.nodes.iter().skip(1)) {
            if !node.left {
                self.orders.push_back(HeadOrder::Send(id, ToAgent::Settle(self.copy)));
            }
        }
    }

    /// Sets the digests that the bytes of each node must have.
    pub(super) fn set_roots(&mut self, roots: &[[u8; 32]]) {
        self.roots = roots.to_vec();
        for (node, root) in self.nodes.iter_mut().skip(1).zip(roots) {
            node.wanted = Some(*root);
        }
        self.commit();
    }

    /// Orders complete nodes with the right digest to commit: each separately, or all together if
    /// the policy says so, possibly with a separate prepare step. Fails nodes with another digest.
    pub(super) fn commit(&mut self) {
        let known = |node: &Node| node.state == NodeState::Complete && node.wanted.is_some();
        if self.policy.together && !self.nodes.iter().skip(1).all(known) {
            return;
        }
        let is_wrong = |node: &Node| known(node) && node.root != node.wanted;
        let wrong = self.receivers().filter(|id| is_wrong(&self.nodes[id.index()]));
        for id in wrong.collect::<Vec<_>>() {
            let reason = "the digest of its blocks differs from that of the source".to_owned();
            self.take_out(id, NodeState::Failed(reason));
        }
        for (id, node) in self.receivers().zip(self.nodes.iter_mut().skip(1)) {
            // Each node gets this order once.
            if let Some(root) = node.wanted.take_if(|_| node.state == NodeState::Complete) {
                let order = match self.policy.prepare {
                    true => ToAgent::Prepare(self.copy, root),
                    false => ToAgent::Commit(self.copy, root),
                };
                self.orders.push_back(HeadOrder::Send(id, order));
            }
        }
    }

    /// Removes a node from all lanes. Files that the node has committed stay.
    pub(super) fn take_out(&mut self, id: NodeId, state: NodeState) {
        let node = &mut self.nodes[id.index()];
        if std::mem::replace(&mut node.left, true) {
            return;
        }
        let alive = !matches!(state, NodeState::Dead(_));
        let committed = node.state == NodeState::Committed;
        let lost = match &state {
            NodeState::Failed(reason) | NodeState::Dead(reason) if !committed => reason.clone(),
            _ => String::new(),
        };
        if !committed {
            node.state = state;
            if alive {
                self.orders.push_back(HeadOrder::Send(id, ToAgent::Close(self.copy)));
            }
        }
        for lane in 0..self.lanes.len() {
            self.splice(lane, id);
        }
        if self.policy.together && !committed {
            let name = &self.names[id.index()];
            let new = if self.committing { "; the new stripes are withdrawn" } else { "" };
            let reason =
                format!("all servers of a striped file are needed, and {name} failed: {lost}{new}");
            self.give_up(&reason);
        }
    }

    /// Fails all nodes without a verdict.
    pub(super) fn give_up(&mut self, reason: &str) {
        for id in self.receivers() {
            if self.verdict(id).is_none() {
                self.nodes[id.index()].state = NodeState::Failed(reason.to_owned());
                self.orders.push_back(HeadOrder::Send(id, ToAgent::Close(self.copy)));
            }
        }
    }

    /// Ends the copy if all nodes have verdicts.
    pub(super) fn finish(&mut self) {
        if !self.finished && self.receivers().all(|id| self.verdict(id).is_some()) {
            self.finished = true;
            self.orders.push_back(HeadOrder::Finished);
        }
    }
}

//! The end of nodes and of the copy: commit, failure and death.

use garland_core::plan::NodeId;

use super::milestones::Milestone;
use super::node::Node;
use super::{Head, HeadOrder, NodeState, Verdict};
use crate::copy::report::Report;
use crate::message::ToAgent;

impl Head {
    /// Returns the verdict of a node; `None` if it has none yet.
    #[must_use]
    pub fn verdict(&self, node: NodeId) -> Option<Verdict> {
        match &self.nodes[node.index()].state {
            NodeState::Committed if self.is_final() => Some(Verdict::Ok),
            NodeState::Failed(reason) | NodeState::Dead(reason) if self.is_unknown(node) => {
                Some(Verdict::Unknown(reason.clone()))
            }
            NodeState::Failed(reason) => Some(Verdict::Failed(reason.clone())),
            NodeState::Dead(reason) => Some(Verdict::Dead(reason.clone())),
            _ => None,
        }
    }

    /// Whether a node was told to commit, and was given up before it said whether it did. Sources
    /// have nothing to commit, and servers of a set of stripes that live withdraw theirs.
    fn is_unknown(&self, id: NodeId) -> bool {
        let Node { state, commits, .. } = &self.nodes[id.index()];
        let withdraws = self.policy.prepare && !matches!(state, NodeState::Dead(_));
        *commits && !withdraws && !self.gathers
    }

    /// Whether a node has a verdict.
    pub(super) fn has_verdict(&self, node: NodeId) -> bool {
        match self.nodes[node.index()].state {
            NodeState::Failed(_) | NodeState::Dead(_) => true,
            NodeState::Committed => self.is_final(),
            _ => false,
        }
    }

    /// Changes the state of a node, and notes the milestones that this state includes.
    pub(super) fn set_state(&mut self, id: NodeId, state: NodeState) {
        let reached: &[Milestone] = match state {
            NodeState::Joining => &[],
            NodeState::Ready => &[Milestone::Ready],
            NodeState::Complete => &[Milestone::Ready, Milestone::Complete],
            NodeState::Prepared => &[Milestone::Prepared],
            NodeState::Committed | NodeState::Failed(_) | NodeState::Dead(_) => {
                self.admission.settle(id);
                &[Milestone::Over]
            }
        };
        for milestone in reached {
            self.milestones.reach(self.now, id, *milestone);
        }
        self.nodes[id.index()].state = state;
    }

    /// Whether a committed node is done. If the policy is to prepare first, it is done only after
    /// all nodes have committed.
    fn is_final(&self) -> bool {
        self.settled || !self.policy.prepare
    }

    /// Whether a node may commit: only one that was ordered to. A failed node may not commit: it
    /// removes what it has prepared.
    pub(super) fn may_commit(&self, at: usize) -> bool {
        let node = &self.nodes[at];
        let is_prepared = !self.policy.prepare || node.state == NodeState::Prepared;
        node.commits && is_prepared && !node.left
    }

    /// Notes that a node has prepared. After the last one, orders all nodes to commit.
    pub(super) fn prepared(&mut self, id: NodeId) {
        self.set_state(id, NodeState::Prepared);
        if self.committing || !self.milestones.all_reached(Milestone::Prepared) {
            return;
        }
        self.committing = true;
        for id in self.receivers() {
            if let Some(root) = self.nodes[id.index()].root {
                self.nodes[id.index()].commits = true;
                self.send(id, ToAgent::Commit(self.copy, root));
            }
        }
    }

    /// Notes that a node has committed. After the last one, orders all nodes to remove the files
    /// that they replaced. A node that dies before it gets this order keeps these files, which does
    /// no harm.
    pub(super) fn committed(&mut self, id: NodeId, report: Box<Report>) {
        self.nodes[id.index()].report = self.bounded(*report);
        self.nodes[id.index()].commits = false;
        self.set_state(id, NodeState::Committed);
        if !self.policy.prepare || self.settled || !self.milestones.all_reached(Milestone::Over) {
            return;
        }
        self.settled = true;
        for id in self.receivers().filter(|id| !self.nodes[id.index()].left).collect::<Vec<_>>() {
            self.send(id, ToAgent::Settle(self.copy));
        }
    }

    /// Sets the digest that each node's bytes must have, and lets complete nodes commit.
    pub(super) fn set_roots(&mut self, roots: &[[u8; 32]]) {
        self.roots = roots.to_vec();
        for (node, root) in self.nodes.iter_mut().skip(1).zip(roots) {
            node.wanted = Some(*root);
        }
        self.commit(self.receivers().collect());
    }

    /// Orders the complete nodes of `ids` to commit, or to prepare first if the policy says so.
    /// Fails complete nodes with a wrong digest. If the policy is that nodes commit together, waits
    /// until all are complete, and then orders all of them.
    pub(super) fn commit(&mut self, mut ids: Vec<NodeId>) {
        if self.policy.together {
            let is_known = |id: NodeId| self.nodes[id.index()].wanted.is_some();
            if !self.milestones.all_reached(Milestone::Complete) || !self.receivers().all(is_known)
            {
                return;
            }
            ids = self.receivers().collect();
        }
        for &id in &ids {
            let node = &self.nodes[id.index()];
            let is_known = node.state == NodeState::Complete && node.wanted.is_some();
            if is_known && node.root != node.wanted {
                let reason = "the digest of its blocks differs from that of the source".to_owned();
                self.take_out(id, NodeState::Failed(reason));
            }
        }
        for id in ids {
            let node = &mut self.nodes[id.index()];
            // Each node gets this order once.
            if let Some(root) = node.wanted.take_if(|_| node.state == NodeState::Complete) {
                node.commits = !self.policy.prepare;
                let order = match self.policy.prepare {
                    true => ToAgent::Prepare(self.copy, root),
                    false => ToAgent::Commit(self.copy, root),
                };
                self.send(id, order);
            }
        }
    }

    /// Sends a message to a node.
    pub(super) fn send(&mut self, id: NodeId, message: ToAgent) {
        self.orders.push_back(HeadOrder::Send(id, message));
    }

    /// Removes a node from all lanes. Unless the node has committed, sets its state, and closes the
    /// copy on it; if nodes commit together, all others fail, too. Files that the node has
    /// committed stay.
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
        if self.closing_until.is_none() {
            self.liveness.forget(id);
        }
        if !committed {
            self.set_state(id, state);
            if alive {
                self.send(id, ToAgent::Close(self.copy));
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

    /// Fails all nodes without a verdict, and waits for no other.
    pub(super) fn give_up(&mut self, reason: &str) {
        let reason_of_awaited = match self.interrupted {
            true => "it did not answer before the interrupt",
            false => reason,
        };
        for id in std::mem::take(&mut self.awaited) {
            self.nodes[id.index()].state = NodeState::Failed(reason_of_awaited.to_owned());
        }
        for id in self.receivers() {
            if !self.has_verdict(id) {
                self.set_state(id, NodeState::Failed(reason.to_owned()));
                self.send(id, ToAgent::Close(self.copy));
            }
        }
    }

    /// Ends the copy if all nodes have verdicts, and none is still being reached.
    pub(super) fn finish(&mut self) {
        let is_settled = self.awaited.is_empty() && self.milestones.all_reached(Milestone::Over);
        if !self.finished && is_settled {
            self.finished = true;
            self.orders.push_back(HeadOrder::Finished);
        }
    }
}

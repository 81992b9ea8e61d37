//! Where a node stands and how it ends: whole, failed or dead, each with a reason.

use super::node::Node;
use super::{Head, HeadOrder};
use crate::message::ToAgent;
use garland_core::plan::NodeId;

/// Where a node stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// Told of the copy.
    Joining,
    /// Its destination is open.
    Ready,
    /// It holds every block.
    Complete,
    /// Its part is ready under temporary names.
    Prepared,
    /// Its file has its final name.
    Committed,
    /// It can't go on.
    Failed(String),
    /// It is gone.
    Dead(String),
}

/// How a node ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The whole file is there.
    Ok,
    /// It isn't, and why.
    Failed(String),
    /// The node died, and how it was noticed.
    Dead(String),
}

impl Head {
    /// How a node ended; `None` while it hasn't.
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

    /// Whether a node that has committed is done: where all nodes prepare first, not before all of them
    /// have committed.
    fn is_final(&self) -> bool {
        self.settled || !self.policy.prepare
    }

    /// Whether a node may say that it has committed. One that was given up stays so: it takes back what
    /// it had prepared.
    pub(super) fn may_commit(&self, at: usize) -> bool {
        let node = &self.nodes[at];
        let was_ordered = self.committing && node.state == NodeState::Prepared;
        !node.left && (was_ordered || !self.policy.prepare)
    }

    /// Orders all nodes to commit once all have prepared.
    pub(super) fn commit_prepared(&mut self) {
        let prepared = |node: &Node| node.state == NodeState::Prepared;
        if self.committing || !self.nodes.iter().skip(1).all(prepared) {
            return;
        }
        self.committing = true;
        for (id, node) in (1..).map(NodeId).zip(self.nodes.iter().skip(1)) {
            if let Some(root) = node.root {
                self.orders.push_back(HeadOrder::Send(id, ToAgent::Commit(self.copy, root)));
            }
        }
    }

    /// Lets what was replaced go once all nodes have committed. One that has died since then keeps it:
    /// nothing is lost by that.
    pub(super) fn settle(&mut self) {
        let committed = |node: &Node| node.state == NodeState::Committed;
        if !self.policy.prepare || self.settled || !self.nodes.iter().skip(1).all(committed) {
            return;
        }
        self.settled = true;
        for (id, node) in (1..).map(NodeId).zip(self.nodes.iter().skip(1)) {
            if !node.left {
                self.orders.push_back(HeadOrder::Send(id, ToAgent::Settle(self.copy)));
            }
        }
    }

    /// Learns what each node must hold.
    pub(super) fn know(&mut self, roots: &[[u8; 32]]) {
        self.roots = roots.to_vec();
        for (node, root) in self.nodes.iter_mut().skip(1).zip(roots) {
            node.wanted = Some(*root);
        }
        self.commit();
    }

    /// Lets nodes complete whose part is known and proved unchanged: each by itself, or none before
    /// all can; these prepare first, if the policy says so.
    pub(super) fn commit(&mut self) {
        let known = |node: &Node| node.state == NodeState::Complete && node.wanted.is_some();
        if self.policy.together && !self.nodes.iter().skip(1).all(known) {
            return;
        }
        let ids = || (1..).map(NodeId);
        let others =
            |(id, node): (NodeId, &Node)| (known(node) && node.root != node.wanted).then_some(id);
        let other: Vec<NodeId> = ids().zip(self.nodes.iter().skip(1)).filter_map(others).collect();
        for id in other {
            let reason = "its blocks are not those of the source".to_owned();
            self.gone(id, NodeState::Failed(reason));
        }
        for (id, node) in ids().zip(self.nodes.iter_mut().skip(1)) {
            // Once: what was wanted is settled.
            if let Some(root) = node.wanted.take_if(|_| node.state == NodeState::Complete) {
                let order = match self.policy.prepare {
                    true => ToAgent::Prepare(self.copy, root),
                    false => ToAgent::Commit(self.copy, root),
                };
                self.orders.push_back(HeadOrder::Send(id, order));
            }
        }
    }

    /// Takes a node off every chain. What it had committed stays committed.
    pub(super) fn gone(&mut self, id: NodeId, state: NodeState) {
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
            let reason = format!("a striped file can't do without {name}: {lost}{new}");
            self.give_up(&reason);
        }
    }

    /// Ends the copy for everyone who hasn't got it.
    pub(super) fn give_up(&mut self, reason: &str) {
        for at in 1..self.nodes.len() {
            let id = NodeId(u32::try_from(at).expect("a plan has fewer nodes"));
            if self.verdict(id).is_none() {
                self.nodes[at].state = NodeState::Failed(reason.to_owned());
                self.orders.push_back(HeadOrder::Send(id, ToAgent::Close(self.copy)));
            }
        }
    }

    pub(super) fn finish(&mut self) {
        let all = (1..self.nodes.len())
            .all(|at| self.verdict(NodeId(u32::try_from(at).unwrap_or(0))).is_some());
        if all && !self.finished {
            self.finished = true;
            self.orders.push_back(HeadOrder::Finished);
        }
    }

    pub(super) fn is_alive(&self, at: usize) -> bool {
        !self.nodes[at].left
    }
}

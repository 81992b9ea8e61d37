//! Finds nodes that receive nothing though their feeder has what they lack. Whatever the reason is,
//! a link that lost a frame or a feeder that lies, another feeder may do better.

use garland_core::plan::{HEAD, NodeId};

use super::{Head, NodeState};

impl Head {
    /// Gives a node that is starved other feeders, in the lanes in which its feeder has more than
    /// it has. What the head feeds stays: it may be the source that has no more.
    pub(super) fn judge_progress(&mut self, now: u64, id: NodeId) {
        let lacks = |&lane: &usize| {
            let near = self.lanes[lane].feeders.get(&id);
            near.is_some_and(|near| *near != HEAD && self.has_more(*near, id))
        };
        let lanes: Vec<usize> = (0..self.lanes.len()).filter(lacks).collect();
        let node = &mut self.nodes[id.index()];
        let may_move = node.state == NodeState::Ready && !node.left && !self.policy.together;
        let could_get = may_move && !self.gathers && !lanes.is_empty();
        if !node.progress.is_starved(now, &node.report, could_get) {
            return;
        }
        for lane in lanes {
            if let Some(&near) = self.lanes[lane].feeders.get(&id) {
                let is_moved = self.feed_by_another(lane, id, near);
                self.nodes[id.index()].tried |= is_moved;
            }
        }
    }

    /// Whether `one` has blocks that `other` lacks: all of them, whatever it reports, once it has
    /// said that it is complete.
    fn has_more(&self, one: NodeId, other: NodeId) -> bool {
        use NodeState::{Committed, Complete, Prepared};
        let has_all = matches!(self.nodes[one.index()].state, Complete | Prepared | Committed);
        let whole = |id: NodeId| self.nodes[id.index()].report.whole;
        has_all || whole(one) > whole(other)
    }
}

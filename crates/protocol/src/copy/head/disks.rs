//! Finds disks that slow the other nodes down. Back-pressure gives all nodes of a chain the rate of
//! the slowest one, so rates do not show which disk is slow. A disk is slow if its writer is
//! blocked in writes while the writers of other nodes are not.

use garland_core::plan::NodeId;

use super::{Head, NodeState, SlowNodes};
use crate::copy::report::Report;
use crate::message::ToAgent;

impl Head {
    /// Stores a node's report. If only this node's disk slows the others down, detaches the node,
    /// or fails it if the policy says so. If most disks are equally busy, no node is detached:
    /// dropping blocks would only double the work.
    pub(super) fn judge_disk(&mut self, now: u64, id: NodeId, report: Report) {
        let at = id.index();
        if let Some(busy) = self.nodes[at].disk.measure(now, &report) {
            let slow = busy && self.is_outlier(at);
            let node = &mut self.nodes[at];
            let enough = node.disk.is_slow_for_long(slow) && !node.detached;
            let detached = self.nodes.iter().filter(|node| node.detached);
            if enough && self.policy.slow == SlowNodes::Fail {
                let reason =
                    "its disk is slower than those of the other nodes (--on-slow fail)".to_owned();
                return self.take_out(id, NodeState::Failed(reason));
            }
            if enough && detached.count() < self.policy.detached_max {
                self.nodes[at].detached = true;
                self.send(id, ToAgent::Detach(self.copy));
            }
        }
        self.nodes[at].report = report;
    }

    /// Whether a node that waits for its disk is not to be judged by its hop: most disks are as
    /// busy, or it is about to be detached or failed for it. Who is detached takes all that comes,
    /// and a disk that is slower than others but may not be detached is slow as any other hop is.
    pub(super) fn is_disk_excuse(&self, id: NodeId) -> bool {
        let node = &self.nodes[id.index()];
        let detached = self.nodes.iter().filter(|node| node.detached).count();
        let is_judged = self.policy.slow == SlowNodes::Fail || detached < self.policy.detached_max;
        !node.detached && (!self.is_outlier(id.index()) || node.disk.is_busy && is_judged)
    }

    /// Whether a disk is more than twice as busy as the median of the others; false if there are no
    /// others.
    fn is_outlier(&self, at: usize) -> bool {
        // Most disks are idle, and each hop asks: not all shares are sorted for each of them.
        if self.nodes[at].disk.blocked == 0 {
            return false;
        }
        let others = self.nodes.iter().enumerate().skip(1);
        let others = others.filter(|(other, node)| *other != at && !node.left);
        let mut shares: Vec<u64> = others.map(|(_, node)| node.disk.blocked).collect();
        let middle = shares.len() / 2;
        !shares.is_empty()
            && self.nodes[at].disk.blocked > 2 * *shares.select_nth_unstable(middle).1
    }
}

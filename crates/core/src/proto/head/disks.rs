//! Which disks hold the others up.

use super::{Head, HeadOrder};
use crate::plan::NodeId;
use crate::proto::message::{Report, ToAgent};

impl Head {
    /// Detaches a node whose disk held the others up for more than half of the last second, unless
    /// most disks do: then the disks are the limit, and dropping blocks would only double the work.
    pub(super) fn judge_disk(&mut self, now: u64, id: NodeId, report: Report) {
        const WINDOW_NS: u64 = 500_000_000;
        let detached = self.nodes.iter().filter(|node| node.detached).count();
        let slow = self.nodes.iter().filter(|node| node.held_up).count();
        let alone = slow * 2 < self.nodes.len();
        let may = detached < self.policy.detached_max && self.nodes.len() > 2 && alone;
        let node = &mut self.nodes[id.index()];
        let (since, stalled) = node.mark;
        if now.saturating_sub(since) >= WINDOW_NS {
            let share = report.stalled_ns.saturating_sub(stalled);
            let held_up_before = std::mem::replace(&mut node.held_up, share * 2 > now - since);
            // Twice in a row: once may be a disk's hiccup.
            if may && !node.detached && node.held_up && held_up_before {
                node.detached = true;
                self.orders.push_back(HeadOrder::Send(id, ToAgent::Detach(self.copy)));
            }
            node.mark = (now, report.stalled_ns);
        }
        node.report = report;
    }
}

//! Which disks hold the others up. Back-pressure gives all nodes of a chain the pace of the slowest,
//! so rates accuse nobody; what does is whose writer sleeps in its writes while the others' don't.

use super::{Head, HeadOrder, NodeState, SlowNodes};
use crate::message::ToAgent;
use crate::report::Report;
use garland_core::plan::NodeId;

/// A disk is judged by so many nanoseconds at a time.
const WINDOW_NS: u64 = 500_000_000;

/// A disk must be slow for so many windows in a row: once may be its hiccup.
const WINDOWS: u32 = 2;

/// What the head knows of a node's disk.
#[derive(Debug)]
pub(super) struct Disk {
    /// When the present window began.
    since: u64,
    /// What the node had reported by then: stalled and blocked nanoseconds.
    before: (u64, u64),
    /// Of the last window's time, the share (in thousandths) in which the writer slept in a write.
    blocked: u64,
    /// Windows in a row in which it held the others up.
    slow: u32,
}

impl Disk {
    pub(super) fn new(now: u64) -> Self {
        Self { since: now, before: (0, 0), blocked: 0, slow: 0 }
    }

    /// Ends a window, if it is over; says whether it is and the writer was busy in it.
    fn measure(&mut self, now: u64, report: &Report) -> Option<bool> {
        let window = now.saturating_sub(self.since);
        if window < WINDOW_NS {
            return None;
        }
        let (stalled, blocked) = self.before;
        let thousandths = |ns: u64, before: u64| ns.saturating_sub(before) * 1000 / window;
        let stalled = thousandths(report.stalled_ns, stalled);
        self.blocked = thousandths(report.blocked_ns, blocked);
        self.since = now;
        self.before = (report.stalled_ns, report.blocked_ns);
        // A machine without a CPU to spare holds the others up as well, but not by its disk, and
        // dropping blocks would only double its work.
        Some(stalled > 500 && self.blocked > 500)
    }
}

impl Head {
    /// Detaches a node whose disk alone holds the others up. When most disks are as busy they are
    /// the limit, and dropping blocks would only double the work.
    pub(super) fn judge_disk(&mut self, now: u64, id: NodeId, report: Report) {
        let at = id.index();
        if let Some(busy) = self.nodes[at].disk.measure(now, &report) {
            let slow = busy && self.is_outlier(at);
            let node = &mut self.nodes[at];
            node.disk.slow = if slow { node.disk.slow + 1 } else { 0 };
            let enough = node.disk.slow >= WINDOWS && !node.detached;
            let detached = self.nodes.iter().filter(|node| node.detached);
            if enough && self.policy.slow == SlowNodes::Fail {
                let reason = "its disk is too slow for the others".to_owned();
                return self.gone(id, NodeState::Failed(reason));
            }
            if enough && detached.count() < self.policy.detached_max {
                self.nodes[at].detached = true;
                self.orders.push_back(HeadOrder::Send(id, ToAgent::Detach(self.copy)));
            }
        }
        self.nodes[at].report = report;
    }

    /// Whether a disk is more than twice as busy as the median of the others. It never is without
    /// others: there is nobody to hold up.
    fn is_outlier(&self, at: usize) -> bool {
        let others = self.nodes.iter().enumerate().skip(1);
        let others = others.filter(|(other, node)| *other != at && !node.left);
        let mut shares: Vec<u64> = others.map(|(_, node)| node.disk.blocked).collect();
        let middle = shares.len() / 2;
        !shares.is_empty()
            && self.nodes[at].disk.blocked > 2 * *shares.select_nth_unstable(middle).1
    }
}

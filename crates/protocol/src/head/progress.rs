//! Finds nodes that receive nothing though their feeder has what they lack. Whatever the reason is, a
//! link that lost a frame or a feeder that lies, another feeder may do better.

use super::{Head, NodeState};
use crate::report::Report;
use garland_core::plan::{HEAD, NodeId};

/// The time without progress after which a node gets another feeder, in nanoseconds: longer than a
/// silent node takes to die.
const STARVED_NS: u64 = 15_000_000_000;

/// What a node's reports said when it last made progress.
#[derive(Debug, Default)]
pub(super) struct Progress {
    held: u64,
    /// The times for which the node waited for its own disk or reader.
    own_ns: (u64, u64),
    /// When it last made progress, in monotonic nanoseconds.
    since: u64,
}

impl Progress {
    /// Compares a report with the progress before. Returns whether the node has waited for others
    /// for too long; then its time begins anew.
    fn is_starved(&mut self, now: u64, report: &Report) -> bool {
        let own_ns = (report.stalled_ns, report.blocked_ns);
        let is_waiting = report.pending.is_none() && self.own_ns == own_ns;
        let is_starved = now.saturating_sub(self.since) >= STARVED_NS;
        if self.held != report.held || !is_waiting || is_starved {
            let was_waiting = self.held == report.held && is_waiting;
            *self = Self { held: report.held, own_ns, since: now };
            return was_waiting;
        }
        false
    }
}

impl Head {
    /// Gives a node that is starved other feeders, in the lanes in which its feeder has more than it
    /// has. What the head feeds stays: it may be the source that has no more.
    pub(super) fn judge_progress(&mut self, now: u64, id: NodeId) {
        let node = &mut self.nodes[id.index()];
        let is_starved = node.progress.is_starved(now, &node.report);
        let may_move = node.state == NodeState::Ready && !node.left && !self.policy.together;
        if !is_starved || !may_move || self.gathers {
            return;
        }
        for lane in 0..self.lanes.len() {
            let near = self.lanes[lane].feeders.get(&id).copied();
            if let Some(near) = near.filter(|near| *near != HEAD && self.has_more(*near, id)) {
                self.feed_by_another(lane, id, near);
            }
        }
    }

    /// Whether `one` has blocks that `other` lacks.
    fn has_more(&self, one: NodeId, other: NodeId) -> bool {
        let whole = |id: NodeId| self.nodes[id.index()].report.whole;
        whole(one) > whole(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_starved_if_it_waits_for_others_only() {
        let second = 1_000_000_000;
        let mut progress = Progress::default();
        let report = |held, stalled_ns| Report { held, stalled_ns, ..Report::default() };
        assert!(!progress.is_starved(second, &report(1, 0)), "it has made progress");
        assert!(!progress.is_starved(15 * second, &report(1, 0)));
        assert!(progress.is_starved(16 * second, &report(1, 0)));
        assert!(!progress.is_starved(17 * second, &report(1, 0)), "its time begins anew");
        assert!(!progress.is_starved(32 * second, &report(1, 7)), "it waited for its disk");
        assert!(!progress.is_starved(46 * second, &report(2, 7)), "it has made progress");
        assert!(progress.is_starved(61 * second, &report(2, 7)));
    }
}

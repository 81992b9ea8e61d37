//! Finds disks that hang. Heartbeats continue while a call hangs in the kernel, so silence does not
//! show a hang; the agent reports calls without progress.

use garland_core::plan::{HEAD, NodeId};

use super::node::Node;
use super::{Head, NodeState, SlowNodes};
use crate::copy::report::{PendingCall, Report};
use crate::message::ToAgent;

/// How many calls that hang for as long as a call may excuse a node in a copy, besides a share of
/// the time since the first one: one nanosecond in so many. A disk that stalls for a few seconds in
/// every minute or two is far from it, however long the copy takes.
const EXCUSED_CALLS: u64 = 5;
const EXCUSED_SHARE: u64 = 20;

impl Head {
    /// Returns the call that a node hangs in, if any.
    #[must_use]
    pub fn hangs_in(&self, id: NodeId) -> Option<&PendingCall> {
        let node = self.nodes.get(id.index())?;
        node.report.pending.as_ref().filter(|call| call.silent_ns >= PendingCall::HANG_NS)
    }

    /// Judges a node by the pending call of its last report. A node that hangs is detached or
    /// fails, depending on the policy; after `Policy::stuck_after_ns` it fails in any case.
    pub(super) fn judge_call(&mut self, id: NodeId) {
        let hangs = self.hangs_in(id).is_some_and(PendingCall::holds_up);
        let now = self.now;
        self.nodes[id.index()].hanging.note(now, hangs);
        let node = &self.nodes[id.index()];
        let Some(call) = self.hangs_in(id).filter(|_| !node.left).cloned() else {
            self.nodes[id.index()].hangs = false;
            return;
        };
        // A complete node that only syncs delays no other node.
        let holds_up = call.holds_up() && call.overdue_ns() >= PendingCall::HANG_NS;
        let fails_at_once =
            holds_up && self.policy.slow == SlowNodes::Fail && !self.policy.together;
        if fails_at_once || call.overdue_ns() >= self.policy.stuck_after_ns {
            let reason = self.reason_of(&call);
            return self.take_out(id, NodeState::Failed(reason));
        }
        if holds_up && !std::mem::replace(&mut self.nodes[id.index()].hangs, true) {
            self.detach_hanging(id);
        }
    }

    /// Judges the head's own disk by its report.
    pub(super) fn judge_own_call(&mut self, report: &Report) {
        let Some(call) = &report.pending else { return };
        if call.overdue_ns() >= self.policy.stuck_after_ns {
            let reason = format!("on this machine: {}", self.reason_of(call));
            self.give_up(&reason);
        }
    }

    /// Whether a node is still opening its destination, so that it cannot be linked yet.
    pub(super) fn is_opening(&self, id: NodeId) -> bool {
        let Node { state, report, .. } = &self.nodes[id.index()];
        let is_joining = id != HEAD && *state == NodeState::Joining;
        is_joining && report.pending.as_ref().is_some_and(PendingCall::opens)
    }

    /// Whether a node hangs in a call on its disk on which others may wait: they are fed past it,
    /// or have to wait. That excuses a node for a time only, all its calls together: it may say so
    /// again and again.
    pub(super) fn is_held_up(&self, id: NodeId) -> bool {
        let most_ns = self.policy.stuck_after_ns.saturating_mul(EXCUSED_CALLS);
        let is_excused = |node: &Node| {
            let share_ns = node.hanging.lasts_ns(self.now) / EXCUSED_SHARE;
            node.hanging.total_ns(self.now) < most_ns.saturating_add(share_ns)
        };
        self.hangs_in(id).is_some_and(PendingCall::holds_up)
            && self.nodes.get(id.index()).is_some_and(is_excused)
    }

    fn reason_of(&self, call: &PendingCall) -> String {
        let least = self.policy.stuck_after_ns.min(call.overdue_ns()) + call.allowance_ns;
        format!(
            "{} {}: no progress for {} s: the disk or file server does not answer (see dmesg of \
             that machine; --stuck-after sets a longer timeout)",
            call.operation,
            call.path,
            least / 1_000_000_000
        )
    }

    /// Moves a hanging node to the side of all lanes, and orders it to drop blocks, if there are
    /// other nodes and the policy is to detach slow nodes.
    fn detach_hanging(&mut self, id: NodeId) {
        let is_other =
            |at: usize| at != id.index() && !self.nodes[at].left && !self.nodes[at].hangs;
        let others = (1..self.nodes.len()).any(is_other);
        if !others || self.policy.slow != SlowNodes::Detach || self.policy.together {
            return;
        }
        if !std::mem::replace(&mut self.nodes[id.index()].detached, true) {
            self.send(id, ToAgent::Detach(self.copy));
        }
        for lane in 0..self.lanes.len() {
            let state = &self.lanes[lane];
            if state.nodes.contains(&id) && !state.side_fed.contains(&id) {
                self.feed_aside(lane, id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use garland_core::plan::{Layout, Plan};

    use super::super::{HeadEvent, Policy};
    use super::*;
    use crate::copy::copy_id::CopyId;
    use crate::copy::report::DiskCall;
    use crate::message::FromAgent;

    const COPY: CopyId = CopyId([7; 16]);
    const SECOND_NS: u64 = 1_000_000_000;

    /// Returns the head of a copy to two nodes.
    fn new_head() -> Head {
        let names = ["n1".to_owned(), "n2".to_owned()];
        let plan = Plan::broadcast(Layout::fitting(16 << 20), &names, 1).expect("a plan");
        let addresses = vec![vec![SocketAddr::from(([127, 0, 0, 1], 1))]; 3];
        let mut head = Head::new(COPY, &plan, addresses, Policy::for_nodes(2), 0);
        head.handle(0, HeadEvent::Begin);
        head
    }

    /// Has n1 say that a call on its disk has made no progress for so many seconds. Returns whether
    /// that excuses it.
    fn is_excused(head: &mut Head, second: u64, silent_s: u64) -> bool {
        let call = PendingCall {
            operation: DiskCall::Write,
            path: "x".to_owned(),
            silent_ns: silent_s * SECOND_NS,
            allowance_ns: 0,
        };
        let report = Report { pending: Some(call), ..Report::default() };
        let heartbeat = FromAgent::Heartbeat(vec![(COPY, report)]);
        head.handle(second * SECOND_NS, HeadEvent::From(NodeId(1), heartbeat));
        head.is_held_up(NodeId(1))
    }

    #[test]
    fn hanging_again_and_again_excuses_a_node_for_a_bounded_time() {
        let mut head = new_head();
        // It hangs for 50 s, makes progress for a second, and hangs again.
        let excused = (1..=1000).filter(|&second| is_excused(&mut head, second, second % 51));
        let excused_s = excused.count();
        // 300 s, and a twentieth of the time until then.
        assert!((250..=325).contains(&excused_s), "{excused_s} s");
    }

    #[test]
    fn stalls_of_a_few_seconds_are_excused_for_as_long_as_a_copy_takes() {
        let mut head = new_head();
        for minute in (0..2 * 24 * 60).step_by(2) {
            let began = minute * 60;
            for silent_s in [5, 9] {
                let excused = is_excused(&mut head, began + silent_s, silent_s);
                assert!(excused, "after {minute} minutes");
            }
            is_excused(&mut head, began + 10, 0);
        }
    }
}

//! Finds disks that hang. Heartbeats continue while a call hangs in the kernel, so silence does not
//! show a hang; the agent reports calls without progress.

use super::node::Node;
use super::{Head, NodeState, SlowNodes};
use crate::message::ToAgent;
use crate::report::{PendingCall, Report};
use garland_core::plan::{HEAD, NodeId};

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
    /// or have to wait.
    pub(super) fn is_held_up(&self, id: NodeId) -> bool {
        self.hangs_in(id).is_some_and(PendingCall::holds_up)
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

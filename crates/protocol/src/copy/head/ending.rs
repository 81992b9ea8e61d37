//! The end of a copy on the agents: all close it and release its memory.

use garland_core::plan::NodeId;

use super::liveness::{Liveness, silence};
use super::{Head, NodeOutcome, NodeState, Verdict};
use crate::message::ToAgent;

/// Silence in nanoseconds after which an agent is considered to hang while it closes a copy that is
/// over; heartbeats arrive every 100 ms. Before a further attempt, agents may be silent for
/// [`Policy::dead_after_ns`](super::Policy::dead_after_ns).
const QUIET_NS: u64 = 800_000_000;

/// Timeout in nanoseconds for agents to close the copy.
const CLOSING_NS: u64 = 5_000_000_000;

/// Timeout in nanoseconds for agents to close the copy after an interrupt.
const INTERRUPTED_NS: u64 = 500_000_000;

impl Head {
    /// Orders all agents to close the copy. From now on, the silence of an agent counts only if the
    /// agent has the copy open and was responsive.
    pub(super) fn close(&mut self, now: u64) {
        let quiet_ns = if self.is_over() { QUIET_NS } else { self.policy.dead_after_ns };
        self.liveness = Liveness::new(quiet_ns, quiet_ns);
        for id in self.receivers() {
            self.send(id, ToAgent::Close(self.copy));
            if self.is_open(id) && !self.is_stuck(id) {
                self.liveness.watch(now, id);
            }
        }
        // The silent are known to be dead before the others are given up.
        let closing_ns = CLOSING_NS.max(quiet_ns.saturating_add(QUIET_NS));
        let patience = if self.interrupted { INTERRUPTED_NS } else { closing_ns };
        self.closing_until = Some(now.saturating_add(patience));
    }

    /// Whether all agents have closed the copy after [`HeadEvent::Close`](super::HeadEvent::Close),
    /// or the head no longer waits for them.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closing_until.is_some_and(|until| self.liveness.is_idle() || self.now >= until)
    }

    /// Returns the outcome of a node.
    #[must_use]
    pub fn outcome_of(&self, id: NodeId) -> NodeOutcome {
        let node = &self.nodes[id.index()];
        let early = || Verdict::Failed("the copy ended before this node finished".to_owned());
        NodeOutcome {
            name: self.names[id.index()].clone(),
            verdict: self.verdict(id).unwrap_or_else(early),
            report: node.report.clone(),
            detached: node.detached,
            slow: node.slow,
            tried: node.tried,
            reopened: node.reopened,
            held_ns: node.held_ns,
            silent: self.is_stuck(id) || self.is_open(id),
            absence: node.absence.absence().clone(),
            absent: node.absent,
        }
    }

    /// Whether a node is dead or hangs, so that the head does not wait for it.
    fn is_stuck(&self, id: NodeId) -> bool {
        let is_dead = matches!(self.nodes[id.index()].state, NodeState::Dead(_));
        is_dead || self.hangs_in(id).is_some() || self.nodes[id.index()].unresponsive
    }

    /// Whether a node has closed the copy.
    #[must_use]
    pub fn has_closed(&self, id: NodeId) -> bool {
        self.nodes[id.index()].closed
    }

    /// Fails the nodes that have not closed the copy, so that it cannot begin again on them.
    pub(super) fn fail_open(&mut self) {
        for id in self.receivers().filter(|id| self.is_open(*id)).collect::<Vec<_>>() {
            let state = if self.liveness.watches(id) || self.hangs_in(id).is_some() {
                NodeState::Failed("its agent did not release its memory".to_owned())
            } else {
                NodeState::Dead(silence(self.policy.dead_after_ns))
            };
            self.take_out(id, state);
            self.nodes[id.index()].unresponsive = true;
        }
    }

    /// Whether a node has begun the copy, has not closed it, and its channel is open.
    fn is_open(&self, id: NodeId) -> bool {
        let node = &self.nodes[id.index()];
        node.begun && !node.closed && !node.lost
    }
}

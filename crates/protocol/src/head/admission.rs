//! The admission of a copy to agents whose memory other copies use.
//!
//! If an agent is busy, the copy begins again under a new identity, and queues for memory first.
//! Agents are asked one after another, in the order of their public keys, which is the same for all
//! heads; each answer is awaited before the next request. A head that waits for an agent has
//! reserved memory only of agents that come earlier in this order, so heads cannot deadlock.

use std::collections::BTreeSet;

use crate::channel::PublicKey;
use garland_core::plan::NodeId;

/// The agents that are busy, and those that are still to be asked.
#[derive(Debug, Default)]
pub(super) struct Admission {
    /// Busy agents, in the order of the plan.
    busy: BTreeSet<NodeId>,
    /// The agents to ask, the next one last; `None` if the copy does not queue.
    left: Option<Vec<NodeId>>,
    /// Whether the next agent has been asked.
    asked: bool,
    /// When the present wait began, in monotonic nanoseconds; `None` if no agent was busy.
    since: Option<u64>,
    /// The beginning and end of the last wait, in monotonic nanoseconds.
    waited: Option<(u64, u64)>,
}

/// The next step of a copy that queues for memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Request memory of this agent.
    Ask(NodeId),
    /// All agents have granted memory.
    Through,
}

impl Admission {
    /// Notes that an agent is busy. Returns whether it is the first one; the copy then has to begin
    /// again.
    pub(super) fn refuse(&mut self, now: u64, id: NodeId) -> bool {
        let is_first = self.since.is_none();
        self.busy.insert(id);
        self.since.get_or_insert(now);
        is_first
    }

    /// Queues for memory of these agents.
    pub(super) fn queue(&mut self, mut agents: Vec<(PublicKey, NodeId)>) {
        agents.sort_by(|one, two| two.cmp(one));
        (self.left, self.asked) = (Some(agents.into_iter().map(|(_, id)| id).collect()), false);
    }

    /// Stops waiting for an agent, which has granted memory or is dead.
    pub(super) fn settle(&mut self, id: NodeId) {
        self.busy.remove(&id);
        if let Some(left) = &mut self.left {
            self.asked &= left.last() != Some(&id);
            left.retain(|&other| other != id);
        }
    }

    /// Returns the next step; `None` while an answer is awaited, or if the copy does not queue.
    pub(super) fn step(&mut self, now: u64) -> Option<Step> {
        let Some(&id) = self.left.as_ref()?.last() else {
            let waited = self.since.map(|since| (since, now));
            *self = Self { waited, ..Self::default() };
            return Some(Step::Through);
        };
        (!std::mem::replace(&mut self.asked, true)).then_some(Step::Ask(id))
    }

    /// Returns the beginning and end of the last wait, if there was one.
    pub(super) fn waited(&self) -> Option<(u64, u64)> {
        self.waited
    }

    /// Returns the agents that the copy waits for, in the order of the plan: the busy agents that
    /// have not granted memory yet, or, if there are none, the agent that was asked last.
    pub(super) fn waited_for(&self) -> Vec<NodeId> {
        let left = self.left.iter().filter(|_| self.busy.is_empty());
        self.busy.iter().chain(left.filter_map(|left| left.last())).copied().collect()
    }
}

//! The admission of a copy to agents whose memory other copies use.
//!
//! If an agent is busy, the copy begins again under a new identity, and queues for memory first.
//! Agents are asked one after another, in the order of their public keys, which is the same for all
//! heads; each answer is awaited before the next request. A head that waits for an agent has
//! reserved memory only of agents that come earlier in this order, so heads cannot deadlock.
//!
//! An agent may say for ever that it has no memory, or not say anything. A copy that waits for it
//! keeps what others have granted for a minute at a time only. It goes on without one that lets it
//! wait again and again while others have granted memory, and without one that grants some and has
//! none then. As long as no agent grants any, the copy waits.

use std::collections::{BTreeMap, BTreeSet};

use garland_core::plan::NodeId;

use crate::wire::PublicKey;

/// How long a copy that waits for an agent keeps the memory that others have granted, in
/// nanoseconds. Then it gives that back, and queues again behind those that wait there.
const GRANTED_MAX_NS: u64 = 60_000_000_000;

/// How long an agent is waited for in nanoseconds if no other one has granted memory. Then the
/// others are asked first.
const UNGRANTED_MAX_NS: u64 = 600_000_000_000;

/// How many times a copy gives back what others have granted because of one agent.
const GIVEN_BACK_MAX: u32 = 10;

/// The maximum number of times that a copy begins again because an agent is busy.
const BEGUN_AGAIN_MAX: u32 = 3;

/// The agents that are busy, and those that are still to be asked.
#[derive(Debug, Default)]
pub(super) struct Admission {
    /// Busy agents, in the order of the plan.
    busy: BTreeSet<NodeId>,
    /// The agents to ask, the next one last; `None` if the copy does not queue.
    left: Option<Vec<NodeId>>,
    /// When the next agent was asked, in monotonic nanoseconds; `None` if it was not yet.
    asked: Option<u64>,
    /// Whether agents have granted memory since the copy began to queue.
    is_granted: bool,
    /// The number of times that the copy began again because an agent was busy.
    begun_again: u32,
    /// The agents that were waited for in vain, and how many times.
    in_vain: BTreeMap<NodeId, u32>,
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
    /// Give back the memory that agents have granted, and queue again.
    GiveBack,
    /// Go on without this agent, for which others with memory waited too often.
    GoOnWithout(NodeId),
    /// All agents have granted memory.
    Through,
}

/// What follows from an agent's saying that it is busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Consequence {
    /// The copy has to begin again.
    BeginAgain,
    /// Nothing: the copy is about to begin again, or waits for memory.
    Nothing,
    /// The copy goes on without the node: it has begun again too often.
    GoOnWithout,
}

impl Admission {
    /// Notes that an agent is busy.
    pub(super) fn refuse(&mut self, now: u64, id: NodeId) -> Consequence {
        let is_first = self.since.is_none();
        if is_first && self.begun_again == BEGUN_AGAIN_MAX {
            return Consequence::GoOnWithout;
        }
        self.busy.insert(id);
        self.since.get_or_insert(now);
        if !is_first {
            return Consequence::Nothing;
        }
        self.begun_again += 1;
        Consequence::BeginAgain
    }

    /// Queues for memory of these agents.
    pub(super) fn queue(&mut self, mut agents: Vec<(PublicKey, NodeId)>) {
        // Those that were waited for in vain are asked last. Two heads may then wait for each other
        // for as long as one of them keeps what it has.
        let is_last = |(_, id): &(PublicKey, NodeId)| self.in_vain.contains_key(id);
        agents.sort_by(|one, two| (is_last(two), two).cmp(&(is_last(one), one)));
        self.left = Some(agents.into_iter().map(|(_, id)| id).collect());
        self.asked = None;
        self.is_granted = false;
    }

    /// Notes that an agent has granted memory.
    pub(super) fn grant(&mut self, id: NodeId) {
        self.is_granted |= self.left.is_some();
        self.settle(id);
    }

    /// Stops waiting for an agent, which has granted memory or is dead.
    pub(super) fn settle(&mut self, id: NodeId) {
        self.busy.remove(&id);
        if let Some(left) = &mut self.left {
            self.asked = self.asked.filter(|_| left.last() != Some(&id));
            left.retain(|&other| other != id);
        }
    }

    /// Returns the next step; `None` while an answer is awaited, or if the copy does not queue.
    pub(super) fn step(&mut self, now: u64) -> Option<Step> {
        let Some(&id) = self.left.as_ref()?.last() else {
            let waited = self.since.map(|since| (since, now));
            *self = Self { waited, begun_again: self.begun_again, ..Self::default() };
            return Some(Step::Through);
        };
        if self.due().is_some_and(|due| now >= due) {
            let times = self.in_vain.entry(id).or_default();
            *times += 1;
            if self.is_granted && *times > GIVEN_BACK_MAX {
                return Some(Step::GoOnWithout(id));
            }
            // Nothing more until it queues again.
            self.left = None;
            return Some(Step::GiveBack);
        }
        self.asked.replace(self.asked.unwrap_or(now)).is_none().then_some(Step::Ask(id))
    }

    /// Returns the time at which the copy gives back what agents have granted, or asks another one
    /// first; `None` if it does not queue, or only for memory of one agent.
    pub(super) fn due(&self) -> Option<u64> {
        let left = self.left.as_ref().filter(|left| self.is_granted || left.len() > 1)?;
        let asked = self.asked.filter(|_| !left.is_empty())?;
        let longest_ns = if self.is_granted { GRANTED_MAX_NS } else { UNGRANTED_MAX_NS };
        Some(asked.saturating_add(longest_ns))
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

//! The phases of a copy.

use garland_core::plan::NodeId;

/// The times of a copy's phases, in monotonic nanoseconds. If a phase never ended, its time is that
/// of the next phase that ended.
#[derive(Clone, Copy, Debug)]
pub struct Moments {
    /// The beginning and end of the wait for agents that were busy with other copies, if there was
    /// one.
    pub waited: Option<(u64, u64)>,
    /// The time when every destination was open, or its node had failed.
    pub ready: u64,
    /// The time when the first block had reached every node.
    pub first: u64,
    /// The time when the head had sent the last block.
    pub sent: u64,
    /// The time when every node had every block.
    pub held: u64,
    /// The time when every node's file had its final name.
    pub committed: u64,
    /// The time when every agent had closed the copy.
    pub closed: u64,
}

/// The stages that a node reaches in the course of a copy.
#[derive(Clone, Copy, Debug)]
pub(super) enum Milestone {
    /// The node's destination is open.
    Ready,
    /// The node has the first block.
    First,
    /// The node has every block, or, if it is a source, the head has all its blocks.
    Held,
    /// The node has reported that it has every block, and the blocks' digest.
    Complete,
    /// The node's part is complete under temporary names.
    Prepared,
    /// The node's file has its final name, or the node has failed.
    Over,
}

const COUNT: usize = Milestone::Over as usize + 1;

/// The milestones that the nodes have reached, and when all had reached each.
#[derive(Debug)]
pub(super) struct Milestones {
    /// For each node, whether it has reached each milestone; the head has reached all.
    reached: Vec<[bool; COUNT]>,
    /// For each milestone, the number of nodes that have not reached it.
    missing: [usize; COUNT],
    /// For each milestone, the time at which all nodes had reached it; `None` before.
    times: [Option<u64>; COUNT],
    sent: Option<u64>,
}

impl Milestones {
    /// Creates the milestones of a copy to `receivers` nodes.
    pub(super) fn new(receivers: usize) -> Self {
        let mut reached = vec![[false; COUNT]; receivers + 1];
        reached[0] = [true; COUNT];
        Self { reached, missing: [receivers; COUNT], times: [None; COUNT], sent: None }
    }

    /// Notes that a node has reached a milestone. `Over` includes all others, so that no phase
    /// waits for a failed node.
    pub(super) fn reach(&mut self, now: u64, id: NodeId, milestone: Milestone) {
        let Some(reached) = self.reached.get_mut(id.index()) else { return };
        let at = milestone as usize;
        let first = if matches!(milestone, Milestone::Over) { 0 } else { at };
        for at in (first..=at).filter(|&at| !std::mem::replace(&mut reached[at], true)) {
            self.missing[at] -= 1;
            if self.missing[at] == 0 {
                self.times[at].get_or_insert(now);
            }
        }
    }

    /// Notes that a failed or new node joins. The phases from `Held` on are in progress again.
    pub(super) fn join(&mut self, id: NodeId) {
        self.reached.resize(self.reached.len().max(id.index() + 1), [true; COUNT]);
        for (reached, missing) in self.reached[id.index()].iter_mut().zip(&mut self.missing) {
            *missing += usize::from(std::mem::take(reached));
        }
        self.times[Milestone::Held as usize..].fill(None);
    }

    /// Notes that the last block was sent.
    pub(super) fn sent(&mut self, now: u64) {
        self.sent = Some(now);
    }

    /// Whether all nodes have reached a milestone.
    pub(super) fn all_reached(&self, milestone: Milestone) -> bool {
        self.missing[milestone as usize] == 0
    }

    /// Whether all nodes were ready at some time; nodes that join later do not change this.
    pub(super) fn is_ready(&self) -> bool {
        self.times[Milestone::Ready as usize].is_some()
    }

    /// Returns the times of all phases of a copy that was closed at `closed`.
    pub(super) fn moments(&self, waited: Option<(u64, u64)>, closed: u64) -> Moments {
        let [ready, first, held, _, _, over] = self.times;
        let committed = over.unwrap_or(closed).min(closed);
        let held = held.unwrap_or(committed).min(committed);
        let sent = self.sent.unwrap_or(held).min(held);
        let first = first.unwrap_or(sent).min(sent);
        let ready = ready.unwrap_or(first).min(first);
        Moments { waited, ready, first, sent, held, committed, closed }
    }
}

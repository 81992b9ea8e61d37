//! How patient the head is, and how far it may go by itself.

/// What becomes of nodes that hold the others up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowNodes {
    /// They are fed beside the others.
    Detach,
    /// The others wait for them.
    Wait,
    /// They fail.
    Fail,
}

/// What the head may decide by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Nanoseconds without a word after which a node counts as dead.
    pub silence_ns: u64,
    /// How many nodes may be told to drop what their disk can't take.
    pub detached_max: usize,
    /// What becomes of nodes that hold the others up.
    pub slow: SlowNodes,
    /// A node is slow that takes less than so many thousandths of what the others take without it.
    pub slow_below: u16,
    /// How many nodes may be taken off the others' way because their links or machines are slow.
    pub slow_max: usize,
    /// Every node has a part that no other has: none commits before all can, and with one of them all
    /// are lost.
    pub together: bool,
    /// All nodes prepare before any commits, and what their parts replace is kept until all have
    /// committed. Only where `together`.
    pub prepare: bool,
    /// Nanoseconds without progress of a call on its disk after which a node fails.
    pub stuck_after_ns: u64,
}

/// As long a call may be without progress where nobody says otherwise.
const STUCK_AFTER_NS: u64 = 60_000_000_000;

impl Policy {
    /// What suits `receivers` nodes on one site: dead after 1.2 s of silence, so that splicing ends
    /// within 2 s; one node in twenty, and at least one, may be detached.
    #[must_use]
    pub fn for_nodes(receivers: usize) -> Self {
        Self {
            silence_ns: 1_200_000_000,
            detached_max: (receivers / 20).max(1),
            slow: SlowNodes::Detach,
            slow_below: 500,
            slow_max: (receivers / 4).clamp(1, 32),
            together: false,
            prepare: false,
            stuck_after_ns: STUCK_AFTER_NS,
        }
    }

    /// The same, with other ways for nodes that take less than `slow_below` thousandths of what the
    /// others take.
    #[must_use]
    pub fn with_slow(self, slow: SlowNodes, slow_below: u16) -> Self {
        let detached_max = if slow == SlowNodes::Wait { 0 } else { self.detached_max };
        Self { slow, slow_below, detached_max, ..self }
    }

    /// The same, with another time after which a node fails whose disk doesn't answer.
    #[must_use]
    pub fn with_stuck_after(self, stuck_after_ns: u64) -> Self {
        Self { stuck_after_ns, ..self }
    }

    /// The same for nodes of which none has a substitute. No disk holds anyone else up there.
    #[must_use]
    pub fn together(self) -> Self {
        Self { detached_max: 0, together: true, ..self }
    }

    /// The same for servers that get a stripe each: prepare, commit, settle.
    #[must_use]
    pub fn striped(self) -> Self {
        Self { prepare: true, ..self.together() }
    }
}

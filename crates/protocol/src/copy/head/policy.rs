//! The policy of the head: timeouts, and the treatment of slow nodes.

use crate::copy::absence::Absence;

/// The treatment of nodes that slow the others down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowNodes {
    /// Slow nodes are fed on the side.
    Detach,
    /// The other nodes wait for slow nodes.
    Wait,
    /// Slow nodes fail.
    Fail,
}

/// The timeouts of the head, its treatment of slow nodes, and how nodes commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Nanoseconds of silence after which a node is suspected: the others are fed past it until
    /// its next message.
    pub suspect_after_ns: u64,
    /// Nanoseconds of silence after which a node counts as dead.
    pub dead_after_ns: u64,
    /// The interval in nanoseconds at which nodes send heartbeats.
    pub heartbeat_ns: u64,
    /// The maximum number of nodes that may be ordered to drop blocks that their disks are too slow
    /// for.
    pub detached_max: usize,
    /// The treatment of nodes that slow the others down.
    pub slow: SlowNodes,
    /// A node is slow if its rate is below this share of the others' rate, in thousandths.
    pub slow_below: u16,
    /// The maximum number of nodes that may be taken out of the chain for slow links or machines.
    pub slow_max: usize,
    /// Whether every node gets its own part: no node commits before all can, and if one fails, all
    /// fail.
    pub together: bool,
    /// Whether all nodes prepare before any commits, and keep the files that they replace until all
    /// have committed. Requires `together`.
    pub prepare: bool,
    /// The time in nanoseconds after which a node fails if a call on its disk makes no progress.
    pub stuck_after_ns: u64,
    /// The time in nanoseconds after which the nodes of a copy are given up if no byte moves,
    /// although they say that they live; `None` if the copy waits.
    pub idle_after_ns: Option<u64>,
    /// Whether what reads the bytes on nodes may pause for as long as it likes: a command, or the
    /// reader of a standard output. Then a node that takes nothing is not moved.
    pub readers_may_pause: bool,
    /// Whether nodes write the blocks in their order, as those of a tree: then a lane may wait for
    /// the others.
    pub in_order: bool,
    /// The memory that the list of the parts of a tree which one node reports as absent may take,
    /// in bytes.
    pub absence_max: usize,
}

/// The default of [`Policy::dead_after_ns`].
const DEAD_AFTER_NS: u64 = 5_000_000_000;

/// The interval in nanoseconds between heartbeats of at most 1,000 nodes, and of an agent whose
/// head says nothing else; that of more nodes grows with their number, so that the head gets at
/// most ten thousand heartbeats a second.
pub const HEARTBEAT_NS: u64 = 100_000_000;
const MANY: usize = 1000;

/// The longest interval between heartbeats: three of them are due before a node is suspected.
const HEARTBEAT_MAX_NS: u64 = 400_000_000;

/// The default of [`Policy::stuck_after_ns`].
const STUCK_AFTER_NS: u64 = 60_000_000_000;

impl Policy {
    /// Returns the policy for `receivers` nodes on one site. A node is suspected after 1.2 s of
    /// silence, so that repairing the chain ends within 2 s, and dead after 5 s; one node in
    /// twenty, and at least one, may be ordered to drop blocks; one node in four, at least one and
    /// at most 32, may be taken out of the chain.
    #[must_use]
    pub fn for_nodes(receivers: usize) -> Self {
        Self {
            suspect_after_ns: 1_200_000_000,
            dead_after_ns: DEAD_AFTER_NS,
            heartbeat_ns: (HEARTBEAT_NS * receivers.div_ceil(MANY) as u64)
                .clamp(HEARTBEAT_NS, HEARTBEAT_MAX_NS),
            detached_max: (receivers / 20).max(1),
            slow: SlowNodes::Detach,
            slow_below: 500,
            slow_max: (receivers / 4).clamp(1, 32),
            together: false,
            prepare: false,
            stuck_after_ns: STUCK_AFTER_NS,
            idle_after_ns: None,
            readers_may_pause: false,
            in_order: false,
            absence_max: Absence::share_of(receivers),
        }
    }

    /// Changes the treatment of nodes below the share `slow_below` (in thousandths) of the others'
    /// rate. With `SlowNodes::Wait`, no node may be ordered to drop blocks.
    #[must_use]
    pub fn with_slow(self, slow: SlowNodes, slow_below: u16) -> Self {
        let detached_max = if slow == SlowNodes::Wait { 0 } else { self.detached_max };
        Self { slow, slow_below, detached_max, ..self }
    }

    /// Changes [`dead_after_ns`](Self::dead_after_ns).
    #[must_use]
    pub fn with_dead_after(self, dead_after_ns: u64) -> Self {
        Self { dead_after_ns, ..self }
    }

    /// Changes [`stuck_after_ns`](Self::stuck_after_ns).
    #[must_use]
    pub fn with_stuck_after(self, stuck_after_ns: u64) -> Self {
        Self { stuck_after_ns, ..self }
    }

    /// Sets that this copy is one of a command that copies from `nodes` nodes in separate copies:
    /// their reports share the memory.
    #[must_use]
    pub fn beside(self, nodes: usize) -> Self {
        Self { absence_max: Absence::share_of(nodes), ..self }
    }

    /// Changes [`readers_may_pause`](Self::readers_may_pause).
    #[must_use]
    pub fn with_readers_that_may_pause(self, readers_may_pause: bool) -> Self {
        Self { readers_may_pause, ..self }
    }

    /// Changes [`in_order`](Self::in_order).
    #[must_use]
    pub fn with_order(self, in_order: bool) -> Self {
        Self { in_order, ..self }
    }

    /// Changes [`idle_after_ns`](Self::idle_after_ns).
    #[must_use]
    pub fn with_idle_after(self, idle_after_ns: u64) -> Self {
        Self { idle_after_ns: Some(idle_after_ns), ..self }
    }

    /// Sets that every node gets its own part, so that no disk slows another node down.
    #[must_use]
    pub fn together(self) -> Self {
        Self { detached_max: 0, together: true, ..self }
    }

    /// Sets that every node gets a stripe: nodes prepare, commit, and then settle.
    #[must_use]
    pub fn striped(self) -> Self {
        Self { prepare: true, ..self.together() }
    }
}

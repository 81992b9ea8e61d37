//! How long next to nothing has moved in a copy: a value without the head.

/// How far a copy was when something last moved.
#[derive(Debug, Default)]
pub(super) struct Idleness {
    moved: Moved,
    /// When something last moved, in monotonic nanoseconds.
    since_ns: u64,
}

/// The progress of a copy. It is bounded, whatever nodes report and however often they reopen a
/// link.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Moved {
    /// How far the nodes' states are, and how many nodes have all blocks, added up.
    pub(super) ranks: u64,
    /// The bytes of the blocks that nodes have, as far as the copy has so many.
    pub(super) held: u64,
    /// The bytes that kernels of nodes have acknowledged to this machine.
    pub(super) sent: u64,
    /// The bytes of the blocks that have come to this machine.
    pub(super) received: u64,
}

impl Moved {
    /// Returns the most of both.
    fn max(self, other: Self) -> Self {
        Self {
            ranks: self.ranks.max(other.ranks),
            held: self.held.max(other.held),
            sent: self.sent.max(other.sent),
            received: self.received.max(other.received),
        }
    }

    /// Whether this is further than `before` by a state, or by `least` bytes.
    fn is_beyond(self, before: Self, least: u64) -> bool {
        let has_grown = |now: u64, then: u64| now > then && now - then >= least;
        self.ranks > before.ranks
            || has_grown(self.held, before.held)
            || has_grown(self.sent, before.sent)
            || has_grown(self.received, before.received)
    }
}

impl Idleness {
    /// Begins now.
    pub(super) fn new(now: u64) -> Self {
        Self { moved: Moved::default(), since_ns: now }
    }

    /// Notes how far the copy is. Fewer than `least` bytes more do not count yet.
    pub(super) fn note(&mut self, now: u64, moved: Moved, least: u64) {
        let most = moved.max(self.moved);
        if most.is_beyond(self.moved, least) {
            *self = Self { moved: most, since_ns: now };
        }
    }

    /// Returns for how long nothing has moved, in nanoseconds.
    pub(super) fn lasts_ns(&self, now: u64) -> u64 {
        now.saturating_sub(self.since_ns)
    }

    /// Excludes the last `ns` nanoseconds, in which this machine was suspended.
    pub(super) fn excuse(&mut self, ns: u64) {
        self.since_ns = self.since_ns.saturating_add(ns);
    }
}

//! How patient the head is, and how far it may go by itself.

/// What the head may decide by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Nanoseconds without a word after which a node counts as dead.
    pub silence_ns: u64,
    /// How many nodes may be told to drop what their disk can't take.
    pub detached_max: usize,
}

impl Policy {
    /// What suits `receivers` nodes on one site: dead after 1.2 s of silence, so that splicing ends
    /// within 2 s; one node in twenty, and at least one, may be detached.
    #[must_use]
    pub fn for_nodes(receivers: usize) -> Self {
        Self { silence_ns: 1_200_000_000, detached_max: (receivers / 20).max(1) }
    }
}

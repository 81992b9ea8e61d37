//! How patient the head is, and how far it may go by itself.

/// What the head may decide by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Nanoseconds without a word after which a node counts as dead.
    pub silence_ns: u64,
    /// How many nodes may be told to drop what their disk can't take.
    pub detached_max: usize,
    /// Every node has a part that no other has: none commits before all can, and with one of them all
    /// are lost.
    pub together: bool,
}

impl Policy {
    /// What suits `receivers` nodes on one site: dead after 1.2 s of silence, so that splicing ends
    /// within 2 s; one node in twenty, and at least one, may be detached.
    #[must_use]
    pub fn for_nodes(receivers: usize) -> Self {
        Self { silence_ns: 1_200_000_000, detached_max: (receivers / 20).max(1), together: false }
    }

    /// The same for nodes of which none has a substitute. No disk holds anyone else up there.
    #[must_use]
    pub fn together(self) -> Self {
        Self { detached_max: 0, together: true, ..self }
    }
}

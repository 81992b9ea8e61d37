//! The times at which a lane began and ended.

/// The progress of a lane, for moving it to another rail.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Pace {
    /// When the first block had arrived at all nodes.
    began: Option<u64>,
    /// When all blocks had arrived at all nodes.
    over: Option<u64>,
    /// Whether the lane was moved to another rail.
    moved: bool,
}

impl Pace {
    /// Notes that `come` of `all` blocks have arrived at all nodes.
    pub(super) fn note(&mut self, now: u64, come: u64, all: u64) {
        if come > 0 {
            self.began.get_or_insert(now);
        }
        if come == all {
            self.over.get_or_insert(now);
        }
    }

    /// Returns the nanoseconds that the lane took on its own rail; `None` before its end, or if it
    /// was moved.
    pub(super) fn span(&self) -> Option<u64> {
        let span = self.over?.saturating_sub(self.began?).max(1);
        (!self.moved).then_some(span)
    }

    /// Returns when the lane began, if it is in progress on its own rail.
    pub(super) fn running_since(&self) -> Option<u64> {
        self.began.filter(|_| self.over.is_none() && !self.moved)
    }

    /// Notes that the lane was moved to another rail.
    pub(super) fn set_moved(&mut self) {
        self.moved = true;
    }
}

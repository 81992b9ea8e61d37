//! The entries of a tree that are unchanged on all nodes.

use garland_core::tree::RecordSet;

/// Collects the records that nodes report as unchanged, and keeps those that all of them report.
pub(super) struct Unchanged {
    all: RecordSet,
    /// The number of bytes of each node's bitmap that were received.
    received: Vec<usize>,
    /// Whether a node has reported its whole bitmap.
    any: bool,
}

impl Unchanged {
    /// Creates the collection for a tree of `records` records on `count` nodes.
    pub fn new(records: u32, count: usize) -> Self {
        Self { all: RecordSet::full(records), received: vec![0; count], any: false }
    }

    /// Adds a piece of a node's bitmap, and whether more follow.
    pub fn take(&mut self, node: usize, piece: &[u8], more: bool) {
        let received = &mut self.received[node];
        self.all.intersect(*received, piece);
        *received += piece.len();
        if !more {
            self.all.clear_from(*received);
            self.any = true;
        }
    }

    /// Records that a node reports nothing as unchanged.
    pub fn fail(&mut self) {
        self.all.clear_from(0);
    }

    /// Returns whether the nodes so far have no unchanged entry in common.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Returns the records that are unchanged on all nodes; `None` if there are none.
    pub fn into_set(self) -> Option<RecordSet> {
        Some(self.all).filter(|all| self.any && !all.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bitmap_that_ends_early_says_nothing_of_the_rest() {
        let mut unchanged = Unchanged::new(20, 2);
        unchanged.take(0, &[255], true);
        unchanged.take(1, &[0b101, 255, 255], false);
        assert!(!unchanged.is_empty());
        unchanged.take(0, &[1], false);
        let set = unchanged.into_set().unwrap();
        assert!((0..20).filter(|number| set.contains(*number)).eq([0, 2, 8]));
        let mut unchanged = Unchanged::new(20, 2);
        unchanged.take(0, &[255, 255, 255], false);
        unchanged.fail();
        assert!(unchanged.is_empty() && unchanged.into_set().is_none());
        assert!(Unchanged::new(20, 1).into_set().is_none(), "no node has reported anything");
    }
}

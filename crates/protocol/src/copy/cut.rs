//! Operations: parts of a file, of which only a limited number are copied at the same time, as in
//! parallel file systems of 2007. An operation ends when the servers have acknowledged each of its
//! blocks as written. Only comparisons with these systems need operations; without them the whole
//! copy is one window.

use std::collections::BTreeMap;

use garland_core::index_set::IndexSet;
use garland_core::plan::Layout;

/// The division of a copy into operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The size of an operation in bytes, at least 1.
    pub size: u64,
    /// The number of operations that may be in progress in addition to the oldest one with
    /// unacknowledged blocks.
    pub overlap: u64,
}

impl Cut {
    /// Returns the number of the operation in which block `index` begins, from 0.
    #[must_use]
    pub fn operation(&self, layout: Layout, index: u64) -> u64 {
        layout.offset(index) / self.size.max(1)
    }
}

/// The operations of a copy that have not ended, and the blocks that were acknowledged.
#[derive(Clone, Debug)]
pub struct Operations {
    cut: Cut,
    layout: Layout,
    written: IndexSet,
    /// For each operation that has not ended, the number of blocks that are not acknowledged.
    open: BTreeMap<u64, u64>,
}

impl Operations {
    /// Creates the operations of a copy of `layout`; none has begun.
    #[must_use]
    pub fn new(cut: Cut, layout: Layout) -> Self {
        let cut = Cut { size: cut.size.max(1), ..cut };
        let mut open = BTreeMap::new();
        for index in 0..layout.blocks() {
            *open.entry(cut.operation(layout, index)).or_default() += 1;
        }
        Self { cut, layout, written: IndexSet::new(layout.blocks()), open }
    }

    /// Returns the index of the first block that must not be sent yet.
    #[must_use]
    pub fn bound(&self) -> u64 {
        let Some(oldest) = self.open.keys().next() else { return u64::MAX };
        let next = oldest.saturating_add(self.cut.overlap).saturating_add(1);
        next.saturating_mul(self.cut.size).div_ceil(u64::from(self.layout.block_size))
    }

    /// Notes that a server has written block `index`. Returns the new bound if that ended an
    /// operation.
    pub fn written(&mut self, index: u64) -> Option<u64> {
        if !self.written.insert(index) {
            return None;
        }
        let own = self.cut.operation(self.layout, index);
        let left = self.open.get_mut(&own)?;
        *left -= 1;
        if *left > 0 {
            return None;
        }
        self.open.remove(&own);
        Some(self.bound())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operations(overlap: u64) -> Operations {
        let layout = Layout::new(6 * 4096 - 1, 4096).unwrap();
        Operations::new(Cut { size: 10_000, overlap }, layout)
    }

    #[test]
    fn the_next_begins_when_the_last_is_acknowledged() {
        let mut cut = operations(0);
        // Blocks 0 to 2 begin in the first operation, 3 and 4 in the second, 5 in the third.
        assert_eq!(cut.bound(), 3);
        assert_eq!([2, 0, 2].map(|index| cut.written(index)), [None; 3]);
        assert_eq!(cut.written(99), None, "there is no such block");
        assert_eq!(cut.written(1), Some(5));
        assert_eq!([5, 4].map(|index| cut.written(index)), [Some(5), None]);
        assert_eq!(cut.written(3), Some(u64::MAX));
    }

    #[test]
    fn some_overlap() {
        assert_eq!(operations(1).bound(), 5);
        assert!(operations(9).bound() > 5);
        let nothing = Operations::new(Cut { size: 1, overlap: 0 }, Layout::fitting(0));
        assert_eq!(nothing.bound(), u64::MAX);
    }
}

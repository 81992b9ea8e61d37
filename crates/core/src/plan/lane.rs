//! A lane: a set of blocks of the source and the route they take.

use serde::{Deserialize, Serialize};

use super::Route;

/// A node of one copy, by its place in the plan. 0 is the head.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
pub struct NodeId(pub u32);

/// The node that reads the source.
pub const HEAD: NodeId = NodeId(0);

impl NodeId {
    /// The place as an index into the plan's nodes.
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The blocks of one lane: `run` of them in a row from `first` on, from `first + step` on, ... below
/// `end`. With K lanes, lane k carries every K-th run. A block's place in its lane is called its
/// ordinal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneBlocks {
    /// The first block's index.
    pub first: u64,
    /// How many blocks follow each other, at least 1.
    #[serde(default = "one")]
    pub run: u64,
    /// The distance from one run to the next, at least `run`.
    pub step: u64,
    /// No block of this lane has this index or a higher one.
    pub end: u64,
}

/// Plans that were saved before there were runs.
fn one() -> u64 {
    1
}

impl LaneBlocks {
    /// All of so many blocks.
    #[must_use]
    pub fn all(blocks: u64) -> Self {
        Self { first: 0, run: 1, step: 1, end: blocks }
    }

    /// Whether every number is one that blocks can be counted by.
    #[must_use]
    pub fn is_sound(&self, blocks: u64) -> bool {
        self.run > 0 && self.run <= self.step && self.end <= blocks
    }

    /// The number of blocks in this lane.
    #[must_use]
    pub fn len(&self) -> u64 {
        let all = self.end.saturating_sub(self.first);
        all / self.step * self.run + (all % self.step).min(self.run)
    }

    /// Whether the lane carries nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The index of the block at place `ordinal`.
    #[must_use]
    pub fn index(&self, ordinal: u64) -> u64 {
        self.first + ordinal / self.run * self.step + ordinal % self.run
    }

    /// The place of block `index`, if this lane carries it.
    #[must_use]
    pub fn ordinal(&self, index: u64) -> Option<u64> {
        let distance = index.checked_sub(self.first).filter(|_| index < self.end)?;
        let within = distance % self.step;
        (within < self.run).then(|| distance / self.step * self.run + within)
    }

    /// The blocks' indices, in their order.
    pub fn indices(self) -> impl Iterator<Item = u64> {
        (0..self.len()).map(move |ordinal| self.index(ordinal))
    }
}

/// A set of blocks and the route of hops they take, the head first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// Which blocks.
    pub blocks: LaneBlocks,
    /// Which of a node's addresses this lane uses.
    pub rail: u16,
    /// Who feeds whom, from where the bytes are on.
    pub route: Route,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_share_all_blocks_between_them() {
        let lanes = [0, 1, 2].map(|k| LaneBlocks { first: k, run: 1, step: 3, end: 10 });
        assert_eq!(lanes.each_ref().map(LaneBlocks::len), [4, 3, 3]);
        for index in 0..10 {
            let owners = lanes.iter().filter(|lane| lane.ordinal(index).is_some()).count();
            assert_eq!(owners, 1, "block {index}");
        }
        assert_eq!(lanes[1].ordinal(7), Some(2));
        assert_eq!(lanes[1].index(2), 7);
        assert_eq!(lanes[0].ordinal(12), None);
    }

    #[test]
    fn runs_stay_together() {
        let lanes = [0, 4, 8].map(|first| LaneBlocks { first, run: 4, step: 12, end: 18 });
        assert_eq!(lanes.each_ref().map(LaneBlocks::len), [8, 6, 4]);
        assert_eq!(lanes[1].indices().collect::<Vec<_>>(), [4, 5, 6, 7, 16, 17]);
        for lane in lanes {
            for (ordinal, index) in (0..).zip(lane.indices()) {
                assert_eq!(lane.ordinal(index), Some(ordinal));
            }
        }
        assert!(!LaneBlocks { first: 0, run: 2, step: 1, end: 1 }.is_sound(1));
    }
}

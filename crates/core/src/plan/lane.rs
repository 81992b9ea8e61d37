//! Lanes: sets of blocks of the source with their routes.

use serde::{Deserialize, Serialize};

use super::route::Route;

/// The blocks of a lane: runs of `run` blocks that begin at `first`, `first + step`, ..., below
/// `end`. With K lanes, lane k carries every K-th run. The ordinal of a block is its index within
/// its lane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneBlocks {
    /// The index of the lane's first block.
    pub first: u64,
    /// The length of a run in blocks, at least 1.
    #[serde(default = "one")]
    pub run: u64,
    /// The distance from the start of one run to the next, at least `run`.
    pub step: u64,
    /// The exclusive upper bound of the indices.
    pub end: u64,
}

/// The run length of saved plans that do not specify one.
fn one() -> u64 {
    1
}

impl LaneBlocks {
    /// Returns the blocks of a lane that carries all of a source's `blocks` blocks.
    pub fn all(blocks: u64) -> Self {
        Self { first: 0, run: 1, step: 1, end: blocks }
    }

    /// Returns whether the numbers describe a lane of a source with `blocks` blocks.
    pub fn is_sound(&self, blocks: u64) -> bool {
        self.run > 0 && self.run <= self.step && self.end <= blocks
    }

    /// Returns the number of blocks in this lane.
    pub fn len(&self) -> u64 {
        let all = self.end.saturating_sub(self.first);
        all / self.step * self.run + (all % self.step).min(self.run)
    }

    /// Returns whether the lane has no blocks.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the index of the block with this ordinal.
    pub fn index(&self, ordinal: u64) -> u64 {
        self.first + ordinal / self.run * self.step + ordinal % self.run
    }

    /// Returns the ordinal of block `index`; `None` if another lane carries it.
    pub fn ordinal(&self, index: u64) -> Option<u64> {
        let distance = index.checked_sub(self.first).filter(|_| index < self.end)?;
        let within = distance % self.step;
        (within < self.run).then(|| distance / self.step * self.run + within)
    }

    /// Iterates over the indices of the blocks in ascending order.
    pub fn indices(self) -> impl Iterator<Item = u64> {
        (0..self.len()).map(move |ordinal| self.index(ordinal))
    }
}

/// A set of blocks and their route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// The blocks that the lane carries.
    pub blocks: LaneBlocks,
    /// The index of the address that each node uses for this lane.
    pub rail: u16,
    /// The route, which begins at the node with the source.
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

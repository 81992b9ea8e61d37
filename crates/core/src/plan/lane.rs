//! A lane: a set of blocks of the source and the route they take.

use serde::{Deserialize, Serialize};

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

/// The blocks of one lane: `first`, `first + step`, ... below `end`. With K lanes, lane k carries
/// every K-th block. A block's place in its lane is called its ordinal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LaneBlocks {
    /// The first block's index.
    pub first: u64,
    /// The distance from one block to the next, at least 1.
    pub step: u64,
    /// No block of this lane has this index or a higher one.
    pub end: u64,
}

impl LaneBlocks {
    /// The number of blocks in this lane.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.end.saturating_sub(self.first).div_ceil(self.step)
    }

    /// Whether the lane carries nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The index of the block at place `ordinal`.
    #[must_use]
    pub fn index(&self, ordinal: u64) -> u64 {
        self.first + ordinal * self.step
    }

    /// The place of block `index`, if this lane carries it.
    #[must_use]
    pub fn ordinal(&self, index: u64) -> Option<u64> {
        let inside = (self.first..self.end).contains(&index);
        (inside && (index - self.first).is_multiple_of(self.step))
            .then(|| (index - self.first) / self.step)
    }
}

/// A set of blocks and the route of hops they take, the head first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lane {
    /// Which blocks.
    pub blocks: LaneBlocks,
    /// Which of a node's addresses this lane uses.
    pub rail: u16,
    /// The chain, beginning with the head.
    pub route: Vec<NodeId>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_share_all_blocks_between_them() {
        let lanes: Vec<_> = (0..3).map(|k| LaneBlocks { first: k, step: 3, end: 10 }).collect();
        assert_eq!(lanes.iter().map(LaneBlocks::len).collect::<Vec<_>>(), [4, 3, 3]);
        for index in 0..10 {
            let owners = lanes.iter().filter(|lane| lane.ordinal(index).is_some()).count();
            assert_eq!(owners, 1, "block {index}");
        }
        assert_eq!(lanes[1].ordinal(7), Some(2));
        assert_eq!(lanes[1].index(2), 7);
        assert_eq!(lanes[0].ordinal(12), None);
    }
}

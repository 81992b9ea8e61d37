//! The order in which the blocks of a file are visited: each once, sequential or shuffled.

use garland_protocol::measure::DiskPattern;

/// The order in which a file's blocks are visited.
#[derive(Clone, Copy, Debug)]
pub struct Walk {
    pattern: DiskPattern,
    block: u64,
    blocks: u64,
    seed: u64,
}

impl Walk {
    /// Creates a walk over all whole blocks of `block` bytes in the first `extent` bytes. `seed`
    /// selects the permutation.
    pub fn new(pattern: DiskPattern, block: u32, extent: u64, seed: u64) -> Self {
        let block = u64::from(block.max(1));
        Self { pattern, block, blocks: extent / block, seed }
    }

    /// Returns the offset of visit `at` in bytes, or `None` when all blocks were visited.
    pub fn offset(&self, at: u64) -> Option<u64> {
        (at < self.blocks).then(|| match self.pattern {
            DiskPattern::Sequential => self.block * at,
            DiskPattern::Random => self.block * self.shuffled(at),
        })
    }

    /// Returns the number of the block at position `at` of the permutation. Permutes the numbers
    /// below the next power of two, again until the result is in range. Both steps are invertible:
    /// multiplication by an odd number, and XOR of the high half into the low half.
    fn shuffled(&self, at: u64) -> u64 {
        let bits = self.blocks.next_power_of_two().ilog2();
        let mask = (1_u64 << bits) - 1;
        let half = (bits / 2).max(1);
        let mut place = at;
        loop {
            place = place.wrapping_add(self.seed) & mask;
            for odd in [0x9e37_79b9_7f4a_7c15_u64, 0xbf58_476d_1ce4_e5b9, 0x94d0_49bb_1331_11eb] {
                place = place.wrapping_mul(odd) & mask;
                place ^= place >> half;
            }
            if place < self.blocks {
                return place;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_sequential_walk_visits_blocks_in_order() {
        let walk = Walk::new(DiskPattern::Sequential, 10, 35, 1);
        assert_eq!([0, 1, 2, 3].map(|at| walk.offset(at)), [Some(0), Some(10), Some(20), None]);
    }

    #[test]
    fn shuffled_blocks_lie_apart() {
        let walk = Walk::new(DiskPattern::Random, 1, 100_000, 7);
        let near = (0..9_999)
            .filter(|&at| walk.offset(at).unwrap().abs_diff(walk.offset(at + 1).unwrap()) < 1_000);
        assert!(near.count() < 400, "two of a hundred by chance");
    }

    proptest! {
        #[test]
        fn each_block_is_visited_once(blocks in 1..2_000_u64, seed in any::<u64>()) {
            let walk = Walk::new(DiskPattern::Random, 4096, blocks * 4096 + 5, seed);
            let mut seen: Vec<u64> = (0..blocks).map(|at| walk.offset(at).unwrap()).collect();
            seen.sort_unstable();
            prop_assert!(seen.iter().enumerate().all(|(at, &offset)| offset == at as u64 * 4096));
            prop_assert_eq!(walk.offset(blocks), None);
        }
    }
}

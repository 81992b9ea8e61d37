//! How many threads of a copy work on a node beside those of its lanes.

/// The number of writers up to which they grow with the processors alone.
const WRITERS_OF_A_LANE: usize = 4;

/// The maximum number of writers of a copy. With 16 lanes, which hold a buffer each, they use up
/// the 24 buffers of a copy.
const WRITERS_MAX: usize = 8;

/// Returns the number of threads that open, hash and write blocks on a node with this number of
/// processors: one for each four of them, at most 4, or two for each lane if there are many. They
/// get no more than half of the processors.
#[must_use]
pub fn writer_count(processors: usize, lanes: usize) -> usize {
    let by_processors = (processors / 4).min(WRITERS_OF_A_LANE);
    let by_lanes = if lanes > 1 { 2 * lanes } else { 1 };
    let half = (processors / 2).max(1);
    by_processors.max(by_lanes).clamp(1, WRITERS_MAX.min(half))
}

/// Returns the number of threads that read, hash and seal the blocks of one lane on the node with
/// the source: two, but one where several lanes share few processors.
#[must_use]
pub fn readers_of_lane(processors: usize, lanes: usize) -> usize {
    if lanes == 1 || processors >= 4 * lanes { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_grow_with_processors_and_lanes() {
        let of_one_lane = [1, 2, 7, 8, 16, 64].map(|processors| writer_count(processors, 1));
        assert_eq!(of_one_lane, [1, 1, 1, 2, 4, 4]);
        let of_lanes = [1, 2, 4, 16].map(|lanes| writer_count(64, lanes));
        assert_eq!(of_lanes, [4, 4, 8, 8]);
        assert_eq!(writer_count(2, 16), 1, "no more than half of the processors");
        let readers = [(2, 1), (2, 2), (8, 2), (64, 16), (32, 16)];
        let readers = readers.map(|(processors, lanes)| readers_of_lane(processors, lanes));
        assert_eq!(readers, [2, 1, 2, 2, 1]);
    }
}

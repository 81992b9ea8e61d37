//! The turns of a driver's loop, which show when this process was suspended.

/// A turn that takes longer than this, in nanoseconds, means that the process was suspended.
const TURN_MAX_NS: u64 = 500_000_000;

/// The turns of a loop that waits for less than [`TURN_MAX_NS`] in each.
#[derive(Debug)]
pub struct Turns {
    /// The start of the last turn in monotonic nanoseconds.
    turned_ns: u64,
}

impl Turns {
    /// Creates the turns of a loop that begins now.
    #[must_use]
    pub fn new(now_ns: u64) -> Self {
        Self { turned_ns: now_ns }
    }

    /// Begins a turn. Returns for how many nanoseconds the process was suspended in the last one,
    /// if it was: that time does not count as silence of nodes.
    pub fn turn(&mut self, now_ns: u64) -> Option<u64> {
        let passed = now_ns.saturating_sub(self.turned_ns);
        self.turned_ns = now_ns;
        (passed > TURN_MAX_NS).then_some(passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_that_takes_long_was_a_pause_and_the_next_one_begins_after_it() {
        let mut turns = Turns::new(1_000_000_000);
        assert_eq!(turns.turn(1_100_000_000), None);
        assert_eq!(turns.turn(1_600_000_000), None);
        assert_eq!(turns.turn(2_100_000_001), Some(500_000_001));
        assert_eq!(turns.turn(2_200_000_000), None);
        assert_eq!(turns.turn(2_100_000_000), None, "clocks of processors may differ");
    }
}

//! How many lines of one kind may be told.

use std::time::Duration;

/// The number of lines that are told at once; further ones are told one by one, at most one in
/// [`PAUSE`].
pub const MAX_BURST: u32 = 20;

/// The interval at which another line may be told.
pub const PAUSE: Duration = Duration::from_secs(3);

/// Limits the lines of one kind, and counts those that were not told.
pub struct Allowance {
    /// How many may be told now.
    allowed: u32,
    /// The time at which `allowed` was last raised, in monotonic nanoseconds.
    raised_ns: u64,
    /// The number of those that were not told since the last one that was.
    untold: u64,
}

impl Default for Allowance {
    fn default() -> Self {
        Self { allowed: MAX_BURST, raised_ns: 0, untold: 0 }
    }
}

impl Allowance {
    /// Counts a line. Returns how many were not told before it, if it may be told.
    pub fn take(&mut self, now_ns: u64) -> Option<u64> {
        self.raise(now_ns);
        match self.allowed.checked_sub(1) {
            Some(left) => {
                self.allowed = left;
                Some(std::mem::take(&mut self.untold))
            }
            None => {
                self.untold += 1;
                None
            }
        }
    }

    /// Returns whether a new one would do the same.
    pub fn is_whole(&mut self, now_ns: u64) -> bool {
        self.raise(now_ns);
        self.allowed == MAX_BURST && self.untold == 0
    }

    fn raise(&mut self, now_ns: u64) {
        let pause_ns = PAUSE.as_nanos() as u64;
        let more = now_ns.saturating_sub(self.raised_ns) / pause_ns;
        if more > 0 {
            self.raised_ns = now_ns;
            let more = u32::try_from(more).unwrap_or(u32::MAX);
            self.allowed = self.allowed.saturating_add(more).min(MAX_BURST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_counted_and_not_told_one_by_one() {
        let mut allowance = Allowance::default();
        let told = |allowance: &mut Allowance, now: Duration| {
            (0..1000).filter_map(|_| allowance.take(now.as_nanos() as u64)).collect::<Vec<u64>>()
        };
        let start = Duration::from_secs(1000);
        assert_eq!(told(&mut allowance, start), [0; 20]);
        assert_eq!(told(&mut allowance, start + PAUSE / 2), [0_u64; 0]);
        assert_eq!(told(&mut allowance, start + PAUSE * 2), [1980, 0]);
        assert_eq!(told(&mut allowance, start + PAUSE * 100).first(), Some(&998));
    }
}

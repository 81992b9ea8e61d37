//! What a point has come to so far.

use garland_core::histogram::Histogram;
use garland_protocol::Summary;

/// Fewer samples than these say little about a median.
const FEWEST: u64 = 1000;

/// How narrow the median's interval must be, to each side, as a share of it.
const ENOUGH: f64 = 0.01;

/// Operations done, and how long they took.
#[derive(Default)]
pub struct Tally {
    /// From each one's beginning to its end, in nanoseconds.
    pub sojourn: Histogram,
    /// Nanoseconds of all rounds.
    pub elapsed_ns: u64,
    /// Writes.
    pub writes: u64,
    /// Nanoseconds in them.
    pub writing_ns: u64,
    /// Nanoseconds at work, here and at the target.
    pub work_ns: [u64; 2],
}

impl Tally {
    /// Whether the median is known well enough.
    pub fn is_enough(&self) -> bool {
        let (low, high) = self.sojourn.median_between();
        let width = (high - low) as f64 / 2.0;
        self.sojourn.count() >= FEWEST && width <= ENOUGH * self.sojourn.percentile(0.5) as f64
    }

    /// What the times were like.
    pub fn summary(&self) -> Summary {
        let sojourn = &self.sojourn;
        Summary {
            count: sojourn.count(),
            min: sojourn.min(),
            mean: sojourn.mean(),
            p50: sojourn.percentile(0.5),
            p99: sojourn.percentile(0.99),
            p999: sojourn.percentile(0.999),
            max: sojourn.max(),
            median_between: sojourn.median_between(),
        }
    }
}

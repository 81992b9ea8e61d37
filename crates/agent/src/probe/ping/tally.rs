//! The measurements of a point.

use garland_core::histogram::Histogram;
use garland_protocol::measure::Summary;

/// The minimum number of samples for a reliable median.
const FEWEST: u64 = 1000;

/// The half-width of the median's confidence interval that is precise enough, as a fraction of the
/// median.
const PRECISE_HALF_WIDTH: f64 = 0.01;

/// The measurements of a point so far.
#[derive(Default)]
pub struct Tally {
    /// The time of each operation from its beginning to its end, in nanoseconds.
    pub sojourn: Histogram,
    /// The total time of all rounds in nanoseconds.
    pub elapsed_ns: u64,
    /// The number of writes to the connection.
    pub writes: u64,
    /// The time spent in writes, or in posting operations to libfabric, in nanoseconds.
    pub writing_ns: u64,
    /// The time at work in nanoseconds: of the initiator, and of the target.
    pub work_ns: [u64; 2],
}

impl Tally {
    /// Returns whether there are enough samples and the median is precise enough.
    pub fn is_enough(&self) -> bool {
        let (low, high) = self.sojourn.median_between();
        let width = (high - low) as f64 / 2.0;
        self.sojourn.count() >= FEWEST
            && width <= PRECISE_HALF_WIDTH * self.sojourn.percentile(0.5) as f64
    }

    /// Returns a summary of the times.
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

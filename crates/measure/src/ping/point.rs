//! A measured point of `garland ping`.

use garland_protocol::measure::{PingKind, PingSample, Summary};
use serde::Serialize;

/// The fraction of the requested depth that the average number of operations in flight must reach.
const MIN_DEPTH_FRACTION: f64 = 0.9;

/// The result of one line of `garland ping`: operations of one size at one depth.
#[derive(Clone, Debug, Serialize)]
pub struct PointResult {
    pub function: &'static str,
    #[serde(skip)]
    pub kind: PingKind,
    pub size: u32,
    /// The maximum number of operations in flight, as requested.
    #[serde(rename = "in_flight")]
    pub depth: u32,
    /// The average number of operations in flight; none for operations in shared memory that are
    /// timed in groups.
    pub reached: Option<f64>,
    /// The requested operations per second; none for as many as possible.
    pub rate: Option<u32>,
    pub count: u64,
    pub elapsed_ns: u64,
    /// Nanoseconds per operation: the elapsed time divided by the number of operations; with a
    /// rate, the mean duration. Half of this for messages that are sent one at a time.
    pub each_ns: f64,
    pub sojourn: Sojourn,
    pub timed_together: u32,
    pub writes: u64,
    pub writing_ns: u64,
    pub initiator_ns: u64,
    pub target_ns: u64,
}

/// The distribution of an operation's time from start to end, in nanoseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Sojourn {
    pub min: u64,
    pub mean: u64,
    pub p50: u64,
    pub p99: u64,
    pub p999: u64,
    pub max: u64,
    pub median_between: (u64, u64),
}

impl From<Summary> for Sojourn {
    fn from(summary: Summary) -> Self {
        let Summary { count: _, min, mean, p50, p99, p999, max, median_between } = summary;
        Self { min, mean, p50, p99, p999, max, median_between }
    }
}

impl PointResult {
    /// Returns the average number of operations in flight if it is clearly smaller than the
    /// requested depth. None with a rate, where the depth is only a limit.
    pub fn fell_short(&self) -> Option<f64> {
        self.reached.filter(|&reached| {
            self.rate.is_none()
                && self.depth > 1
                && reached < MIN_DEPTH_FRACTION * f64::from(self.depth)
        })
    }

    /// Creates the result of `point` from its sample `took`.
    pub fn new(point: &garland_protocol::measure::PingPoint, took: &PingSample) -> Self {
        let divisor = ways(point.kind, point.depth);
        // With a rate, the time between operations is not their duration.
        let each_ns = match point.rate {
            Some(_) => took.sojourn.mean as f64 / divisor,
            None => took.elapsed_ns as f64 / took.count.max(1) as f64 / divisor,
        };
        Self {
            function: function(point.kind),
            kind: point.kind,
            size: point.size,
            depth: point.depth,
            reached: reached(took),
            rate: point.rate,
            count: took.count,
            elapsed_ns: took.elapsed_ns,
            each_ns,
            sojourn: took.sojourn.into(),
            timed_together: took.timed_together,
            writes: took.writes,
            writing_ns: took.writing_ns,
            initiator_ns: took.initiator_ns,
            target_ns: took.target_ns,
        }
    }
}

/// Returns the average number of operations in flight: the sum of their durations over the elapsed
/// time (Little's law). None if they were timed in groups.
fn reached(took: &PingSample) -> Option<f64> {
    let stayed = took.sojourn.mean as f64 * took.count as f64;
    (took.timed_together <= 1).then(|| stayed / took.elapsed_ns.max(1) as f64)
}

/// Returns the divisor of the measured time of an operation: 2 for messages that are sent one at a
/// time, since half of their round trip is reported, otherwise 1.
pub fn ways(kind: PingKind, depth: u32) -> f64 {
    if kind == PingKind::Msg && depth == 1 { 2.0 } else { 1.0 }
}

/// Returns the name that results and tables use for an operation.
pub fn function(kind: PingKind) -> &'static str {
    match kind {
        PingKind::Get => "get",
        PingKind::Put => "put",
        PingKind::Msg => "msg",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(depth: u32, rate: Option<u32>, timed_together: u32, mean: u64) -> PointResult {
        let kind = PingKind::Put;
        let request = garland_protocol::measure::PingPoint {
            kind,
            size: 8,
            depth,
            rate,
            count: None,
            time_ms: 1,
        };
        let took = PingSample {
            point: 0,
            count: 1000,
            elapsed_ns: 100_000,
            sojourn: Summary { count: 1000, mean, ..Summary::default() },
            timed_together,
            writes: 0,
            writing_ns: 0,
            initiator_ns: 0,
            target_ns: 0,
        };
        PointResult::new(&request, &took)
    }

    #[test]
    fn average_in_flight_follows_from_the_times_of_operations() {
        // One operation ends every 100 ns and takes 400 ns: four are in flight.
        assert_eq!(point(32, None, 1, 400).reached, Some(4.0));
        assert_eq!(point(32, None, 1, 400).fell_short(), Some(4.0));
        assert_eq!(point(4, None, 1, 390).fell_short(), None, "97.5 % of the depth is enough");
        assert_eq!(
            point(64, Some(1000), 1, 400).fell_short(),
            None,
            "with a rate the depth is a limit"
        );
        assert_eq!(point(32, None, 256, 400).reached, None, "stores are timed together");
    }
}

//! Decides when enough of a stream was received to know its rate.

use garland_protocol::measure::{RxStats, StreamTask};

/// Interval between samples in nanoseconds.
const TICK_NS: u64 = 5_000_000;

/// The maximum difference between the rates of both halves of a steady stream, as a fraction of
/// their mean.
const STEADY: f64 = 0.02;

/// Counts the bytes of a stream until its rate is known.
pub struct Counter {
    from_ns: u64,
    least_ns: u64,
    most_ns: u64,
    /// Samples: times in monotonic nanoseconds and byte counts. Counting begins with the first one.
    ticks: Vec<(u64, u64)>,
}

impl Counter {
    /// Creates a counter for a stream that begins at `now`, in monotonic nanoseconds.
    pub fn new(task: &StreamTask, now: u64) -> Self {
        let ns = |ms: u32| u64::from(ms) * 1_000_000;
        Self {
            from_ns: now + ns(task.warm_up_ms),
            least_ns: ns(task.least_ms),
            most_ns: ns(task.most_ms),
            ticks: Vec::new(),
        }
    }

    /// Adds the total number of bytes received at `now`. Returns the result once the rate is steady
    /// or the maximum time has passed.
    pub fn note(&mut self, now: u64, bytes: u64) -> Option<RxStats> {
        if now < self.from_ns {
            return None;
        }
        let Some(&(began, before)) = self.ticks.first() else {
            self.ticks.push((now, bytes));
            return None;
        };
        let elapsed_ns = now - began;
        if self.ticks.last().is_none_or(|&(last, _)| now - last < TICK_NS)
            && elapsed_ns < self.most_ns
        {
            return None;
        }
        self.ticks.push((now, bytes));
        let steady = self.is_steady();
        let enough = elapsed_ns >= self.most_ns || (elapsed_ns >= self.least_ns && steady);
        enough.then_some(RxStats { number: 0, bytes: bytes - before, elapsed_ns, steady })
    }

    /// Returns whether the rates of both halves of the time so far differ by no more than
    /// [`STEADY`].
    fn is_steady(&self) -> bool {
        let (Some(&first), Some(&last)) = (self.ticks.first(), self.ticks.last()) else {
            return false;
        };
        let middle_ns = u64::midpoint(first.0, last.0);
        let at = self.ticks.partition_point(|tick| tick.0 < middle_ns);
        let Some(&middle) = self.ticks.get(at) else { return false };
        let rate = |a: (u64, u64), b: (u64, u64)| (b.1 - a.1) as f64 / (b.0 - a.0).max(1) as f64;
        let one = rate(first, middle);
        let other = rate(middle, last);
        (one - other).abs() <= STEADY * f64::midpoint(one, other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TASK: StreamTask = StreamTask {
        forward: 1,
        write: 1,
        packet: None,
        warm_up_ms: 20,
        least_ms: 100,
        most_ms: 300,
    };

    /// Counts a stream with `rate(ms)` bytes in every millisecond.
    fn counted(rate: impl Fn(u64) -> u64) -> RxStats {
        let mut counter = Counter::new(&TASK, 0);
        let mut bytes = 0;
        for ms in 0.. {
            bytes += rate(ms);
            if let Some(count) = counter.note(ms * 1_000_000, bytes) {
                return count;
            }
        }
        unreachable!("it counts for 300 ms at most");
    }

    #[test]
    fn a_steady_stream_is_counted_briefly_and_without_its_warm_up() {
        let count = counted(|ms| if ms <= 20 { 1 } else { 1000 });
        assert_eq!(
            count,
            RxStats { number: 0, bytes: 100_000, elapsed_ns: 100_000_000, steady: true }
        );
    }

    #[test]
    fn a_stream_that_never_settles_is_counted_to_the_end() {
        let count = counted(|ms| ms * ms);
        assert!(!count.steady);
        assert_eq!(count.elapsed_ns, 300_000_000);
    }

    #[test]
    fn a_stream_that_settles_late_is_counted_until_then() {
        let count = counted(|ms| if ms < 30 { 800 } else { 1000 });
        assert!(count.steady);
        assert!((105_000_000..300_000_000).contains(&count.elapsed_ns), "{count:?}");
    }
}

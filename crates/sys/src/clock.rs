//! Reads clocks. Other modules call this one and never read a clock themselves.

use std::sync::OnceLock;
use std::time::Duration;

use rustix::time::{ClockId, clock_getres, clock_gettime};

use crate::world;

/// A simulated error of this process's monotonic clock, for testing clock correction on a single
/// machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Skew {
    /// The constant error in nanoseconds; positive if the clock is ahead.
    pub offset_ns: i64,
    /// The drift in nanoseconds per second; positive if the clock is fast.
    pub drift_ppb: i64,
    /// A jump of the clock: when it happens, in nanoseconds since the skew began, and its size in
    /// nanoseconds. The size may be negative, although no real monotonic clock goes back.
    pub step: Option<(u64, i64)>,
}

static SKEW: OnceLock<(u64, Skew)> = OnceLock::new();

/// Makes the monotonic clock of this process wrong from now on, as `by` says. Only the first call
/// has an effect.
pub fn skew(by: Skew) {
    SKEW.get_or_init(|| (nanoseconds(ClockId::Monotonic), by));
}

/// Returns the time of the monotonic clock in nanoseconds. Only the difference between two readings
/// on one machine is meaningful.
#[must_use]
pub fn now_ns() -> u64 {
    let now = nanoseconds(ClockId::Monotonic);
    SKEW.get().map_or(now, |(since, skew)| skew.apply(now, *since))
}

impl Skew {
    fn apply(&self, now_ns: u64, since_ns: u64) -> u64 {
        let passed = now_ns.saturating_sub(since_ns);
        let gained = i128::from(passed) * i128::from(self.drift_ppb) / 1_000_000_000;
        let jumped = self.step.filter(|(after, _)| passed >= *after).map_or(0, |(_, by)| by);
        let wrong = i128::from(now_ns) + i128::from(self.offset_ns) + gained + i128::from(jumped);
        u64::try_from(wrong.max(0)).unwrap_or(u64::MAX)
    }
}

/// Returns the nanoseconds since this machine was booted, including the time in which it was
/// suspended. The kernel uses this clock for the start times of processes.
#[must_use]
pub fn boot_ns() -> u64 {
    nanoseconds(ClockId::Boottime)
}

/// Returns the wall clock as nanoseconds since the start of 1970. Use it for names and dates that
/// users see, not to measure durations.
#[must_use]
pub fn wall_ns() -> u64 {
    nanoseconds(ClockId::Realtime)
}

/// Returns the kernel's tick in nanoseconds, 1 to 10 ms: the time stamps of files advance by it.
#[must_use]
pub fn tick_ns() -> u64 {
    let tick = clock_getres(ClockId::RealtimeCoarse);
    u64::try_from(tick.tv_nsec).unwrap_or(0).clamp(1_000_000, 10_000_000)
}

/// Returns the CPU time of this process in nanoseconds, user and kernel.
#[must_use]
pub fn cpu_ns() -> u64 {
    nanoseconds(ClockId::ProcessCPUTime)
}

/// Returns the CPU time of the calling thread in nanoseconds.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    nanoseconds(ClockId::ThreadCPUTime)
}

/// Returns the time of the monotonic clock, in nanoseconds, at which `time` will have passed.
#[must_use]
pub fn after(time: Duration) -> u64 {
    now_ns().saturating_add(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

/// Returns the time until the monotonic clock reaches `deadline_ns`; zero if that has passed.
#[must_use]
pub fn until(deadline_ns: u64) -> Duration {
    Duration::from_nanos(deadline_ns.saturating_sub(now_ns()))
}

fn nanoseconds(clock: ClockId) -> u64 {
    if let Some(world_ns) = world::now_ns(clock) {
        return world_ns;
    }
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds * 1_000_000_000 + nanos
}

#[cfg(test)]
mod tests {
    use super::Skew;

    #[test]
    fn a_clock_goes_as_wrong_as_it_is_told() {
        let skew = Skew { offset_ns: -7, drift_ppb: 100_000, step: Some((2_000_000_000, 50)) };
        assert_eq!(skew.apply(1_000_000_000, 1_000_000_000), 999_999_993);
        assert_eq!(skew.apply(2_000_000_000, 1_000_000_000), 2_000_099_993);
        assert_eq!(skew.apply(3_000_000_000, 1_000_000_000), 3_000_200_043);
        let behind = Skew { offset_ns: -10, drift_ppb: 0, step: None };
        assert_eq!(behind.apply(3, 0), 0, "a clock is never negative");
    }

    #[test]
    fn time_goes_forward() {
        let before = super::now_ns();
        assert!(super::now_ns() >= before);
        assert!(super::wall_ns() > 1_700_000_000_000_000_000, "the wall clock is after 2023");
    }
}

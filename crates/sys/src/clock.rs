//! The only place that reads a clock.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// Nanoseconds of the monotonic clock: only differences mean anything, and only on one machine.
#[must_use]
pub fn now_ns() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// Nanoseconds since this machine has booted, its sleep included: what the kernel dates the start of
/// processes by.
#[must_use]
pub fn boot_ns() -> u64 {
    nanoseconds(ClockId::Boottime)
}

/// Nanoseconds since the start of 1970 by the wall clock: to name things for people, never to
/// measure.
#[must_use]
pub fn wall_ns() -> u64 {
    nanoseconds(ClockId::Realtime)
}

/// Nanoseconds of CPU that this process has used, in user and kernel.
#[must_use]
pub fn cpu_ns() -> u64 {
    nanoseconds(ClockId::ProcessCPUTime)
}

/// Nanoseconds of CPU that this thread has used.
#[must_use]
pub fn thread_cpu_ns() -> u64 {
    nanoseconds(ClockId::ThreadCPUTime)
}

/// The time left until `deadline_ns` of the monotonic clock; zero when it has passed.
#[must_use]
pub fn until(deadline_ns: u64) -> Duration {
    Duration::from_nanos(deadline_ns.saturating_sub(now_ns()))
}

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    seconds * 1_000_000_000 + nanos
}

#[cfg(test)]
mod tests {
    #[test]
    fn time_goes_forward() {
        let before = super::now_ns();
        assert!(super::now_ns() >= before);
        assert!(super::wall_ns() > 1_700_000_000_000_000_000, "the wall clock is after 2023");
    }
}

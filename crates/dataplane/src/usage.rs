//! Measures how long a disk was in use.

use garland_sys::clock;
use garland_sys::sync::Mutex;

/// The time during which at least one thread used the disk.
#[derive(Debug, Default)]
pub struct Usage(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The number of threads that currently use the disk.
    users: u32,
    /// The time at which the current use began, in monotonic nanoseconds; meaningless if `users` is
    /// 0.
    since_ns: u64,
    /// The total time of earlier uses in nanoseconds.
    used_ns: u64,
}

impl Usage {
    /// Runs `work`, which uses the disk, and adds the time that it takes. Concurrent uses count
    /// once.
    pub fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        {
            let mut state = self.0.lock();
            if state.users == 0 {
                state.since_ns = clock::now_ns();
            }
            state.users += 1;
        }
        let result = work();
        let mut state = self.0.lock();
        state.users -= 1;
        if state.users == 0 {
            state.used_ns += clock::now_ns().saturating_sub(state.since_ns);
        }
        result
    }

    /// Returns the total time of use in nanoseconds, the current use included.
    pub fn used_ns(&self) -> u64 {
        let state = self.0.lock();
        let present = match state.users {
            0 => 0,
            _ => clock::now_ns().saturating_sub(state.since_ns),
        };
        state.used_ns + present
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn concurrent_uses_count_once_and_idle_time_does_not() {
        let usage = Usage::default();
        let started = clock::now_ns();
        let at_it = || usage.during(|| std::thread::sleep(Duration::from_millis(100)));
        std::thread::scope(|scope| {
            scope.spawn(at_it);
            at_it();
        });
        let used = usage.used_ns();
        let passed = clock::now_ns() - started;
        assert!((100_000_000..=passed).contains(&used), "{used} of {passed} ns");
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(usage.used_ns(), used);
    }
}

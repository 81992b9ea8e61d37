//! Scheduler statistics of a thread: how long it ran, and how long it waited for a CPU.

use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::world;

/// Returns the nanoseconds in which the process's present threads were runnable, but waited for a
/// CPU; 0 if the kernel keeps no statistics. Less than before if a thread has ended.
#[must_use]
pub fn waited_ns() -> u64 {
    if world::inside() {
        return 0;
    }
    let tasks = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    let accounts = tasks.map(|task| Account(File::open(task.path().join("schedstat")).ok()));
    accounts.filter_map(|account| account.times()).map(|times| times.waiting_ns).sum()
}

/// The scheduler statistics of a thread. Any thread of the process may read them.
#[derive(Debug)]
pub struct Account(Option<File>);

/// How long a thread has run, and waited for a CPU, since its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    /// Nanoseconds that the thread ran on a CPU.
    pub running_ns: u64,
    /// Nanoseconds that the thread was runnable, but waited for a CPU.
    pub waiting_ns: u64,
}

impl Account {
    /// Opens the statistics of the calling thread. If the kernel keeps none (no
    /// `CONFIG_SCHED_INFO`, no `/proc`), the times are always 0.
    #[must_use]
    pub fn of_this_thread() -> Self {
        // Threads of a simulated world share one of the kernel's.
        if world::inside() {
            return Self(None);
        }
        Self(File::open("/proc/thread-self/schedstat").ok())
    }

    /// Returns the nanoseconds since the thread's start in which it did not sleep: it ran or waited
    /// for a CPU. Only the difference between two readings is meaningful.
    #[must_use]
    pub fn awake_ns(&self) -> u64 {
        self.times().map_or(0, |times| times.running_ns + times.waiting_ns)
    }

    /// Returns how long the thread ran, and how long it waited for a CPU; `None` if the thread has
    /// ended or the kernel keeps no statistics.
    #[must_use]
    pub fn times(&self) -> Option<Times> {
        let mut text = [0; 64];
        let read = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
        // The format is "ran waited timeslices", see the kernel's
        // Documentation/scheduler/sched-stats.rst.
        let text = std::str::from_utf8(&text[..read]).ok()?;
        let mut fields = text.split_ascii_whitespace();
        let mut next = || fields.next()?.parse().ok();
        Some(Times { running_ns: next()?, waiting_ns: next()? })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::clock;

    #[test]
    fn a_thread_that_works_is_awake_and_one_that_sleeps_is_not() {
        const WHILE_NS: u64 = 100_000_000;
        let account = Account::of_this_thread();
        let start = clock::now_ns();
        let before = account.awake_ns();
        while clock::now_ns() < start + WHILE_NS {
            std::hint::spin_loop();
        }
        let worked = account.awake_ns() - before;
        assert!(worked > WHILE_NS / 2, "awake for {worked} ns of {WHILE_NS}");
        let before = account.awake_ns();
        std::thread::sleep(Duration::from_nanos(10 * WHILE_NS));
        // It may have to wait for a CPU when it wakes, but hardly for a second.
        let slept = account.awake_ns() - before;
        assert!(slept < 5 * WHILE_NS, "awake for {slept} ns of a second's sleep");
    }
}

//! Measures how long a copy's writer sleeps in its writes, waiting for the disk or for the reader
//! of a pipe. Time spent waiting for a CPU does not count.

use garland_sys::sync::Mutex;

use garland_sys::clock;
use garland_sys::schedule::Account;

/// The time that a copy's writer slept in its writes.
#[derive(Debug, Default)]
pub struct Writing(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The CPU accounting of the writer's thread; none before [`Writing::begin`].
    account: Option<Account>,
    /// The time asleep in completed writes, in nanoseconds.
    blocked_ns: u64,
    /// For the write in progress, the time at which it began and the time that the thread had been
    /// awake by then, in nanoseconds.
    present: Option<(u64, u64)>,
}

impl Writing {
    /// Sets the calling thread as the writer.
    pub fn begin(&self) {
        self.0.lock().account = Some(Account::of_this_thread());
    }

    /// Runs `write` and adds the time that the thread sleeps in it. Called by the writer's thread.
    pub fn measure<T>(&self, write: impl FnOnce() -> T) -> T {
        {
            let mut state = self.0.lock();
            state.present = Some((clock::now_ns(), state.awake_ns()));
        }
        let written = write();
        let mut state = self.0.lock();
        state.blocked_ns += state.asleep_now();
        state.present = None;
        written
    }

    /// Returns the total time asleep in writes in nanoseconds, the current write included.
    pub fn blocked_ns(&self) -> u64 {
        let state = self.0.lock();
        state.blocked_ns + state.asleep_now()
    }
}

impl State {
    fn awake_ns(&self) -> u64 {
        self.account.as_ref().map_or(0, Account::awake_ns)
    }

    fn asleep_now(&self) -> u64 {
        self.present.map_or(0, |(since, awake)| {
            let took = clock::now_ns().saturating_sub(since);
            took.saturating_sub(self.awake_ns().saturating_sub(awake))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_write_that_sleeps_counts_and_one_that_works_does_not() {
        let writing = Writing::default();
        writing.begin();
        writing.measure(|| std::thread::sleep(Duration::from_millis(300)));
        let slept = writing.blocked_ns();
        assert!(slept > 100_000_000, "{slept} ns");
        let start = clock::now_ns();
        writing.measure(|| {
            while clock::now_ns() < start + 300_000_000 {
                std::hint::spin_loop();
            }
        });
        let worked = writing.blocked_ns() - slept;
        assert!(worked < 150_000_000, "{worked} ns");
    }

    #[test]
    fn a_write_that_hangs_counts_while_it_hangs() {
        let writing = Writing::default();
        let (free, hang) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let writer = &writing;
            scope.spawn(move || {
                writer.begin();
                writer.measure(|| hang.recv())
            });
            while writing.blocked_ns() < 50_000_000 {
                std::thread::sleep(Duration::from_millis(10));
            }
            drop(free);
        });
    }
}

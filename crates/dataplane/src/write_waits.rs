//! How long the writers of a copy sleep in their writes, waiting for the disk or for the reader of
//! a pipe. Time spent waiting for a CPU does not count.

use garland_sys::clock;
use garland_sys::schedule::Account;
use garland_sys::sync::Mutex;

/// The time that a copy's writers slept in their writes.
#[derive(Debug, Default)]
pub struct WriteWaits(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// The threads that have begun to write.
    writers: Vec<Writer>,
    /// The time asleep in completed writes of all writers together, in nanoseconds.
    blocked_ns: u64,
}

#[derive(Debug)]
struct Writer {
    /// The CPU accounting of the thread.
    account: Account,
    /// For the write in progress, the time at which it began and the time that the thread had been
    /// awake by then, in nanoseconds.
    present: Option<(u64, u64)>,
}

/// A writer's own number.
#[derive(Clone, Copy, Debug)]
pub struct WriterId(usize);

impl WriteWaits {
    /// Adds the calling thread to the writers.
    pub fn begin(&self) -> WriterId {
        let writer = Writer { account: Account::of_this_thread(), present: None };
        let mut state = self.0.lock();
        state.writers.push(writer);
        WriterId(state.writers.len() - 1)
    }

    /// Runs `write` and adds the time that the thread sleeps in it. Called by the thread of
    /// `writer`.
    pub fn measure<T>(&self, writer: WriterId, write: impl FnOnce() -> T) -> T {
        self.with(writer, |own, _| own.present = Some((clock::now_ns(), own.account.awake_ns())));
        let written = write();
        self.with(writer, |own, blocked_ns| {
            *blocked_ns += own.asleep_now();
            own.present = None;
        });
        written
    }

    fn with(&self, writer: WriterId, note: impl FnOnce(&mut Writer, &mut u64)) {
        let State { writers, blocked_ns } = &mut *self.0.lock();
        if let Some(own) = writers.get_mut(writer.0) {
            note(own, blocked_ns);
        }
    }

    /// Returns the time asleep in writes in nanoseconds, current ones included: with several
    /// writers their mean, since the copy waits for the disk only while all of them do.
    pub fn blocked_ns(&self) -> u64 {
        let state = self.0.lock();
        let now: u64 = state.writers.iter().map(Writer::asleep_now).sum();
        (state.blocked_ns + now) / state.writers.len().max(1) as u64
    }
}

impl Writer {
    fn asleep_now(&self) -> u64 {
        self.present.map_or(0, |(since, awake)| {
            let took = clock::now_ns().saturating_sub(since);
            took.saturating_sub(self.account.awake_ns().saturating_sub(awake))
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_write_that_sleeps_counts_and_one_that_works_does_not() {
        let waits = WriteWaits::default();
        let own = waits.begin();
        waits.measure(own, || std::thread::sleep(Duration::from_millis(300)));
        let slept = waits.blocked_ns();
        assert!(slept > 100_000_000, "{slept} ns");
        let start = clock::now_ns();
        waits.measure(own, || {
            while clock::now_ns() < start + 300_000_000 {
                std::hint::spin_loop();
            }
        });
        let worked = waits.blocked_ns() - slept;
        assert!(worked < 150_000_000, "{worked} ns");
    }

    #[test]
    fn a_write_that_hangs_counts_while_it_hangs() {
        let waits = WriteWaits::default();
        let (free, hang) = std::sync::mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let writer = &waits;
            scope.spawn(move || {
                let own = writer.begin();
                writer.measure(own, || hang.recv())
            });
            while waits.blocked_ns() < 50_000_000 {
                std::thread::sleep(Duration::from_millis(10));
            }
            drop(free);
        });
    }
    #[test]
    fn the_copy_is_blocked_only_as_far_as_all_writers_are() {
        let waits = WriteWaits::default();
        let [one, _] = [waits.begin(), waits.begin()];
        waits.measure(one, || std::thread::sleep(Duration::from_millis(400)));
        let slept = waits.blocked_ns();
        assert!((100_000_000..350_000_000).contains(&slept), "half of it, not {slept} ns");
    }
}

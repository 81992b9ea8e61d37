//! How many writers a copy has, and how long they sleep in their writes, waiting for the disk or for
//! the reader of a pipe. Time spent waiting for a CPU does not count.

use garland_sys::sync::Mutex;

use garland_sys::clock;
use garland_sys::schedule::Account;

/// The length in bytes from which a copy may have several writers.
const LONG: u64 = 64 << 20;

/// The largest number of writers of a copy. Each further one takes a block more where blocks are compressed.
const MOST: usize = 4;

/// The environment variable with the number of processors that this machine is taken to have, for tests.
const PROCESSORS: &str = "GARLAND_PROCESSORS";

/// Returns the number of writers of a copy of `length` bytes on this machine. One of them opens, hashes
/// and writes 2 GB/s, which is 18 Gbit/s, and keeps a processor busy with that.
pub fn count(length: u64) -> usize {
    // Counting processors takes longer than a copy of few bytes can spare.
    if length < LONG {
        return 1;
    }
    let wanted = std::env::var(PROCESSORS).ok().and_then(|number| number.parse().ok());
    let processors =
        wanted.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    (processors / 4).clamp(1, MOST)
}

/// The time that a copy's writers slept in their writes.
#[derive(Debug, Default)]
pub struct Writing(Mutex<State>);

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

impl Writing {
    /// Adds the calling thread to the writers.
    pub fn begin(&self) -> WriterId {
        let writer = Writer { account: Account::of_this_thread(), present: None };
        let mut state = self.0.lock();
        state.writers.push(writer);
        WriterId(state.writers.len() - 1)
    }

    /// Runs `write` and adds the time that the thread sleeps in it. Called by the thread of `writer`.
    pub fn measure<T>(&self, writer: WriterId, write: impl FnOnce() -> T) -> T {
        self.with(writer, |own, _| own.present = Some((clock::now_ns(), own.account.awake_ns())));
        let written = write();
        self.with(writer, |own, blocked_ns| {
            *blocked_ns += own.asleep_now();
            own.present = None;
        });
        written
    }

    fn with(&self, WriterId(writer): WriterId, note: impl FnOnce(&mut Writer, &mut u64)) {
        let State { writers, blocked_ns } = &mut *self.0.lock();
        if let Some(own) = writers.get_mut(writer) {
            note(own, blocked_ns);
        }
    }

    /// Returns the time asleep in writes in nanoseconds, current ones included: with several writers
    /// their mean, since the copy waits for the disk only while all of them do.
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
        let writing = Writing::default();
        let own = writing.begin();
        writing.measure(own, || std::thread::sleep(Duration::from_millis(300)));
        let slept = writing.blocked_ns();
        assert!(slept > 100_000_000, "{slept} ns");
        let start = clock::now_ns();
        writing.measure(own, || {
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
                let own = writer.begin();
                writer.measure(own, || hang.recv())
            });
            while writing.blocked_ns() < 50_000_000 {
                std::thread::sleep(Duration::from_millis(10));
            }
            drop(free);
        });
    }
    #[test]
    fn the_copy_is_blocked_only_as_far_as_all_writers_are() {
        let writing = Writing::default();
        let [one, _] = [writing.begin(), writing.begin()];
        writing.measure(one, || std::thread::sleep(Duration::from_millis(400)));
        let slept = writing.blocked_ns();
        assert!((100_000_000..350_000_000).contains(&slept), "half of it, not {slept} ns");
    }
}

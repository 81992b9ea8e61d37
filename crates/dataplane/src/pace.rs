//! Emulated disks, which limit the rate of reads and writes on nodes of a lab.

use std::sync::Arc;
use std::time::Duration;

use garland_sys::clock;
use garland_sys::sync::Mutex;

/// The maximum delay in nanoseconds that an emulated disk makes up for after a request that
/// returned too late.
const MOST_LATE_NS: u64 = 100_000_000;

/// An emulated disk, which executes one request after another, reads and writes alike, at a given
/// rate.
#[derive(Debug)]
pub struct Pace {
    bytes_per_second: u64,
    queue: Mutex<Queue>,
}

/// The state of an emulated disk; times are in monotonic nanoseconds.
#[derive(Debug, Default)]
struct Queue {
    /// The time at which all current requests will be done.
    free_ns: u64,
    /// How much later than `free_ns` the last request returned. Lack of CPU time caused this delay,
    /// and the delay postponed the caller's next request. So the next request counts as made that
    /// much earlier.
    late_ns: u64,
}

/// Runs `work`, which reads or writes `bytes` bytes, on the emulated `disk`, or without a delay if
/// `disk` is none.
pub fn on<T>(disk: Option<&Pace>, bytes: usize, work: impl FnOnce() -> T) -> T {
    match disk {
        Some(disk) => disk.pass(bytes, work),
        None => work(),
    }
}

impl Pace {
    /// Returns an idle disk with a rate of `bytes_per_second`, at least 1.
    pub fn new(bytes_per_second: u64) -> Self {
        Self { bytes_per_second: bytes_per_second.max(1), queue: Mutex::default() }
    }

    /// Returns an idle disk with a rate of `bytes_per_second`; none if no rate is given.
    pub fn limited_to(bytes_per_second: Option<u64>) -> Option<Arc<Self>> {
        bytes_per_second.map(|rate| Arc::new(Self::new(rate)))
    }

    /// Runs `work`, which reads or writes `bytes` bytes. Returns no earlier than the emulated disk
    /// would have executed the request.
    pub fn pass<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        let takes = bytes as u128 * 1_000_000_000 / u128::from(self.bytes_per_second);
        let takes = u64::try_from(takes).unwrap_or(u64::MAX);
        let done_ns = {
            let mut queue = self.queue.lock();
            let asked_ns = clock::now_ns().saturating_sub(std::mem::take(&mut queue.late_ns));
            queue.free_ns = asked_ns.max(queue.free_ns).saturating_add(takes);
            queue.free_ns
        };
        let result = work();
        garland_sys::threads::sleep(Duration::from_nanos(done_ns.saturating_sub(clock::now_ns())));
        let mut queue = self.queue.lock();
        if queue.free_ns == done_ns {
            queue.late_ns = clock::now_ns().saturating_sub(done_ns).min(MOST_LATE_NS);
        }
        drop(queue);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_threads_share_its_rate() {
        let disk = Pace::new(10_000_000);
        let started = clock::now_ns();
        let use_it = || (0..10).for_each(|_| disk.pass(100_000, || ()));
        std::thread::scope(|scope| {
            scope.spawn(use_it);
            use_it();
        });
        let took = clock::now_ns() - started;
        assert!(took >= 200_000_000, "2 MB at 10 MB/s took {took} ns");
    }

    #[test]
    fn its_own_delays_are_made_up_for_and_idle_time_is_not() {
        let disk = Pace::new(10_000_000);
        let late = || disk.queue.lock().late_ns;
        let started = clock::now_ns();
        // Work that takes a busy machine twice as long as the disk.
        disk.pass(100_000, || std::thread::sleep(Duration::from_millis(20)));
        assert!(late() >= 10_000_000, "{} ns", late());
        disk.pass(100_000, || ());
        let took = clock::now_ns() - started;
        assert!(
            disk.queue.lock().free_ns - started < took,
            "both were due before the first came back"
        );
        std::thread::sleep(Duration::from_millis(50));
        let idle = clock::now_ns();
        let made_up = late();
        disk.pass(100_000, || ());
        assert!(disk.queue.lock().free_ns > idle - made_up, "what wasn't asked for isn't done");
    }
}

//! A disk as slow as an emulated node's shall be. Only labs have such disks; what else runs on their
//! nodes is as fast as the machine's.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use garland_sys::clock;

/// A disk that does one thing after another, reads as writes, so many bytes a second.
#[derive(Debug)]
pub struct Pace {
    bytes_per_second: u64,
    /// When it will have done what it was given, in monotonic nanoseconds.
    free_ns: Mutex<u64>,
}

impl Pace {
    /// A disk that has nothing to do yet.
    #[must_use]
    pub fn new(bytes_per_second: u64) -> Self {
        Self { bytes_per_second: bytes_per_second.max(1), free_ns: Mutex::new(0) }
    }

    /// Does `work`, which reads or writes so many bytes, and takes no less time over it than this
    /// disk would.
    pub fn pass<T>(&self, bytes: usize, work: impl FnOnce() -> T) -> T {
        let takes = bytes as u128 * 1_000_000_000 / u128::from(self.bytes_per_second);
        let takes = u64::try_from(takes).unwrap_or(u64::MAX);
        let done_ns = {
            let mut free_ns = self.free_ns.lock().unwrap_or_else(PoisonError::into_inner);
            *free_ns = clock::now_ns().max(*free_ns).saturating_add(takes);
            *free_ns
        };
        let result = work();
        std::thread::sleep(Duration::from_nanos(done_ns.saturating_sub(clock::now_ns())));
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
}

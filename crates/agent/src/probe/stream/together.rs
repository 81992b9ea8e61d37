//! Streams that are measured at the same time: none is measured before all have begun, and none
//! ends before all are measured.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use garland_sys::sync::Mutex;

/// The streams that one node receives.
#[derive(Debug)]
pub struct Together {
    streams: usize,
    counted: AtomicUsize,
    broken: AtomicBool,
    begins: Mutex<Begins>,
}

/// The number of streams that have begun, and the time at which the last began, in monotonic
/// nanoseconds.
#[derive(Debug, Default)]
struct Begins {
    streams: usize,
    last_ns: u64,
}

impl Together {
    /// Creates the state of `streams` streams, none of which has begun.
    pub fn new(streams: usize) -> Self {
        Self {
            streams,
            counted: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            begins: Mutex::default(),
        }
    }

    /// Records that a stream has received its first bytes.
    pub fn begin(&self, now_ns: u64) {
        let mut begins = self.begins.lock();
        begins.streams += 1;
        begins.last_ns = begins.last_ns.max(now_ns);
    }

    /// Returns the time at which the last stream began, in monotonic nanoseconds, or `None` until
    /// all have begun.
    pub fn began(&self) -> Option<u64> {
        let begins = self.begins.lock();
        (begins.streams >= self.streams).then_some(begins.last_ns)
    }

    /// Records that a stream is measured.
    pub fn count(&self) {
        self.counted.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns whether all streams are measured, so that each may end.
    pub fn is_counted(&self) -> bool {
        self.counted.load(Ordering::Relaxed) >= self.streams
    }

    /// Records that a stream broke, so that the others do not wait for it.
    pub fn break_off(&self) {
        self.broken.store(true, Ordering::Relaxed);
    }

    /// Returns whether a stream broke.
    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_begins_and_ends_with_the_last_stream() {
        let together = Together::new(2);
        together.begin(30);
        assert_eq!(together.began(), None);
        together.begin(20);
        assert_eq!(together.began(), Some(30), "in whichever order the threads report");
        together.count();
        assert!(!together.is_counted());
        together.count();
        assert!(together.is_counted() && !together.is_broken());
    }
}

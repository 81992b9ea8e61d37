//! Streams that are counted at the same time: the rate of several is that of none alone, so none is
//! counted before all have begun, and none ends before all are counted.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// The streams that one node receives.
#[derive(Debug)]
pub struct Together {
    streams: usize,
    counted: AtomicUsize,
    broken: AtomicBool,
    begins: Mutex<Begins>,
}

/// How many have begun, and when the last did, in monotonic nanoseconds.
#[derive(Debug, Default)]
struct Begins {
    streams: usize,
    last_ns: u64,
}

impl Together {
    /// None of so many has begun.
    #[must_use]
    pub fn new(streams: usize) -> Self {
        Self {
            streams,
            counted: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            begins: Mutex::default(),
        }
    }

    /// One of them has its first bytes.
    pub fn begin(&self, now_ns: u64) {
        let mut begins = self.begins.lock().unwrap_or_else(PoisonError::into_inner);
        begins.streams += 1;
        begins.last_ns = begins.last_ns.max(now_ns);
    }

    /// When the last of them began; `None` until it has.
    #[must_use]
    pub fn began(&self) -> Option<u64> {
        let begins = self.begins.lock().unwrap_or_else(PoisonError::into_inner);
        (begins.streams >= self.streams).then_some(begins.last_ns)
    }

    /// One of them is counted.
    pub fn count(&self) {
        self.counted.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether all are counted, so that each may end.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        self.counted.load(Ordering::Relaxed) >= self.streams
    }

    /// One of them broke: the others needn't wait for it.
    pub fn break_off(&self) {
        self.broken.store(true, Ordering::Relaxed);
    }

    /// Whether one of them broke.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_begins_with_the_last_and_ends_with_the_last() {
        let together = Together::new(2);
        together.begin(30);
        assert_eq!(together.began(), None);
        together.begin(20);
        assert_eq!(together.began(), Some(30), "whichever thread comes first to say so");
        together.count();
        assert!(!together.is_counted());
        together.count();
        assert!(together.is_counted() && !together.is_broken());
    }
}

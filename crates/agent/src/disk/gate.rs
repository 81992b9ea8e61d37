//! A lock that admits one disk test at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Admits one test at a time: two would disturb each other.
#[derive(Default)]
pub struct Gate(Arc<AtomicBool>);

/// The permission to test; the next test may begin when this is dropped.
pub(super) struct TestPermit(Arc<AtomicBool>);

impl Gate {
    /// Returns a permission, unless a test is running.
    pub(super) fn enter(&self) -> Option<TestPermit> {
        let taken = self.0.swap(true, Ordering::AcqRel);
        (!taken).then(|| TestPermit(Arc::clone(&self.0)))
    }
}

impl Drop for TestPermit {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

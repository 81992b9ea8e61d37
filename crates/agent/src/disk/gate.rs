//! One disk test at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Admits one test at a time: two would disturb each other.
#[derive(Default)]
pub struct Gate(Arc<AtomicBool>);

/// Allows a test until it is dropped.
pub(super) struct TestPermit(Arc<AtomicBool>);

impl Gate {
    /// Enters, unless a test is running.
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

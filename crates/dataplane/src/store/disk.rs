//! Wraps a store on a disk: its calls are watched, and an emulated disk may limit their rate.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use garland_protocol::copy::DiskCall;

use super::{Store, StoreError};
use crate::calls::Calls;
use crate::pace::{self, Pace};
use crate::recorder::Collector;

/// Returns `store` with its disk calls watched. `pace` is the node's emulated disk, in a lab.
pub fn on_disk(pace: Option<&Arc<Pace>>, store: impl Store + 'static) -> Box<dyn Store> {
    let calls = Calls::default();
    calls.go_to(store.device());
    let name = store.name().into();
    let store = Box::new(store);
    let unstable = AtomicU64::new(0);
    Box::new(DiskStore { store, pace: pace.cloned(), calls, name, unstable })
}

struct DiskStore {
    store: Box<dyn Store>,
    pace: Option<Arc<Pace>>,
    calls: Calls,
    name: Arc<str>,
    /// The number of bytes that were written and have not been made stable yet.
    unstable: AtomicU64,
}

impl DiskStore {
    fn during<T>(&self, operation: DiskCall, bytes: u64, call: impl FnOnce() -> T) -> T {
        self.calls.during(operation, &self.name, bytes, call)
    }

    fn write<T>(&self, length: usize, call: impl FnOnce() -> T) -> T {
        self.unstable.fetch_add(length as u64, Ordering::Relaxed);
        self.during(DiskCall::Write, length as u64, call)
    }

    /// Runs `call`, then waits until the emulated disk would have transferred `bytes` bytes. The
    /// wait is outside of the watched call, since the real disk does not cause it.
    fn paced<T>(&self, bytes: usize, call: impl FnOnce() -> T) -> T {
        pace::on(self.pace.as_deref(), bytes, call)
    }
}

impl Store for DiskStore {
    fn wrapped(&self) -> Option<&dyn Store> {
        Some(&*self.store)
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let write = || self.write(bytes.len(), || self.store.write_at(offset, bytes));
        self.paced(bytes.len(), write)
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let length = bytes.len();
        let read = || self.store.read_at(offset, bytes);
        self.paced(length, || self.during(DiskCall::Read, length as u64, read))
    }

    // Bytes that stay in place, and holes, take no time on an emulated disk.
    fn bring(&self, offset: u64, length: usize) -> io::Result<usize> {
        self.write(length, || self.store.bring(offset, length))
    }

    fn leave_hole(&self, offset: u64, length: usize) -> io::Result<()> {
        self.write(length, || self.store.leave_hole(offset, length))
    }

    fn is_sparse(&self) -> bool {
        self.store.is_sparse()
    }

    fn has_hole(&self, offset: u64, length: usize) -> bool {
        self.store.has_hole(offset, length)
    }

    fn write_zeros(&self, offset: u64, length: usize) -> io::Result<()> {
        let write = || self.write(length, || self.store.write_zeros(offset, length));
        self.paced(length, write)
    }

    fn prepare(&self, trace: &Collector) -> Result<(), StoreError> {
        let bytes = self.unstable.swap(0, Ordering::Relaxed);
        self.during(DiskCall::Finish, bytes, || self.store.prepare(trace))
    }

    fn commit(&self, trace: &Collector) -> Result<(), StoreError> {
        let bytes = self.unstable.swap(0, Ordering::Relaxed);
        self.during(DiskCall::Finish, bytes, || self.store.commit(trace))
    }

    fn prove(&self, trace: &Collector, over: &dyn Fn() -> bool) -> Result<(), StoreError> {
        // The bytes are flushed, then read.
        let bytes = self.unstable.swap(0, Ordering::Relaxed).saturating_mul(2);
        self.during(DiskCall::Verify, bytes, || self.store.prove(trace, over))
    }

    fn abandon(&self) {
        self.during(DiskCall::Finish, 0, || self.store.abandon());
    }

    fn leave(&self) -> bool {
        self.during(DiskCall::Finish, 0, || self.store.leave())
    }

    fn settle(&self) {
        self.during(DiskCall::Finish, 0, || self.store.settle());
    }

    fn withdraw(&self) {
        self.during(DiskCall::Finish, 0, || self.store.withdraw());
    }

    fn name(&self) -> String {
        self.store.name()
    }

    fn calls(&self) -> Option<&Calls> {
        Some(&self.calls)
    }
}

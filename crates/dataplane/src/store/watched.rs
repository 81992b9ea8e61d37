//! A store on a disk that may not answer: its calls are seen while they are under way.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use garland_protocol::DiskCall;

use super::{Store, StoreError, Watcher};
use crate::calls::Calls;
use crate::recorder::Collector;

/// A store whose calls are seen.
pub struct WatchedStore {
    store: Box<dyn Store>,
    calls: Calls,
    name: Arc<str>,
    /// Bytes that were written and aren't stable yet.
    unstable: AtomicU64,
}

impl WatchedStore {
    /// Watches a store.
    pub fn new(store: Box<dyn Store>) -> Self {
        let calls = Calls::default();
        calls.go_to(store.device());
        let name = store.name().into();
        Self { store, calls, name, unstable: AtomicU64::new(0) }
    }

    fn during<T>(&self, operation: DiskCall, bytes: u64, call: impl FnOnce() -> T) -> T {
        self.calls.during(operation, &self.name, bytes, call)
    }

    fn write<T>(&self, length: usize, call: impl FnOnce() -> T) -> T {
        self.unstable.fetch_add(length as u64, Ordering::Relaxed);
        self.during(DiskCall::Write, length as u64, call)
    }
}

impl Store for WatchedStore {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write(bytes.len(), || self.store.write_at(offset, bytes))
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let length = bytes.len() as u64;
        self.during(DiskCall::Read, length, || self.store.read_at(offset, bytes))
    }

    fn bring(&self, offset: u64, length: usize) -> io::Result<usize> {
        self.write(length, || self.store.bring(offset, length))
    }

    fn write_zeros(&self, offset: u64, length: usize) -> io::Result<()> {
        self.write(length, || self.store.write_zeros(offset, length))
    }

    fn leave_hole(&self, offset: u64, length: usize) -> io::Result<()> {
        self.write(length, || self.store.leave_hole(offset, length))
    }

    fn prepare(&self, trace: &Collector) -> Result<(), StoreError> {
        let bytes = self.unstable.swap(0, Ordering::Relaxed);
        self.during(DiskCall::Finish, bytes, || self.store.prepare(trace))
    }

    fn settle(&self) {
        self.during(DiskCall::Finish, 0, || self.store.settle());
    }

    fn withdraw(&self) {
        self.during(DiskCall::Finish, 0, || self.store.withdraw());
    }

    fn commit(&self, trace: &Collector) -> Result<(), StoreError> {
        let bytes = self.unstable.swap(0, Ordering::Relaxed);
        self.during(DiskCall::Finish, bytes, || self.store.commit(trace))
    }

    fn prove(&self, trace: &Collector, over: &dyn Fn() -> bool) -> Result<(), StoreError> {
        // Made stable, and read.
        let bytes = self.unstable.swap(0, Ordering::Relaxed).saturating_mul(2);
        self.during(DiskCall::Verify, bytes, || self.store.prove(trace, over))
    }

    fn abandon(&self) {
        self.during(DiskCall::Finish, 0, || self.store.abandon());
    }

    fn is_holder(&self) -> bool {
        self.store.is_holder()
    }

    fn is_ordered(&self) -> bool {
        self.store.is_ordered()
    }

    fn name(&self) -> String {
        self.store.name()
    }

    fn path(&self) -> Vec<u8> {
        self.store.path()
    }

    fn device(&self) -> Option<u64> {
        self.store.device()
    }

    fn file(&self) -> Option<&File> {
        self.store.file()
    }

    fn leave(&self) -> bool {
        self.during(DiskCall::Finish, 0, || self.store.leave())
    }

    fn removed(&self) -> u64 {
        self.store.removed()
    }

    fn steps(&self) -> u64 {
        self.store.steps()
    }

    fn calls(&self) -> Option<&Calls> {
        Some(&self.calls)
    }

    fn attach(&self, text: Vec<u8>) {
        self.store.attach(text);
    }

    fn watch(&self, watcher: Watcher) {
        self.store.watch(watcher);
    }

    fn stop(&self) {
        self.store.stop();
    }
}

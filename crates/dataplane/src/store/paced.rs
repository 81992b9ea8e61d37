//! A file on a disk of a given speed.

use std::fs::File;
use std::io;
use std::sync::Arc;

use super::{Store, StoreError};
use crate::calls::Calls;
use crate::pace::Pace;
use crate::recorder::Collector;

/// What goes to the store and comes from it takes the disk's time.
pub struct PacedStore {
    store: Box<dyn Store>,
    disk: Arc<Pace>,
}

impl PacedStore {
    /// Puts a store on a disk.
    pub fn on(disk: Arc<Pace>, store: Box<dyn Store>) -> Self {
        Self { store, disk }
    }
}

impl Store for PacedStore {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.disk.pass(bytes.len(), || self.store.write_at(offset, bytes))
    }

    fn bring(&self, offset: u64, length: usize) -> io::Result<usize> {
        // What stays takes none of it either.
        self.store.bring(offset, length)
    }

    fn leave_hole(&self, offset: u64, length: usize) -> io::Result<()> {
        // It takes no time of the disk's.
        self.store.leave_hole(offset, length)
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.disk.pass(bytes.len(), || self.store.read_at(offset, bytes))
    }

    fn prepare(&self, trace: &Collector) -> Result<(), StoreError> {
        self.store.prepare(trace)
    }

    fn commit(&self, trace: &Collector) -> Result<(), StoreError> {
        self.store.commit(trace)
    }

    fn prove(&self, trace: &Collector, over: &dyn Fn() -> bool) -> Result<(), StoreError> {
        self.store.prove(trace, over)
    }

    fn path(&self) -> Vec<u8> {
        self.store.path()
    }

    fn abandon(&self) {
        self.store.abandon();
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

    fn device(&self) -> Option<u64> {
        self.store.device()
    }

    fn file(&self) -> Option<&File> {
        self.store.file()
    }

    fn steps(&self) -> u64 {
        self.store.steps()
    }

    fn calls(&self) -> Option<&Calls> {
        self.store.calls()
    }

    fn removed(&self) -> u64 {
        self.store.removed()
    }

    fn leave(&self) -> bool {
        self.store.leave()
    }
}

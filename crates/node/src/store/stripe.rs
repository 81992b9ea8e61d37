//! One stripe of a file, without gaps between its units, and the manifest beside it.

use std::io;
use std::sync::{Mutex, PoisonError};

use garland_core::plan::Stripe;
use garland_core::proto::DiskCall;

use super::file::Beside;
use super::{Store, StoreError};
use crate::calls::Calls;
use crate::recorder::Collector;

/// A file of one server's units.
pub struct StripeStore {
    stripe: Stripe,
    file: Box<dyn Store>,
    beside: Beside,
    manifest: Mutex<Vec<u8>>,
}

impl StripeStore {
    /// Puts a stripe into `file` and its manifest `beside` it.
    pub fn new(stripe: Stripe, beside: Beside, file: Box<dyn Store>) -> Self {
        Self { stripe, file, beside, manifest: Mutex::default() }
    }

    /// Does a call on the manifest; it is on the file's disk.
    fn during<T>(&self, call: impl FnOnce() -> T) -> T {
        match self.file.calls() {
            Some(calls) => calls.during(DiskCall::Finish, &self.name().into(), 0, call),
            None => call(),
        }
    }
}

impl Store for StripeStore {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_at(self.stripe.offset(offset), bytes)
    }

    fn leave_hole(&self, offset: u64, length: usize) -> io::Result<()> {
        self.file.leave_hole(self.stripe.offset(offset), length)
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.file.read_at(self.stripe.offset(offset), bytes)
    }

    /// The manifest is what makes a stripe one: an old one goes first, the new one comes last, so
    /// none ever lies beside a stripe that isn't its own.
    fn commit(&self, trace: &Collector) -> Result<(), StoreError> {
        let manifest = self.manifest.lock().unwrap_or_else(PoisonError::into_inner);
        self.during(|| self.beside.remove())?;
        self.file.commit(trace)?;
        self.during(|| self.beside.put(&manifest, trace))
    }

    fn prove(&self, trace: &Collector, over: &dyn Fn() -> bool) -> Result<(), StoreError> {
        self.file.prove(trace, over)
    }

    fn path(&self) -> Vec<u8> {
        self.file.path()
    }

    fn abandon(&self) {
        self.file.abandon();
    }

    fn is_holder(&self) -> bool {
        self.file.is_holder()
    }

    fn is_ordered(&self) -> bool {
        self.file.is_ordered()
    }

    fn device(&self) -> Option<u64> {
        self.file.device()
    }

    fn name(&self) -> String {
        self.file.name()
    }

    fn calls(&self) -> Option<&Calls> {
        self.file.calls()
    }

    fn attach(&self, text: Vec<u8>) {
        *self.manifest.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }
}

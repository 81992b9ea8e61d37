//! One stripe of a file, without gaps between its units, and the manifest beside it.
//!
//! A stripe and its manifest replace older ones in three steps. `prepare` writes both under hidden names
//! and makes them stable. `commit` gives the older pair further names (`x.old-TAG.stripe-1of3`), then
//! renames the new pair. `settle`, which comes after every server has committed, removes the older pair.
//! At every moment one of the two pairs is whole, and `withdraw` goes back to the older one.

use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use garland_core::plan::Stripe;
use garland_protocol::DiskCall;

use super::beside::{Aside, Beside};
use super::file::FileStore;
use super::{Store, StoreError};
use crate::calls::Calls;
use crate::recorder::Collector;

/// A file of one server's units.
pub struct StripeStore {
    stripe: Stripe,
    file: Box<dyn Store>,
    beside: Beside,
    manifest: Mutex<Vec<u8>>,
    phase: Mutex<Phase>,
}

/// How far a stripe is.
enum Phase {
    /// Blocks are being written.
    Writing,
    /// Both files are stable; this is the manifest's.
    Prepared(Box<FileStore>),
    /// Both have their final names, or are getting them; what they replaced is aside.
    Committed(Aside),
    /// There is nothing more to do or to take back.
    Settled,
}

impl StripeStore {
    /// Puts a stripe into `file` and its manifest `beside` it.
    pub fn new(stripe: Stripe, beside: Beside, file: Box<dyn Store>) -> Self {
        let (manifest, phase) = (Mutex::default(), Mutex::new(Phase::Writing));
        Self { stripe, file, beside, manifest, phase }
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
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

    fn prepare(&self, trace: &Collector) -> Result<(), StoreError> {
        let mut phase = self.phase();
        if !matches!(*phase, Phase::Writing) {
            return Ok(());
        }
        self.file.prepare(trace)?;
        let manifest = self.manifest.lock().unwrap_or_else(PoisonError::into_inner);
        let prepared = self.during(|| self.beside.prepare(&manifest, trace))?;
        *phase = Phase::Prepared(Box::new(prepared));
        Ok(())
    }

    /// The old manifest goes before the stripe is replaced and the new one comes after that, so that
    /// none ever lies beside a stripe that isn't its own.
    fn commit(&self, trace: &Collector) -> Result<(), StoreError> {
        self.prepare(trace)?;
        let mut phase = self.phase();
        let Phase::Prepared(manifest) = std::mem::replace(&mut *phase, Phase::Settled) else {
            return Ok(());
        };
        // What fails from here on can be taken back.
        *phase = Phase::Committed(self.during(|| self.beside.set_aside())?);
        self.during(|| self.beside.remove())?;
        self.file.commit(trace)?;
        self.during(|| manifest.commit(trace))
    }

    fn settle(&self) {
        let mut phase = self.phase();
        if matches!(*phase, Phase::Committed(_)) {
            *phase = Phase::Settled;
            self.during(|| self.beside.remove_asides());
        }
    }

    fn withdraw(&self) {
        let mut phase = self.phase();
        if let Phase::Committed(aside) = std::mem::replace(&mut *phase, Phase::Settled) {
            self.during(|| self.beside.bring_back(aside));
        }
    }

    fn prove(&self, trace: &Collector, over: &dyn Fn() -> bool) -> Result<(), StoreError> {
        self.file.prove(trace, over)
    }

    fn path(&self) -> Vec<u8> {
        self.file.path()
    }

    fn abandon(&self) {
        self.file.abandon();
        let mut phase = self.phase();
        if let Phase::Prepared(manifest) = &*phase {
            manifest.abandon();
            *phase = Phase::Settled;
        }
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

#[cfg(test)]
mod tests;

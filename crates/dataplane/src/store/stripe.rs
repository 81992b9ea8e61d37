//! One stripe of a file as a destination: its units, packed without gaps, and its manifest.
//!
//! A stripe and its manifest replace an older pair in three steps. `prepare` writes both under
//! hidden names and, if requested, makes them stable. `commit` links the older pair to further
//! names (`x.old-TAG.stripe-1of3`), then renames the new pair. `settle`, called after every server
//! has committed, removes the older pair. At every moment one of the two pairs is whole, and
//! `withdraw` restores the older one.

use std::fs::File;
use std::io;

use garland_core::plan::Stripe;
use garland_protocol::copy::DiskCall;
use garland_sys::sync::Mutex;

use super::file::FileStore;
use super::stripe_files::{Aside, StripeFiles};
use super::{Store, StoreError};
use crate::recorder::Collector;

/// A store that writes one server's stripe of a file, and its manifest.
pub struct StripeStore {
    stripe: Stripe,
    file: Box<dyn Store>,
    files: StripeFiles,
    manifest: Mutex<Vec<u8>>,
    phase: Mutex<Phase>,
}

/// The state of a stripe's files.
enum Phase {
    /// Blocks are being written.
    Writing,
    /// The stripe and the manifest are complete under hidden names. Contains the manifest.
    Prepared(Box<FileStore>),
    /// The stripe and the manifest have their final names, or are being renamed. Contains the older
    /// pair.
    Committed(Aside),
    /// Nothing is left to be done or undone.
    Settled,
}

impl StripeStore {
    /// Returns a store that writes `stripe` to `file`. `files` renames and removes the manifest and
    /// the older pair.
    pub fn new(stripe: Stripe, files: StripeFiles, file: Box<dyn Store>) -> Self {
        let manifest = Mutex::default();
        let phase = Mutex::new(Phase::Writing);
        Self { stripe, file, files, manifest, phase }
    }

    /// Runs and watches a call on the manifest or the older pair.
    fn during<T>(&self, call: impl FnOnce() -> T) -> T {
        match self.file.calls() {
            Some(calls) => calls.during(DiskCall::Finish, &self.name().into(), 0, call),
            None => call(),
        }
    }
}

impl Store for StripeStore {
    fn wrapped(&self) -> Option<&dyn Store> {
        Some(&*self.file)
    }

    /// Returns none: in the stripe the bytes have other offsets than in the source.
    fn file(&self) -> Option<&File> {
        None
    }

    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_at(self.stripe.offset(offset), bytes)
    }

    fn is_sparse(&self) -> bool {
        self.file.is_sparse()
    }

    fn has_hole(&self, offset: u64, length: usize) -> bool {
        self.file.has_hole(self.stripe.offset(offset), length)
    }

    fn leave_hole(&self, offset: u64, length: usize) -> io::Result<()> {
        self.file.leave_hole(self.stripe.offset(offset), length)
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.file.read_at(self.stripe.offset(offset), bytes)
    }

    fn prepare(&self, trace: &Collector) -> Result<(), StoreError> {
        let mut phase = self.phase.lock();
        if !matches!(*phase, Phase::Writing) {
            return Ok(());
        }
        self.file.prepare(trace)?;
        let manifest = self.manifest.lock();
        let prepared = self.during(|| self.files.prepare(&manifest, trace))?;
        *phase = Phase::Prepared(Box::new(prepared));
        Ok(())
    }

    /// Sets the older pair aside. Then removes its manifest, renames the stripe, and renames the
    /// new manifest, in this order: so no manifest ever describes another stripe.
    fn commit(&self, trace: &Collector) -> Result<(), StoreError> {
        self.prepare(trace)?;
        let mut phase = self.phase.lock();
        let Phase::Prepared(manifest) = std::mem::replace(&mut *phase, Phase::Settled) else {
            return Ok(());
        };
        // From here on a failure can be undone by `withdraw`.
        *phase = Phase::Committed(self.during(|| self.files.set_aside())?);
        self.during(|| self.files.remove())?;
        self.file.commit(trace)?;
        self.during(|| manifest.commit(trace))
    }

    fn settle(&self) {
        let mut phase = self.phase.lock();
        if matches!(*phase, Phase::Committed(_)) {
            *phase = Phase::Settled;
            self.during(|| self.files.remove_asides());
        }
    }

    fn withdraw(&self) {
        let mut phase = self.phase.lock();
        if let Phase::Committed(aside) = std::mem::replace(&mut *phase, Phase::Settled) {
            self.during(|| self.files.bring_back(aside));
        }
    }

    fn abandon(&self) {
        self.file.abandon();
        let mut phase = self.phase.lock();
        if let Phase::Prepared(manifest) = &*phase {
            manifest.abandon();
            *phase = Phase::Settled;
        }
    }

    fn name(&self) -> String {
        self.file.name()
    }

    fn attach(&self, text: Vec<u8>) {
        *self.manifest.lock() = text;
    }
}

#[cfg(test)]
mod tests;

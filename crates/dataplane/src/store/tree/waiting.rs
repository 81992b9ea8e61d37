//! Entries of a tree that wait until their data is stable before they are put in place. If the
//! power failed otherwise, a file that has just replaced an older one could be empty.
//!
//! Steps wait in batches, in the order of the stream. One syncfs(2) per batch, in a thread, makes
//! the data stable while the next batch gathers; then the steps are done. At most two batches wait:
//! [`BATCH`] steps each, of which each keeps one or two descriptors open and has one record in
//! memory, and [`BYTES`] bytes of files, for which the disk has space beside the files that they
//! replace, or one larger file. A batch also ends after a second.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use garland_sys::threads::{self, JoinHandle};
use garland_sys::{clock, limits, storage};

use super::directory::Directory;
use super::exact_names;
use super::placing::{Act, Step};
use crate::tree::WrittenFile;

/// The number of steps in a batch. It is smaller if the process may open few files.
pub const BATCH: usize = 512;

/// The number of bytes of the files in a batch from which on it is complete.
const BYTES: u64 = 256 << 20;

/// The time in nanoseconds after which a batch is complete, so that files appear over a slow wire,
/// too, and a killed agent loses few of them.
const LONGEST_NS: u64 = 1_000_000_000;

/// The rate in bytes/s from which on a sync is not slow, as for an fsync(2) of any file.
const RATE: u64 = 5_000_000;

/// The interval at which it looks whether a sync has ended.
const SYNC_CHECK_INTERVAL: Duration = Duration::from_millis(2);

/// A batch is complete at this part of the number of files that the process may have open. Two
/// batches take a quarter of them.
const SHARE: u64 = 16;

/// Names with this number of equal bytes at the beginning may have the same hidden name.
const ALIKE: usize = 200;

/// The steps that wait.
pub struct Waiting {
    batch: usize,
    /// The steps whose data is being made stable.
    syncing: Batch,
    sync: Option<JoinHandle<io::Result<()>>>,
    /// The steps after those.
    next: Batch,
    hashing: RandomState,
    /// Grows while a sync is not slower than [`RATE`], so that it is not taken for a disk that
    /// hangs.
    progress: Arc<AtomicU64>,
}

#[derive(Default)]
struct Batch {
    steps: Vec<Step>,
    bytes: u64,
    /// When its first step was added.
    since_ns: u64,
    /// Hashes of the entries that the steps change.
    places: HashSet<u64>,
}

impl Waiting {
    /// Returns an empty list with batches of `batch` steps.
    pub fn new(batch: usize, progress: Arc<AtomicU64>) -> Self {
        let most = usize::try_from(limits::open_files() / SHARE).unwrap_or(usize::MAX);
        let syncing = Batch::default();
        let next = Batch::default();
        let hashing = RandomState::new();
        let batch = batch.min(most).max(1);
        Self { batch, syncing, sync: None, next, hashing, progress }
    }

    /// Returns whether no step waits.
    pub fn is_empty(&self) -> bool {
        self.syncing.steps.is_empty() && self.next.steps.is_empty()
    }

    /// Returns whether the batch that gathers is complete.
    pub fn is_complete(&self) -> bool {
        if self.next.steps.is_empty() {
            return false;
        }
        let waits_ns = clock::now_ns().saturating_sub(self.next.since_ns);
        self.next.steps.len() >= self.batch || self.next.bytes >= BYTES || waits_ns >= LONGEST_NS
    }

    /// Returns whether the first batch waits no longer for the disk.
    pub fn has_become_stable(&self) -> bool {
        self.sync.as_ref().is_some_and(JoinHandle::is_finished)
    }

    /// Adds a step.
    pub fn push(&mut self, step: Step) {
        let place = step.place().map(|(directory, name)| self.hash(directory, name));
        self.next.places.extend(place);
        if self.next.steps.is_empty() {
            self.next.since_ns = clock::now_ns();
        }
        if let Act::Show { partial, .. } = &step.act {
            self.next.bytes += partial.length();
        }
        self.next.steps.push(step);
    }

    /// Returns whether a step may wait that changes the entry `name` of `directory`, or that needs
    /// the same hidden name.
    pub fn has(&self, directory: &Directory, name: &[u8]) -> bool {
        if self.is_empty() {
            return false;
        }
        let hash = self.hash(directory, name);
        self.syncing.places.contains(&hash) || self.next.places.contains(&hash)
    }

    fn hash(&self, directory: &Directory, name: &[u8]) -> u64 {
        // Where the file system ignores case, hidden names that differ in case are the same, too.
        let name = exact_names::lower(&name[..name.len().min(ALIKE)]);
        self.hashing.hash_one((directory.id, name))
    }

    /// Returns the files that wait, of the records `numbers`.
    pub fn files(&self, numbers: &RangeInclusive<u32>) -> Vec<WrittenFile> {
        let steps = self.syncing.steps.iter().chain(&self.next.steps);
        let file = |step: &Step| match &step.act {
            Act::Show { partial, number, .. } if numbers.contains(number) => {
                Some(partial.reader(*number))
            }
            _ => None,
        };
        steps.filter_map(file).collect()
    }

    /// Begins to make the data of the gathered batch stable, which is on `devices`. The batch
    /// before must have been taken.
    ///
    /// # Errors
    /// When no thread can be started, and a file system cannot be synced.
    pub fn begin_sync(&mut self, devices: Vec<Arc<OwnedFd>>) -> io::Result<()> {
        self.syncing = std::mem::take(&mut self.next);
        let its = devices.clone();
        match threads::spawn("tree-sync", move || sync_all(&its)) {
            Ok(thread) => self.sync = Some(thread),
            Err(_) => sync_all(&devices)?,
        }
        Ok(())
    }

    /// Waits until the data of the first batch is stable. Returns its steps.
    ///
    /// # Errors
    /// When a file system cannot be synced. Then it is not known what is stable, and nothing that
    /// waits may be put in place.
    pub fn take_stable(&mut self) -> io::Result<Vec<Step>> {
        if let Some(sync) = self.sync.take() {
            let patience_s = (self.syncing.bytes + self.next.bytes) / RATE;
            let slow_ns = clock::after(Duration::from_secs(patience_s));
            while !sync.is_finished() {
                let step = u64::from(!clock::until(slow_ns).is_zero());
                self.progress.fetch_add(step, Ordering::Relaxed);
                threads::sleep(SYNC_CHECK_INTERVAL);
            }
            sync.join().unwrap_or_else(|_| Err(io::Error::other("the sync ended early")))?;
        }
        Ok(std::mem::take(&mut self.syncing).steps)
    }

    /// Waits until the first batch is stable, at most until a time of the monotonic clock in
    /// nanoseconds. Returns whether it is.
    pub fn is_stable_by(&self, deadline_ns: u64) -> bool {
        let is_finished = || self.sync.as_ref().is_none_or(JoinHandle::is_finished);
        while !is_finished() && !clock::until(deadline_ns).is_zero() {
            threads::sleep(SYNC_CHECK_INTERVAL);
        }
        is_finished()
    }

    /// Takes all steps, to drop them.
    pub fn take_all(&mut self) -> Vec<Step> {
        let batches = [std::mem::take(&mut self.syncing), std::mem::take(&mut self.next)];
        batches.into_iter().flat_map(|batch| batch.steps).collect()
    }
}

fn sync_all(devices: &[Arc<OwnedFd>]) -> io::Result<()> {
    devices.iter().try_for_each(storage::sync_file_system)
}

//! A tree as a destination: a stream whose files appear in a directory, each whole or not at all.
//!
//! Unless the copy does without fsync, no file gets its final name before its data is stable. One
//! fsync(2) per file would take longer than everything else: files wait in batches, each of which
//! is made stable by one syncfs(2). What follows a file that waits, waits too, so that everything
//! is put in place in the order of the stream.
//!
//! Blocks are written in order and cannot be read back: a node that lacks a block gets it from the
//! head. If parts of a tree are in place before the copy, the position of every file in the stream
//! is known: then blocks are generated from the files, old and new ones, for this node and for
//! others.

mod dir_entry;
mod directory;
mod exact_names;
mod extract;
mod keep;
mod metadata;
mod partial;
mod placing;
mod previous;
mod proofs;
mod saved_attributes;
mod status;
mod surplus;
mod sweep;
mod trouble;
mod waiting;

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use garland_core::printable;
use garland_core::trace::Stage;
use garland_core::tree::{LimitCheck, Parser, Step};
use garland_protocol::copy::{Absence, TreeDestination, TreeLimits};
use garland_sys::confine::Root;
use garland_sys::storage;
use garland_sys::sync::Mutex;

use super::directory::{OpenDirectory, open_below};
use super::{Store, StoreError};
use crate::recorder::Collector;
use crate::store::tree::extract::TreeExtractor;
use crate::store::tree::metadata::OtherLists;
pub use crate::store::tree::previous::PreviousTree;
pub use crate::store::tree::status::{Checked, StatusCheck};
pub use crate::store::tree::surplus::Surplus;
use crate::store::tree::waiting::{BATCH, Waiting};

/// A store that extracts a tree into a directory.
pub struct TreeStore {
    name: String,
    device: Option<u64>,
    fsync: bool,
    /// The files of the tree that were in place before the copy.
    old: Option<Arc<PreviousTree>>,
    removed: Arc<AtomicU64>,
    /// The number of completed steps of the parser, which grows while a long call makes progress.
    steps: Arc<AtomicU64>,
    state: Mutex<State>,
}

struct State {
    parser: Parser,
    limits: LimitCheck,
    extractor: TreeExtractor,
    /// Whether the copy has ended, and all entries are in place except those with errors.
    is_placed: bool,
}

impl TreeStore {
    /// Opens the directory of `destination` below `root`; creates it if missing. `old` are the
    /// files of the tree that are in place. Hidden names of partial files contain `tag`.
    pub fn open(
        root: &Root,
        destination: &TreeDestination,
        tag: &str,
        old: Option<PreviousTree>,
    ) -> Result<Self, StoreError> {
        let TreeDestination { path, below, fsync, verify, keeps, limits } = destination;
        let TreeLimits { removes, swept, attributes, tops, files_only, excludes, grows } = limits;
        let limits = LimitCheck::new(tops.as_deref(), excludes, removes.is_some(), *attributes);
        let limits = limits.map_err(|error| {
            let path = printable::name(path);
            StoreError::refused("exclude files from", path, error.to_string())
        })?;
        let limits = limits.with_files_only(*files_only);
        let OpenDirectory { folder, path, .. } = open_below(root, path, below.as_deref())?;
        let name = printable::path(&path);
        let device = rustix::fs::fstat(&folder).ok().map(|stat| stat.st_dev);
        let below = |old: PreviousTree| Ok(Arc::new(old.below(folder.try_clone()?)));
        let old = old.map(below).transpose();
        let old = old.map_err(|error| StoreError::path("open the directory", &name, &error))?;
        let waits = *fsync && storage::outlives_power(&folder);
        let steps = Arc::new(AtomicU64::new(0));
        let waiting = waits.then(|| Waiting::new(BATCH, Arc::clone(&steps)));
        let lists = if *attributes { OtherLists::Go } else { OtherLists::Stay };
        let extractor = TreeExtractor::new(folder, tag, old.clone(), *verify, waiting)
            .map_err(|error| StoreError::path("open the directory", &name, &error))?
            .with_other_lists(lists)
            .keeping(*keeps)
            .removing_at_most(removes.unwrap_or(0))
            .sweeping(*swept)
            .with_growing_files(*grows);
        let removed = extractor.removed();
        let state = State { parser: Parser::default(), limits, extractor, is_placed: false };
        Ok(Self { name, device, fsync: *fsync, old, removed, steps, state: Mutex::new(state) })
    }

    /// Sets the counter of removed files and directories, which attempts at one copy share.
    pub fn counting_in(mut self, removed: &Arc<AtomicU64>) -> Self {
        self.state.lock().extractor.count_in(removed);
        self.removed = Arc::clone(removed);
        self
    }
}

impl State {
    /// Applies the next bytes of the stream. Increments `steps` for every step of the parser.
    fn apply(&mut self, mut bytes: &[u8], steps: &AtomicU64) -> io::Result<()> {
        let Self { parser, limits, extractor, .. } = self;
        while let Some(step) = parser.step(&mut bytes).map_err(io::Error::other)? {
            steps.fetch_add(1, Ordering::Relaxed);
            match step {
                Step::Record(record) => {
                    limits.check(&record).map_err(io::Error::other)?;
                    extractor.set_record(parser.records() - 1);
                    extractor.apply(record)?;
                }
                Step::Void(name) => extractor.keep(&name),
                Step::Bytes(part) => extractor.write(part)?,
                Step::Over(whole) => extractor.finish(whole)?,
            }
        }
        Ok(())
    }
}

impl Store for TreeStore {
    fn write_at(&self, _: u64, bytes: &[u8]) -> io::Result<()> {
        self.state.lock().apply(bytes, &self.steps)
    }

    /// Skips the zeros in a sparse file: they cost nothing there.
    fn write_zeros(&self, _: u64, length: usize) -> io::Result<()> {
        let mut state = self.state.lock();
        let mut left = length as u64;
        while left > 0 {
            let part = match state.parser.passable() {
                Some(inside) => {
                    let part = inside.min(left);
                    state.extractor.write_zeros(part)?;
                    state.parser.pass(part);
                    part
                }
                // The end of a file, or of what is no tree.
                None => {
                    state.apply(&[0], &self.steps)?;
                    1
                }
            };
            self.steps.fetch_add(1, Ordering::Relaxed);
            left -= part;
        }
        Ok(())
    }

    /// Skips records and files that stay in place, up to the first file that has to be written.
    fn bring(&self, offset: u64, length: usize) -> io::Result<usize> {
        let Some(old) = &self.old else { return Ok(0) };
        let mut state = self.state.lock();
        let mut at = offset;
        let end = offset + length as u64;
        while at < end {
            match state.parser.passable() {
                Some(_) if state.extractor.needs_bytes() => break,
                Some(left) => {
                    let part = left.min(end - at);
                    state.parser.pass(part);
                    at += part;
                }
                None => {
                    let bytes = old.record_bytes(at, end - at);
                    state.apply(bytes, &self.steps)?;
                    at += bytes.len() as u64;
                }
            }
        }
        Ok(usize::try_from(at - offset).unwrap_or(length))
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let Some(old) = &self.old else { return Err(io::ErrorKind::Unsupported.into()) };
        let numbers = old.records(offset, bytes.len());
        let written = self.state.lock().extractor.written(&numbers);
        old.read(&written, offset, bytes)
    }

    /// Puts the last files in place and makes everything stable, if that was requested. Fails if
    /// some files could not be put in place.
    fn commit(&self, trace: &Collector) -> Result<(), StoreError> {
        let mut state = self.state.lock();
        if !state.parser.is_over() {
            return Err(StoreError::Failed("the stream of the tree ended early".to_owned()));
        }
        if self.fsync {
            trace
                .time(Stage::Fsync, || {
                    state.extractor.settle()?;
                    state.extractor.make_stable()
                })
                .map_err(|error| StoreError::path("sync", &self.name, &error))?;
        }
        state.is_placed = true;
        state.extractor.troubles().map_err(StoreError::Failed)
    }

    /// Returns the entries with errors, if nothing else failed: otherwise others are absent, too.
    fn absence(&self) -> Option<Absence> {
        let state = self.state.lock();
        state.is_placed.then(|| state.extractor.absence().clone())
    }

    fn prove(&self, trace: &Collector, over: &dyn Fn() -> bool) -> Result<(), StoreError> {
        let mut state = self.state.lock();
        trace
            .time(Stage::Fsync, || state.extractor.prove(over))
            .map_err(|error| StoreError::path("verify", &self.name, &error))
    }

    fn abandon(&self) {
        self.state.lock().extractor.abandon();
    }

    fn removed(&self) -> u64 {
        self.removed.load(Ordering::Relaxed)
    }

    fn steps(&self) -> u64 {
        self.steps.load(Ordering::Relaxed)
    }

    fn is_holder(&self) -> bool {
        self.old.is_some()
    }

    fn is_ordered(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn device(&self) -> Option<u64> {
        self.device
    }
}

#[cfg(test)]
mod tests;

impl Drop for TreeStore {
    fn drop(&mut self) {
        self.state.lock().extractor.discard();
    }
}

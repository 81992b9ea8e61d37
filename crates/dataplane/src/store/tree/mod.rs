//! A tree: a stream whose files appear in a folder one by one, each whole or not at all.
//!
//! It is written in its order, and can't be read back: a node that lacks a block gets it from the
//! head. Where some of the tree is there already it is known what lies where in the stream; then blocks
//! are made of the files, old and new ones, and others are fed from them.

mod dir_entry;
mod extract;
mod keep;
mod metadata;
mod partial;
mod previous;
mod proofs;
mod saved_attributes;
mod sweep;
mod trouble;

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use garland_core::trace::Stage;
use garland_core::tree::{LimitCheck, Parser, Step};
use garland_protocol::{TreeDestination, TreeLimits};
use garland_sys::confine::Root;

use super::file::open_below;
use super::{Store, StoreError};
use crate::recorder::Collector;
use crate::store::tree::extract::TreeExtractor;
pub use crate::store::tree::previous::PreviousTree;
use garland_sys::error::reason;

/// A folder that a tree comes into.
pub struct TreeStore {
    name: String,
    device: Option<u64>,
    fsync: bool,
    /// What was there of the tree before it came.
    old: Option<Arc<PreviousTree>>,
    removed: Arc<AtomicU64>,
    /// Steps of the stream that were taken.
    steps: Arc<AtomicU64>,
    state: Mutex<State>,
}

struct State {
    parser: Parser,
    limits: LimitCheck,
    settler: TreeExtractor,
    steps: Arc<AtomicU64>,
}

impl TreeStore {
    /// Opens the directory of `destination`, and creates it if missing; what isn't whole has a hidden
    /// name with `tag` in it.
    pub fn open(
        root: &Root,
        destination: &TreeDestination,
        tag: &str,
        old: Option<PreviousTree>,
    ) -> Result<Self, StoreError> {
        let TreeDestination { path, below, fsync, verify, limits } = destination;
        let (fsync, verify) = (*fsync, *verify);
        let TreeLimits { removes, attributes, top, excludes } = limits;
        let limits = LimitCheck::new(top.as_deref(), excludes, *removes, *attributes);
        let limits = limits.map_err(|error| {
            let path = String::from_utf8_lossy(path).into_owned();
            StoreError::Path { operation: "excluding from", path, reason: error.to_string() }
        })?;
        let (folder, path, _) = open_below(root, path, below.as_deref())?;
        let path = path.as_path();
        let device = rustix::fs::fstat(&folder).ok().map(|stat| stat.st_dev);
        let below = |old: PreviousTree| Ok(Arc::new(old.below(folder.try_clone()?)));
        let old = old.map(below).transpose();
        let old = old.map_err(|error| StoreError::path("opening the folder", path, &error))?;
        let mut settler = TreeExtractor::new(folder, tag);
        if let Some(old) = &old {
            settler = settler.over(Arc::clone(old));
        }
        if verify {
            settler = settler
                .proving()
                .map_err(|error| StoreError::path("noting digests in", path, &error))?;
        }
        let (name, removed) = (path.display().to_string(), settler.removed());
        let steps: Arc<AtomicU64> = Arc::default();
        let (parser, counted) = (Parser::default(), Arc::clone(&steps));
        let state = Mutex::new(State { parser, limits, settler, steps: counted });
        Ok(Self { name, device, fsync, old, removed, steps, state })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Does what the stream's next bytes say.
    fn obey(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let Self { parser, limits, settler, steps } = self;
        while let Some(step) = parser.step(&mut bytes).map_err(io::Error::other)? {
            steps.fetch_add(1, Ordering::Relaxed);
            match step {
                Step::Record(record) => {
                    limits.check(&record).map_err(io::Error::other)?;
                    settler.come_to(parser.records() - 1);
                    settler.obey(record)?;
                }
                Step::Void(name) => settler.brought(&name),
                Step::Bytes(part) => settler.write(part)?,
                Step::Over(whole) => settler.finish(whole)?,
            }
        }
        Ok(())
    }
}

impl Store for TreeStore {
    fn write_at(&self, _: u64, bytes: &[u8]) -> io::Result<()> {
        self.state().obey(bytes)
    }

    /// Files that stay are passed over; the first that has to be written needs its bytes.
    fn bring(&self, offset: u64, length: usize) -> io::Result<usize> {
        let Some(old) = &self.old else { return Ok(0) };
        let mut state = self.state();
        let (mut at, end) = (offset, offset + length as u64);
        while at < end {
            match state.parser.passable() {
                Some(_) if state.settler.needs_bytes() => break,
                Some(left) => {
                    let part = left.min(end - at);
                    state.parser.pass(part);
                    at += part;
                }
                None => {
                    let words = old.words(at, end - at);
                    state.obey(words)?;
                    at += words.len() as u64;
                }
            }
        }
        Ok(usize::try_from(at - offset).unwrap_or(length))
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let Some(old) = &self.old else { return Err(io::ErrorKind::Unsupported.into()) };
        let growing = self.state().settler.growing()?;
        old.read(growing.as_ref(), offset, bytes)
    }

    /// All files have their names already: what is left is to make them stable, and to say what
    /// couldn't be put where it belongs.
    fn commit(&self, trace: &Collector) -> Result<(), StoreError> {
        let state = self.state();
        if !state.parser.is_over() {
            return Err(StoreError::Incomplete("the tree has no end".to_owned()));
        }
        if self.fsync {
            trace.time(Stage::Fsync, || state.settler.make_stable()).map_err(|error| {
                let (path, reason) = (self.name.clone(), reason(&error));
                StoreError::Path { operation: "making stable", path, reason }
            })?;
        }
        state.settler.troubles().map_err(StoreError::Incomplete)
    }

    fn prove(&self, trace: &Collector, over: &dyn Fn() -> bool) -> Result<(), StoreError> {
        let mut state = self.state();
        trace.time(Stage::Fsync, || state.settler.prove(over)).map_err(|error| {
            let (path, reason) = (self.name.clone(), reason(&error));
            StoreError::Path { operation: "verifying", path, reason }
        })
    }

    fn abandon(&self) {
        self.state().settler.abandon();
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
        self.abandon();
    }
}

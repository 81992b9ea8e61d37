//! Where a node's bytes end up.

mod file;
mod null;
mod output;
mod paced;
mod scratch;
mod stripe;
mod tree;

use std::io;
use std::sync::Arc;

use garland_core::plan::{Layout, Stripe};
use garland_core::proto::Destination;
use garland_sys::confine::Root;
use thiserror::Error;

use crate::pace::Pace;
use crate::recorder::Collector;
use crate::usage::Usage;

/// A sink's bytes. Blocks may be written from several threads at once, each once.
pub trait Store: Send + Sync {
    /// Writes all of `bytes` at `offset`.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Reads back bytes that were written.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()>;
    /// Makes what was written appear, whole, and notes what that took. Called once, after the last
    /// block.
    fn commit(&self, trace: &Collector) -> Result<(), StoreError>;
    /// Removes what was written, unless it was committed.
    fn abandon(&self);
    /// Whether what was written can be read back.
    fn is_holder(&self) -> bool;
    /// Whether blocks must come in their order.
    fn is_ordered(&self) -> bool;
    /// What it is, for messages.
    fn name(&self) -> String;
    /// The number of the device that it is on, if it is on one.
    fn device(&self) -> Option<u64> {
        None
    }
    /// What is to stand beside it once it is committed.
    fn attach(&self, _text: Vec<u8>) {}
}

/// Why bytes can't be put where they should go.
#[derive(Debug, Error)]
pub enum StoreError {
    /// A system call on a path failed.
    #[error("{operation} {path}: {reason}")]
    Path {
        /// What was tried.
        operation: &'static str,
        /// On what.
        path: String,
        /// Why it failed.
        reason: String,
    },
    /// There is less room than the source has bytes.
    #[error("no space left on {path}: {needed} bytes needed, {free} free")]
    NoSpace {
        /// The folder.
        path: String,
        /// Bytes of the source.
        needed: u64,
        /// Bytes free for this user.
        free: u64,
    },
    /// A file without a name can't be had.
    #[error("{0}")]
    Scratch(String),
    /// Some of a tree isn't there; the rest is.
    #[error("{0}")]
    Incomplete(String),
}

impl StoreError {
    fn path(operation: &'static str, path: &std::path::Path, error: &io::Error) -> Self {
        let path = path.display().to_string();
        Self::Path { operation, path, reason: reason(error) }
    }
}

/// An error's reason in words, without the system's number.
#[must_use]
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}

/// Opens the destination of a copy of `layout` under `root`, or of one `stripe` of it, named for the
/// copy `tag`; a file is on `disk`, if there is one. How long a scratch file is at work is noted in
/// `usage`.
///
/// # Errors
/// When the path can't be, isn't allowed, or has no room.
pub fn open(
    destination: &Destination,
    root: &Root,
    layout: Layout,
    stripe: Option<Stripe>,
    tag: &str,
    disk: Option<&Arc<Pace>>,
    usage: &Arc<Usage>,
) -> Result<Box<dyn Store>, StoreError> {
    match destination {
        Destination::File { path, name, mode, times, fsync } => {
            let suffix = stripe.map_or_else(String::new, |stripe| stripe.suffix());
            let length = stripe.map_or(layout.length, |stripe| stripe.length(layout.length));
            let file = file::FileStore::create(root, path, name, &suffix, length, tag)?;
            let file = file.with(*mode, *times, *fsync);
            let beside = stripe.map(|stripe| (stripe, file.beside(MANIFEST, tag)));
            let file: Box<dyn Store> = match disk {
                Some(disk) => Box::new(paced::PacedStore::on(Arc::clone(disk), Box::new(file))),
                None => Box::new(file),
            };
            Ok(match beside {
                Some((stripe, beside)) => {
                    let opening = |error: io::Error| StoreError::Path {
                        operation: "opening the folder of",
                        path: file.name(),
                        reason: reason(&error),
                    };
                    Box::new(stripe::StripeStore::new(stripe, beside.map_err(opening)?, file))
                }
                None => file,
            })
        }
        Destination::Tree { path, fsync } => {
            let tree = tree::TreeStore::open(root, path, *fsync, tag)?;
            Ok(match disk {
                Some(disk) => Box::new(paced::PacedStore::on(Arc::clone(disk), Box::new(tree))),
                None => Box::new(tree),
            })
        }
        Destination::Null => Ok(Box::new(null::NullStore)),
        Destination::Output => Ok(Box::new(output::OutputStore)),
        Destination::Scratch { path, fsync } => {
            let (disk, usage) = (disk.cloned(), Arc::clone(usage));
            let place = (path.as_slice(), *fsync);
            let store = scratch::ScratchStore::create(root, place, layout.length, disk, usage)?;
            Ok(Box::new(store))
        }
    }
}

/// What a manifest's name has behind its stripe's.
pub const MANIFEST: &str = ".toml";

/// Hidden names for files that aren't whole, and what killed agents left of them.
pub use file::{partial_name, remove_stale};
/// The head's place for bytes: it reads from its source and receives nothing.
pub use null::NullStore as NoStore;

//! Where a node's bytes end up.

mod beside;
mod command;
mod device;
mod fifo;
mod file;
mod forget;
mod kept;
mod left;
mod null;
mod outflow;
mod output;
mod paced;
mod scratch;
mod special;
mod stripe;
mod tree;
mod watched;

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use garland_core::plan::{Layout, Stripe};
use garland_protocol::Destination;
use garland_sys::confine::Root;
use garland_sys::error::reason;
use thiserror::Error;

use self::file::{FileStore, Size};
use crate::calls::Calls;
use crate::pace::Pace;
use crate::recorder::Collector;
use crate::usage::Usage;

/// A sink's bytes. Blocks may be written from several threads at once, each once.
pub trait Store: Send + Sync {
    /// Writes all of `bytes` at `offset`.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Reads back bytes that were written.
    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()>;
    /// Does without the bytes of a block of `length` bytes at `offset` that is here already: for so many
    /// of them. The others have to be written, from what can be read here.
    fn bring(&self, _offset: u64, _length: usize) -> io::Result<usize> {
        Ok(0)
    }
    /// Writes so many zeros at `offset`.
    fn write_zeros(&self, offset: u64, length: usize) -> io::Result<()> {
        static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
        let mut done = 0;
        while done < length {
            let step = ZEROS.len().min(length - done);
            self.write_at(offset + done as u64, &ZEROS[..step])?;
            done += step;
        }
        Ok(())
    }
    /// Leaves a hole of so many bytes at `offset`, where there can be one; it reads as zeros.
    fn leave_hole(&self, offset: u64, length: usize) -> io::Result<()> {
        self.write_zeros(offset, length)
    }
    /// Makes everything ready that must be there before [`Store::commit`], and notes what that took.
    fn prepare(&self, _trace: &Collector) -> Result<(), StoreError> {
        Ok(())
    }
    /// Makes what was written appear, whole, and notes what that took. Called once, after the last
    /// block.
    fn commit(&self, trace: &Collector) -> Result<(), StoreError>;
    /// Makes what was written stable and has this machine's memory forget it, so that all that is
    /// read from now on comes from the medium. What can't be read back by blocks is compared with
    /// what came here already, as long as the copy isn't `over`.
    fn prove(&self, _trace: &Collector, _over: &dyn Fn() -> bool) -> Result<(), StoreError> {
        let reason = "nothing can be read back".to_owned();
        Err(StoreError::Path { operation: "verifying", path: self.name(), reason })
    }
    /// Removes what was written, unless it was committed.
    fn abandon(&self);
    /// Whether what was written can be read back.
    fn is_holder(&self) -> bool;
    /// Whether blocks must come in their order.
    fn is_ordered(&self) -> bool;
    /// What it is, for messages.
    fn name(&self) -> String;
    /// Its path, in the system's bytes, if it is a file's.
    fn path(&self) -> Vec<u8> {
        self.name().into_bytes()
    }
    /// The number of the device that it is on, if it is on one.
    fn device(&self) -> Option<u64> {
        None
    }
    /// The file that has the bytes as they were sent, if one does.
    fn file(&self) -> Option<&File> {
        None
    }
    /// Leaves what was written for the next copy to go on with, instead of removing it; says whether
    /// it does.
    fn leave(&self) -> bool {
        false
    }
    /// How many names it has removed, since the source hasn't them.
    fn removed(&self) -> u64 {
        0
    }
    /// All nodes have committed: removes what the commit replaced, if that was kept.
    fn settle(&self) {}
    /// The copy was given up: puts back what the commit replaced, unless it is settled.
    fn withdraw(&self) {}
    /// How much it has done within its calls: a number that grows while one of them gets on.
    fn steps(&self) -> u64 {
        0
    }
    /// Its calls that are under way, if it is on a disk. What waits for a reader is never stuck.
    fn calls(&self) -> Option<&Calls> {
        None
    }
    /// What is to stand beside it once it is committed.
    fn attach(&self, _text: Vec<u8>) {}
    /// Has `watcher` told when this fails by itself, while nobody asks anything of it.
    fn watch(&self, _watcher: Watcher) {}
    /// The copy is over here: ends what waits in this store, and what runs behind it.
    fn stop(&self) {}
}

/// Hears why something has failed by itself.
pub type Watcher = Box<dyn FnOnce(String) + Send>;

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
    /// A command couldn't be run, or says that it has failed.
    #[error("{0}")]
    Command(String),
    /// Some of a tree isn't there; the rest is.
    #[error("{0}")]
    Incomplete(String),
}

impl StoreError {
    fn path(operation: &'static str, path: &Path, error: &io::Error) -> Self {
        let path = path.display().to_string();
        Self::Path { operation, path, reason: reason(error) }
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
        Destination::File { .. } => open_file(destination, root, layout, stripe, tag, disk),
        Destination::Tree(tree) => Ok(on_disk(disk, tree::TreeStore::open(root, tree, tag, None)?)),
        Destination::Null => Ok(Box::new(null::NullStore)),
        Destination::Output => Ok(Box::new(output::OutputStore)),
        Destination::Command(line) => {
            let folder = match root {
                Root::Confined(_, folder) => Some(folder.as_path()),
                Root::Free => None,
            };
            Ok(Box::new(command::CommandStore::start(line, folder)?))
        }
        Destination::Scratch { path, fsync } => {
            let (disk, usage) = (disk.cloned(), Arc::clone(usage));
            let place = (path.as_slice(), *fsync);
            let store = scratch::ScratchStore::create(root, place, layout.length, disk, usage)?;
            Ok(Box::new(store))
        }
    }
}

/// The same where it is a file.
fn open_file(
    destination: &Destination,
    root: &Root,
    layout: Layout,
    stripe: Option<Stripe>,
    tag: &str,
    disk: Option<&Arc<Pace>>,
) -> Result<Box<dyn Store>, StoreError> {
    let Destination::File { path, below, name, mode, times, fsync, room, force_device } =
        destination
    else {
        return Err(StoreError::Incomplete("it is no file".to_owned()));
    };
    let given = Path::new(OsStr::from_bytes(path));
    let known = (!layout.open).then_some(layout.length);
    let how = (*force_device, *fsync);
    if stripe.is_none()
        && below.is_none()
        && let Some(store) = special::open(root, given, known, how)?
    {
        return Ok(store);
    }
    let suffix = stripe.map_or_else(String::new, |stripe| stripe.suffix());
    // A stream's file grows as it comes.
    let whole = if layout.open { 0 } else { layout.length };
    let length = stripe.map_or(whole, |stripe| stripe.length(whole));
    let size = Size { length, room: length.min(*room) };
    let file = match below.as_deref().filter(|_| stripe.is_none()) {
        Some(below) => FileStore::create_below(root, (path, below), name, size, tag)?,
        None => FileStore::create(root, path, name, &suffix, size, tag)?,
    };
    let file = file.with(Metadata { mode: *mode, times: *times, fsync: *fsync });
    let beside = stripe.map(|stripe| (stripe, file.beside(&suffix, tag)));
    let file = on_disk(disk, file);
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

/// The same for a file of which an interrupted copy `left` something.
///
/// # Errors
/// When it can't be gone on with.
pub fn resume(
    destination: &Destination,
    root: &Root,
    layout: Layout,
    tag: &str,
    disk: Option<&Arc<Pace>>,
    left: Left,
) -> Result<Box<dyn Store>, StoreError> {
    let Destination::File { path, name, mode, times, fsync, .. } = destination else {
        return Err(StoreError::Incomplete("only files are gone on with".to_owned()));
    };
    let file = FileStore::resume(root, path, name, layout.length, tag, left)?;
    Ok(on_disk(disk, file.with(Metadata { mode: *mode, times: *times, fsync: *fsync })))
}

/// The same for a tree of which some is there, as `old` says.
///
/// # Errors
/// When it can't go there.
pub fn refresh(
    destination: &Destination,
    root: &Root,
    tag: &str,
    disk: Option<&Arc<Pace>>,
    old: PreviousTree,
) -> Result<Box<dyn Store>, StoreError> {
    let Destination::Tree(tree) = destination else {
        return Err(StoreError::Incomplete("only trees have files".to_owned()));
    };
    Ok(on_disk(disk, tree::TreeStore::open(root, tree, tag, Some(old))?))
}

/// A store on the node's disk, if it has one of its own.
pub fn on_disk(disk: Option<&Arc<Pace>>, store: impl Store + 'static) -> Box<dyn Store> {
    let store = Box::new(watched::WatchedStore::new(Box::new(store)));
    match disk {
        // What an emulated disk waits is no fault of the real one.
        Some(disk) => Box::new(paced::PacedStore::on(Arc::clone(disk), store)),
        None => store,
    }
}

/// What a manifest's name has behind its stripe's.
pub const MANIFEST: &str = ".toml";

pub use file::{Metadata, target};
pub use kept::KeptStore;
/// Hidden names for files that aren't whole, and what interrupted copies left of them.
pub use left::{Left, is_partial_name, partial_name, remove_stale};
/// The head's place for bytes: it reads from its source and receives nothing.
pub use null::NullStore as NoStore;
/// What was there of a tree.
pub use tree::PreviousTree;

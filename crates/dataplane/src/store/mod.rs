//! Destinations of a copy: files, stripes, trees, devices, pipes, commands.

mod access;
mod command;
mod device;
mod directory;
mod disk;
mod error;
mod fifo;
mod file;
mod files;
mod forget;
mod freeing;
mod interface;
mod kept;
pub mod left;
mod null;
mod outflow;
mod output;
mod replaced;
mod scratch;
mod special;
mod stripe;
mod stripe_files;
mod test_file;
mod times;
mod tree;
mod unset;

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use garland_core::plan::{Layout, Stripe};
use garland_protocol::copy::{Destination, FileTarget};
use garland_sys::confine::Root;

use self::file::{FileStore, Size};
use self::left::Left;
use self::scratch::ScratchStore;
use self::stripe_files::StripeFiles;
use crate::pace::Pace;
use crate::usage::Usage;

pub use directory::{missing_directory, target};
pub use disk::on_disk;
pub use error::StoreError;
pub use file::{Metadata, lack_of_room};
pub use interface::Store;
pub use kept::KeptStore;
/// The store of a head that reads the source; such a head receives no blocks.
pub use null::NullStore as NoStore;
pub use stripe_files::MANIFEST;
pub use test_file::TestFile;
pub use tree::{Checked, PreviousTree, StatusCheck, Surplus};

/// Files that were found at a destination before the copy, and that the copy uses.
pub enum Present {
    /// Nothing that the copy uses.
    Nothing,
    /// The partial file of an interrupted copy, which is resumed.
    Left(Left),
    /// The files of the tree that are in place.
    Tree(PreviousTree),
}

/// Where a destination is opened, and what its store may use there.
pub struct StorePlace<'a> {
    /// The directory below which paths are resolved.
    pub root: &'a Root,
    /// A part of the hidden names that belong to the copy.
    pub tag: &'a str,
    /// The node's emulated disk, if it has one.
    pub disk: Option<&'a Arc<Pace>>,
    /// Adds up the time during which a scratch file is in use.
    pub usage: &'a Arc<Usage>,
    /// Takes a line on what failed when it was too late to fail the copy.
    pub log: fn(&str),
    /// Counts the files and directories that are removed.
    pub removed: &'a Arc<AtomicU64>,
}

/// Opens the destination of a copy of `layout`, or of one `stripe` of the copy. `present` is what
/// the destination already has.
///
/// # Errors
/// When the destination cannot be created, is not allowed, or has not enough space.
pub fn open(
    destination: &Destination,
    layout: Layout,
    stripe: Option<Stripe>,
    present: Present,
    place: &StorePlace<'_>,
) -> Result<Box<dyn Store>, StoreError> {
    let &StorePlace { root, tag, disk, usage, removed, .. } = place;
    match destination {
        Destination::File {
            path,
            below,
            name,
            mode,
            keeps_mode,
            times,
            fsync,
            room,
            grows,
            force_device,
        } => {
            let metadata =
                Metadata { mode: *mode, keeps_mode: *keeps_mode, times: *times, fsync: *fsync };
            // The file of a stream has no known length: it grows.
            let known = (!layout.open).then_some(layout.length);
            let whole = known.unwrap_or(0);
            let length = stripe.map_or(whole, |stripe| stripe.length(whole));
            let size = Size { length, room: length.min(*room), grows: *grows };
            if let Present::Left(left) = present {
                let file = FileStore::resume(root, path, name, size, tag, left)?;
                return Ok(on_disk(disk, file.with(metadata)));
            }
            let given = Path::new(OsStr::from_bytes(path));
            if stripe.is_none()
                && below.is_none()
                && let Some(store) = special::open(root, given, known, *force_device, *fsync)?
            {
                return Ok(store);
            }
            let suffix = stripe.map_or_else(String::new, |stripe| stripe.suffix());
            let file = match below.as_deref().filter(|_| stripe.is_none()) {
                Some(below) => FileStore::create_below(root, path, below, name, size, tag)?,
                None => FileStore::create(root, path, name, &suffix, size, tag)?,
            };
            let file = file.with(metadata);
            let Some(stripe) = stripe else { return Ok(on_disk(disk, file)) };
            let files = StripeFiles::new(&file, &suffix, tag, place.log)?;
            Ok(Box::new(stripe::StripeStore::new(stripe, files, on_disk(disk, file))))
        }
        Destination::Files { files, fsync } => match &files[..] {
            // A single file may also be a pipe or a device.
            [file] => open(&alone(file, *fsync), layout, None, present, place),
            files => Ok(on_disk(disk, files::FilesStore::create(root, files, *fsync, tag)?)),
        },
        Destination::Tree(tree) => {
            let old = match present {
                Present::Tree(old) => Some(old),
                Present::Nothing | Present::Left(_) => None,
            };
            let store = tree::TreeStore::open(root, tree, tag, old)?.counting_in(removed);
            Ok(on_disk(disk, store))
        }
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
            let file = TestFile::create(root, path, layout.length)?;
            let disk = disk.cloned();
            let usage = Arc::clone(usage);
            Ok(Box::new(ScratchStore::new(file, path, *fsync, disk, usage)))
        }
    }
}

/// Returns the destination of the only one of several files.
fn alone(file: &FileTarget, fsync: bool) -> Destination {
    Destination::File {
        path: file.path.clone(),
        below: None,
        name: Vec::new(),
        mode: file.mode,
        keeps_mode: false,
        times: None,
        fsync,
        room: file.room,
        grows: false,
        force_device: false,
    }
}

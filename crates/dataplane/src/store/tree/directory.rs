//! The directories of a tree, which are opened without following symbolic links.

use std::io;
use std::iter::successors;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Mode, Stat, fchmod};

use super::exact_names::ExactNames;
use super::saved_attributes::SavedAttributes;
use crate::store::access::OWNER;
use crate::tree::open_directory;

/// A directory of the tree, which stays open while something is to be done in it.
pub struct Directory {
    /// The open directory.
    pub folder: OwnedFd,
    /// The properties of the directory that are known so far.
    pub saved: SavedAttributes,
    /// What is known of the names in it.
    pub names: ExactNames,
    /// Its device and inode number.
    pub id: (u64, u64),
    /// Its name; empty for the top.
    pub name: Vec<u8>,
    /// The directory that it is in; none for the top.
    pub above: Option<Arc<Directory>>,
    /// Whether nothing is removed from it, because something in it failed.
    stays: AtomicBool,
}

impl Directory {
    /// Returns the open directory `folder` with status `stat`, which is called `name` in `above`.
    pub fn new(folder: OwnedFd, stat: &Stat, name: &[u8], above: Option<Arc<Self>>) -> Self {
        Self {
            folder,
            saved: SavedAttributes::default(),
            names: above.as_ref().map(|above| above.names.of_same_tree()).unwrap_or_default(),
            id: (stat.st_dev, stat.st_ino),
            name: name.to_vec(),
            above,
            stays: AtomicBool::new(false),
        }
    }

    /// Returns the path of `name` in this directory, relative to the top.
    pub fn path_of(&self, name: &[u8]) -> Vec<u8> {
        let inside = successors(Some(self), |directory| directory.above.as_deref());
        let inside = inside.filter(|directory| directory.above.is_some());
        let mut names: Vec<&[u8]> = inside.map(|directory| directory.name.as_slice()).collect();
        names.reverse();
        names.push(name);
        names.join(&b'/')
    }

    /// Records a failure in the directory: nothing is removed from it.
    pub fn set_stays(&self) {
        self.stays.store(true, Ordering::Relaxed);
    }

    /// Returns whether nothing is removed from the directory.
    pub fn stays(&self) -> bool {
        self.stays.load(Ordering::Relaxed)
    }
}

/// Opens the directory whose path below `top` consists of `names`.
pub fn descend<'a>(
    top: &OwnedFd,
    names: impl IntoIterator<Item = &'a [u8]>,
) -> io::Result<OwnedFd> {
    let mut folder = top.try_clone()?;
    for name in names {
        folder = open_directory(&folder, name)?;
    }
    Ok(folder)
}

/// Takes back from `folder`, which stays, what [`allow_owner`] gave it; `stat` was its status
/// before.
pub fn close_again(folder: &OwnedFd, stat: &Stat) {
    let mode = stat.st_mode & 0o7777;
    if mode & OWNER != OWNER {
        // Only the owner and root may do this; for others `allow_owner` has changed nothing.
        let _ = fchmod(folder, Mode::from_raw_mode(mode));
    }
}

/// Adds the permissions [`OWNER`] to those of `folder`, whose status is `stat`. Errors are ignored:
/// later calls report them.
pub fn allow_owner(folder: &OwnedFd, stat: &Stat) {
    let mode = stat.st_mode & 0o7777;
    if mode & OWNER != OWNER {
        // Only the owner and root may do this; for other users a later call reports the error.
        let _ = fchmod(folder, Mode::from_raw_mode(mode | OWNER));
    }
}

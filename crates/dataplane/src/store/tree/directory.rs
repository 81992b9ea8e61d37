//! Opens the directories of a tree without following symbolic links.

use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, Stat, fchmod};

use crate::tree::open_directory;

/// The permission bits that the owner needs to create files in a directory.
pub const OWNER: u32 = 0o700;

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

/// Adds the permissions [`OWNER`] to those of `folder`, whose status is `stat`. Errors are ignored:
/// later calls report them.
pub fn allow_owner(folder: &OwnedFd, stat: &Stat) {
    let mode = stat.st_mode & 0o7777;
    if mode & OWNER != OWNER {
        // Only the owner and root may do this; for other users a later call reports the error.
        let _ = fchmod(folder, Mode::from_raw_mode(mode | OWNER));
    }
}

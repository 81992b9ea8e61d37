//! Calls that change what is on a disk: the data of files, their names, and what survives a loss of
//! power. In a simulated world they take time, and may fail.

mod operation;

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use rustix::fs::{fsync, renameat, syncfs};

pub use self::operation::Operation;
use crate::world;

/// Writes all of `bytes` at `offset`.
///
/// # Errors
/// When the disk is full or broken. A part may have been written.
pub fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    world::use_disk(Operation::Write)?;
    file.write_all_at(bytes, offset)
}

/// Makes the data and metadata of a file stable, or the entries of a directory (fsync(2)).
///
/// # Errors
/// When the disk is broken. What was written before may be lost, even if a later call succeeds.
pub fn sync(file: impl AsFd) -> io::Result<()> {
    world::use_disk(Operation::Sync)?;
    Ok(fsync(file)?)
}

/// Makes everything on the file system of an open file stable (syncfs(2)).
///
/// # Errors
/// Those of [`sync`].
pub fn sync_file_system(file: impl AsFd) -> io::Result<()> {
    world::use_disk(Operation::Sync)?;
    Ok(syncfs(file)?)
}

/// Renames an entry of a directory; an existing file with the new name is replaced.
///
/// # Errors
/// When there is no such entry, or the new name cannot be replaced.
pub fn rename(folder: impl AsFd, from: &OsStr, to: &OsStr) -> io::Result<()> {
    world::use_disk(Operation::Rename)?;
    Ok(renameat(&folder, from, &folder, to)?)
}

//! Calls that change what is on a disk: the data of files, their names, and what survives a loss of
//! power. In a simulated world they take time, and may fail.

mod operation;

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::fs::FileExt;

use rustix::fs::{
    AtFlags, CWD, RenameFlags, fstat, fstatfs, fsync, linkat, major, renameat, renameat_with,
    syncfs, unlinkat,
};
use rustix::io::Errno;

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
    // What is written meanwhile need not become stable.
    let stable = world::look_at_disk(Some(file.as_fd()));
    world::use_disk(Operation::Sync)?;
    fsync(&file)?;
    world::is_stable(stable);
    Ok(())
}

/// Makes everything on the file system of an open file stable (syncfs(2)).
///
/// # Errors
/// Those of [`sync`].
pub fn sync_file_system(file: impl AsFd) -> io::Result<()> {
    let stable = world::look_at_disk(None);
    world::use_disk(Operation::Sync)?;
    syncfs(file)?;
    world::is_stable(stable);
    Ok(())
}

/// Returns whether a file is on a file system that exists only in memory.
///
/// # Errors
/// When the file system cannot be asked.
pub fn is_in_memory(file: impl AsFd) -> io::Result<bool> {
    const TMPFS: i64 = 0x0102_1994;
    const RAMFS: i64 = 0x8584_58f6;
    Ok([TMPFS, RAMFS].contains(&fstatfs(file)?.f_type))
}

/// Returns whether a file is on a file system that is on one block device itself: not in memory, on
/// a network, or on several devices.
///
/// # Errors
/// When the status of the file cannot be read.
pub fn is_on_block_device(file: impl AsFd) -> io::Result<bool> {
    Ok(major(fstat(file)?.st_dev) != 0)
}

/// Returns whether the space of a file is freed by the process that closes it last after its name
/// was removed: it is in memory or on one block device, and not on a network or on several devices.
/// In a simulated world that takes no time.
///
/// # Errors
/// When the file or its file system cannot be asked.
pub fn frees_itself(file: impl AsFd) -> io::Result<bool> {
    Ok(!world::inside() && (is_on_block_device(&file)? || is_in_memory(&file)?))
}

/// Returns whether what is synced on the file system of an open file survives a loss of power. In a
/// simulated world all file systems stand for disks.
pub fn outlives_power(file: impl AsFd) -> bool {
    world::inside() || !is_in_memory(file).unwrap_or(false)
}

/// Renames an entry of a directory; an existing file with the new name is replaced.
///
/// # Errors
/// When there is no such entry, or the new name cannot be replaced.
pub fn rename(folder: impl AsFd, from: &OsStr, to: &OsStr) -> rustix::io::Result<()> {
    world::use_disk(Operation::Rename)?;
    renameat(&folder, from, &folder, to)
}

/// Renames an entry of a directory unless something has the new name.
///
/// # Errors
/// EEXIST when the new name exists; EINVAL or ENOSYS where the file system or the kernel cannot do
/// this.
pub fn rename_new(folder: impl AsFd, from: &OsStr, to: &OsStr) -> rustix::io::Result<()> {
    world::use_disk(Operation::Rename)?;
    renameat_with(&folder, from, &folder, to, RenameFlags::NOREPLACE)
}

/// Gives a file a further name in its directory.
///
/// # Errors
/// When the new name exists, or the file system has no hard links.
pub fn link(folder: impl AsFd, from: &OsStr, to: &OsStr) -> rustix::io::Result<()> {
    world::use_disk(Operation::Link)?;
    linkat(&folder, from, &folder, to, AtFlags::empty())
}

/// Gives an open file without a name the name `to` in `folder`. Before Linux 6.10 an unprivileged
/// process can do that only through the file's entry in /proc.
///
/// # Errors
/// When the name exists.
pub fn name(file: &File, folder: impl AsFd, to: &OsStr) -> rustix::io::Result<()> {
    world::use_disk(Operation::Link)?;
    match linkat(file, "", &folder, to, AtFlags::EMPTY_PATH) {
        Err(Errno::NOENT | Errno::PERM) => {
            let entry = format!("/proc/self/fd/{}", file.as_raw_fd());
            linkat(CWD, entry, &folder, to, AtFlags::SYMLINK_FOLLOW)
        }
        named => named,
    }
}

/// Removes the name of a file from a directory.
///
/// # Errors
/// When there is no such name.
pub fn remove(folder: impl AsFd, name: &OsStr) -> rustix::io::Result<()> {
    world::use_disk(Operation::Remove)?;
    unlinkat(folder, name, AtFlags::empty())
}

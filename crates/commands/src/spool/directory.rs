//! The directory of a spool: entries that wait, and `done` with those that all nodes have.

#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use garland_results::lock::{LockFile, is_held};
use garland_sys::error::reason;
use garland_sys::{new_file, process, regular_file, writers};
use garland_terminal::failure::{Failure, OrFailure};
use rustix::fs::{CWD, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;
use serde::Serialize;

/// The subdirectory of entries that all nodes have.
const DONE: &str = "done";

/// The lock of the process that serves the directory.
const LOCK: &str = ".garland.lock";

/// What follows the name of an entry in the name of its result.
const RESULT: &str = ".result.json";

/// What tells a version of an entry from others: device and inode, size, time of modification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp([u64; 5]);

impl Stamp {
    fn of(stat: &Metadata) -> Self {
        let (seconds, nanoseconds) = (stat.mtime().cast_unsigned(), stat.mtime_nsec());
        Self([stat.dev(), stat.ino(), stat.len(), seconds, nanoseconds.cast_unsigned()])
    }

    #[cfg(test)]
    pub fn of_version(version: u64) -> Self {
        Self([version; 5])
    }
}

/// A file or directory that waits in a spool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name in the spool.
    pub name: OsString,
    /// Its version.
    pub stamp: Stamp,
}

impl Entry {
    /// Returns whether `file` is this version of the entry.
    pub fn is_version(&self, file: &File) -> bool {
        file.metadata().is_ok_and(|stat| Stamp::of(&stat) == self.stamp)
    }
}

/// The directory of a spool, which this process serves.
pub struct SpoolDir {
    path: PathBuf,
    /// `done`: its name may be given to a link later, by others who may write to the directory.
    done: File,
    _lock: LockFile,
}

/// What is in a spool.
#[derive(Debug, Default)]
pub struct Found {
    /// The entries that wait, in the order in which they came.
    pub entries: Vec<Entry>,
    /// The names of entries that cannot be copied, and the reasons.
    pub left_out: Vec<(OsString, String)>,
}

impl SpoolDir {
    /// Opens the directory `path` and `done` in it; both are created if missing.
    ///
    /// # Errors
    /// When they cannot be created, `done` is not a directory of this user, or another process
    /// serves the directory.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let path = std::path::absolute(path).or_nothing("finding the directory of the spool")?;
        let done = path.join(DONE);
        fs::create_dir_all(&path).or_nothing(format!("creating {}", path.display()))?;
        let done = open_done(&done)?;
        if Self::is_served(&path) {
            let message = format!("another garland serves the spool {}", path.display());
            return Err(Failure::usage(message).hint("garland status shows it"));
        }
        let lock = path.join(LOCK);
        let lock = LockFile::hold(&lock).or_nothing(format!("locking {}", lock.display()))?;
        Ok(Self { path, done, _lock: lock })
    }

    /// Returns whether a process serves the spool `path`.
    pub fn is_served(path: &Path) -> bool {
        is_held(&path.join(LOCK))
    }

    /// Returns the directory's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the path of an entry.
    pub fn path_of(&self, entry: &Entry) -> PathBuf {
        self.path.join(&entry.name)
    }

    /// Reads which entries wait, in the order in which they came. Names that begin with a dot are ignored:
    /// such files are being made. Entries that cannot be inspected, and those that are neither files, links nor
    /// directories, are left out.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn entries(&self) -> io::Result<Found> {
        let mut entries = Vec::new();
        let mut left_out = Vec::new();
        for found in fs::read_dir(&self.path)? {
            let found = found?;
            let name = found.file_name();
            if name.as_bytes().starts_with(b".") || name == DONE {
                continue;
            }
            match found.metadata() {
                Ok(stat) if !(stat.is_file() || stat.is_dir() || stat.is_symlink()) => {
                    left_out.push((name, "it is a pipe, a socket or a device".to_owned()));
                }
                // The inode changes when it gets its name (rename(2)).
                Ok(stat) => {
                    entries.push(((stat.ctime(), stat.ctime_nsec()), name, Stamp::of(&stat)))
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                // Such as the mount point of another user's file system.
                Err(error) => left_out.push((name, reason(&error))),
            }
        }
        entries.sort_unstable_by(|one, two| (one.0, &one.1).cmp(&(two.0, &two.1)));
        let entries = entries.into_iter().map(|(_, name, stamp)| Entry { name, stamp }).collect();
        Ok(Found { entries, left_out })
    }

    /// Returns whether a process still writes the file `entry`.
    pub fn is_being_written(&self, entry: &Entry) -> bool {
        // The name may have been given to a link or a pipe since.
        let opened = regular_file::open(&self.path_of(entry));
        opened.is_ok_and(|file| entry.is_version(&file) && writers::are_left(&file))
    }

    /// Returns whether the version of `entry` still has its name.
    pub fn has(&self, entry: &Entry) -> bool {
        let stat = fs::symlink_metadata(self.path_of(entry));
        stat.is_ok_and(|stat| Stamp::of(&stat) == entry.stamp)
    }

    /// Writes the result of a copy of an entry that waits on.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn keep_result(&self, entry: &Entry, result: &impl Serialize) -> io::Result<()> {
        write(&self.result_of(entry), result)
    }

    /// Moves an entry that all nodes have to `done`, with its result beside it. One of the same name stays
    /// there; the new one gets a number behind its name. Returns the new path, or `None` if another version
    /// has the name meanwhile, which stays.
    ///
    /// # Errors
    /// When the entry cannot be moved, or the result cannot be written.
    pub fn finish(&self, entry: &Entry, result: &impl Serialize) -> io::Result<Option<PathBuf>> {
        let from = self.path_of(entry);
        // Whatever has the name `done` now.
        let done = PathBuf::from(format!("/proc/self/fd/{}", self.done.as_raw_fd()));
        let (to, beside) = free_in(&done, &entry.name);
        // First the result, so that it is there as soon as the entry is.
        write(&beside, result)?;
        let moved = rename_new(&from, &to);
        if moved.is_ok() && Stamp::of(&fs::symlink_metadata(&to)?) == entry.stamp {
            // Only an entry that waited has one.
            let _ = fs::remove_file(self.result_of(entry));
            return Ok(Some(self.path.join(DONE).join(to.file_name().unwrap_or_default())));
        }
        fs::remove_file(&beside)?;
        moved?;
        // The name was given to another version after the copy.
        rename_new(&to, &from)?;
        Ok(None)
    }

    /// Returns the path of the result of an entry that waits.
    fn result_of(&self, entry: &Entry) -> PathBuf {
        let mut name = OsString::from(".");
        name.push(&entry.name);
        name.push(RESULT);
        self.path.join(name)
    }
}

/// Opens the directory `done`, which is created if missing.
fn open_done(path: &Path) -> Result<File, Failure> {
    let shown = path.display();
    match fs::create_dir(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(error).or_nothing(format!("creating {shown}"));
        }
        _ => {}
    }
    let refused = |why: &str| {
        let message = format!("cannot move copied files to {shown}: {why}");
        Failure::usage(message).hint("move it away: garland makes a directory of your own there")
    };
    let flags = OFlags::NOFOLLOW | OFlags::DIRECTORY;
    let mut options = File::options();
    let opened = options.read(true).custom_flags(flags.bits().cast_signed()).open(path);
    let done = match opened.as_ref().map_err(Errno::from_io_error) {
        Err(Some(Errno::LOOP | Errno::NOTDIR)) => return Err(refused("it is not a directory")),
        _ => opened.or_nothing(format!("opening {shown}"))?,
    };
    let owner = done.metadata().or_nothing(format!("opening {shown}"))?.uid();
    if owner != process::user_id() {
        return Err(refused(&format!("it belongs to user {owner}")));
    }
    Ok(done)
}

/// Returns a path in the directory `done` that is free, `name` or the first of `name.~1~`, `name.~2~` .., and
/// that of the result beside it.
fn free_in(done: &Path, name: &OsStr) -> (PathBuf, PathBuf) {
    let numbered = |number: u32| {
        let mut free = name.to_owned();
        if number > 0 {
            free.push(format!(".~{number}~"));
        }
        let mut beside = free.clone();
        beside.push(RESULT);
        (done.join(free), done.join(beside))
    };
    let is_free = |path: &Path| fs::symlink_metadata(path).is_err();
    let mut paths = (0..=u32::MAX).map(numbered);
    paths.find(|(to, beside)| is_free(to) && is_free(beside)).unwrap_or_else(|| numbered(0))
}

/// Renames `from` unless something has the name `to`.
fn rename_new(from: &Path, to: &Path) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        // The file system cannot do this at once, such as NFS.
        Err(Errno::INVAL | Errno::NOSYS) if fs::symlink_metadata(to).is_err() => {
            fs::rename(from, to)
        }
        Err(Errno::INVAL | Errno::NOSYS) => Err(ErrorKind::AlreadyExists.into()),
        renamed => Ok(renamed?),
    }
}

fn write(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec_pretty(value)?;
    new_file::write(path, &text)
}

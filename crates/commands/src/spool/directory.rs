//! The directory of a spool: entries that wait, and `done` with those that all nodes have.

#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use garland_results::lock::{LockFile, is_held};
use garland_sys::writers;
use garland_terminal::failure::{Failure, OrFailure};
use rustix::fs::{CWD, RenameFlags, renameat_with};
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

/// The directory of a spool, which this process serves.
pub struct SpoolDir {
    path: PathBuf,
    _lock: LockFile,
}

impl SpoolDir {
    /// Opens the directory `path` and `done` in it; both are created if missing.
    ///
    /// # Errors
    /// When they cannot be created, or another process serves the directory.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let path = std::path::absolute(path).or_nothing("finding the directory of the spool")?;
        let done = path.join(DONE);
        fs::create_dir_all(&done).or_nothing(format!("creating {}", done.display()))?;
        if Self::is_served(&path) {
            let message = format!("another garland serves the spool {}", path.display());
            return Err(Failure::usage(message).hint("garland status shows it"));
        }
        let lock = path.join(LOCK);
        let lock = LockFile::hold(&lock).or_nothing(format!("locking {}", lock.display()))?;
        Ok(Self { path, _lock: lock })
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
    /// such files are being made.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn entries(&self) -> io::Result<Vec<Entry>> {
        let mut entries = Vec::new();
        for found in fs::read_dir(&self.path)? {
            let found = found?;
            let name = found.file_name();
            if name.as_bytes().starts_with(b".") || name == DONE {
                continue;
            }
            match found.metadata() {
                // The inode changes when it gets its name (rename(2)).
                Ok(stat) => {
                    entries.push(((stat.ctime(), stat.ctime_nsec()), name, Stamp::of(&stat)))
                }
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        entries.sort_unstable_by(|one, two| (one.0, &one.1).cmp(&(two.0, &two.1)));
        Ok(entries.into_iter().map(|(_, name, stamp)| Entry { name, stamp }).collect())
    }

    /// Returns whether a process still writes the file `entry`.
    pub fn is_being_written(&self, entry: &Entry) -> bool {
        let path = self.path_of(entry);
        let is_file = fs::symlink_metadata(&path).is_ok_and(|stat| stat.is_file());
        is_file && File::open(&path).is_ok_and(|file| writers::are_left(&file))
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
        let (to, beside) = free_in(&self.path.join(DONE), &entry.name);
        // First the result, so that it is there as soon as the entry is.
        write(&beside, result)?;
        let moved = rename_new(&from, &to);
        if moved.is_ok() && Stamp::of(&fs::symlink_metadata(&to)?) == entry.stamp {
            // Only an entry that waited has one.
            let _ = fs::remove_file(self.result_of(entry));
            return Ok(Some(to));
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
    fs::write(path, text)
}

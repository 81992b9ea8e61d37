//! The directory of a spool: entries that wait, and `done` with those that all nodes have.

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
        let (from, done) = (self.path_of(entry), self.path.join(DONE));
        let moved = move_to(&from, &done, &entry.name)?;
        if Stamp::of(&fs::symlink_metadata(&moved)?) != entry.stamp {
            // The name was given to another version after the copy.
            rename_new(&moved, &from)?;
            return Ok(None);
        }
        let mut beside = moved.clone().into_os_string();
        beside.push(RESULT);
        write(Path::new(&beside), result)?;
        // Only an entry that waited has one.
        let _ = fs::remove_file(self.result_of(entry));
        Ok(Some(moved))
    }

    /// Returns the path of the result of an entry that waits.
    fn result_of(&self, entry: &Entry) -> PathBuf {
        let mut name = OsString::from(".");
        name.push(&entry.name);
        name.push(RESULT);
        self.path.join(name)
    }
}

/// Moves `from` to `name` in the directory `to`, or to the first of `name.~1~`, `name.~2~` .. that is free.
fn move_to(from: &Path, to: &Path, name: &OsStr) -> io::Result<PathBuf> {
    let mut number = 0_u32;
    loop {
        let mut free = name.to_owned();
        if number > 0 {
            free.push(format!(".~{number}~"));
        }
        let path = to.join(free);
        match rename_new(from, &path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => number += 1,
            renamed => return renamed.map(|()| path),
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    struct Spool(SpoolDir);

    impl Spool {
        fn new(name: &str) -> Self {
            let name = format!("garland-spool-{name}-{}", std::process::id());
            Self(SpoolDir::open(&std::env::temp_dir().join(name)).unwrap())
        }

        fn put(&self, name: &str, text: &str) {
            let hidden = self.0.path().join(".new");
            fs::write(&hidden, text).unwrap();
            fs::rename(hidden, self.0.path().join(name)).unwrap();
        }

        fn names(&self) -> Vec<OsString> {
            self.0.entries().unwrap().into_iter().map(|entry| entry.name).collect()
        }
    }

    impl Drop for Spool {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(self.0.path());
        }
    }

    #[test]
    fn entries_come_in_order_and_hidden_ones_are_not_seen() {
        let spool = Spool::new("order");
        spool.put("b", "1");
        spool.put("a", "2");
        fs::write(spool.0.path().join(".half"), "").unwrap();
        assert_eq!(spool.names(), ["b", "a"]);
        let message = SpoolDir::open(spool.0.path()).err().unwrap();
        assert!(message.message().contains("another garland serves the spool"), "{message}");
    }

    #[test]
    fn a_finished_entry_moves_and_replaces_none() {
        let spool = Spool::new("finish");
        let done = spool.0.path().join(DONE);
        for (text, name) in [("one", "a"), ("two", "a.~1~")] {
            spool.put("a", text);
            let entry = spool.0.entries().unwrap().remove(0);
            spool.0.keep_result(&entry, &"waits").unwrap();
            let moved = spool.0.finish(&entry, &"done").unwrap().unwrap();
            assert_eq!(moved, done.join(name));
            assert_eq!(fs::read_to_string(&moved).unwrap(), text);
            let beside = done.join(format!("{name}{RESULT}"));
            assert_eq!(fs::read_to_string(beside).unwrap(), "\"done\"");
        }
        assert!(spool.names().is_empty());
        assert!(!spool.0.path().join(".a.result.json").exists());
    }

    #[test]
    fn a_version_that_came_after_the_copy_stays() {
        let spool = Spool::new("version");
        spool.put("a", "old");
        let entry = spool.0.entries().unwrap().remove(0);
        spool.put("a", "new version");
        assert!(!spool.0.has(&entry));
        assert_eq!(spool.0.finish(&entry, &"done").unwrap(), None);
        assert_eq!(fs::read_to_string(spool.0.path().join("a")).unwrap(), "new version");
        assert_eq!(fs::read_dir(spool.0.path().join(DONE)).unwrap().count(), 0);
    }
}

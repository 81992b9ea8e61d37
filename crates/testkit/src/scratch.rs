//! The scratch directory of one test. It is removed at the end of the test; the directories of
//! killed tests are removed by later tests.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::processes::{self, Process};
use crate::waiting::until;

/// The prefix of scratch directories' names; the number of the test's process follows.
const START: &str = "garland-scratch-";

/// A directory of a file system in memory.
const MEMORY: &str = "/dev/shm";

/// A scratch directory. When it is dropped, it checks that no process of its test is left, and is
/// removed.
#[derive(Debug)]
pub struct Scratch {
    folder: PathBuf,
}

impl Scratch {
    /// Creates a directory for the test `name`, and removes the directories of tests that were
    /// killed.
    ///
    /// # Panics
    /// When the directory cannot be created.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self::below(&std::env::temp_dir(), name)
    }

    /// Creates a directory for the test `name` in memory, if 2 GiB are available there; otherwise
    /// on disk. This is for tests that expect fast disks, since other programs may keep the disks
    /// of this machine busy.
    ///
    /// # Panics
    /// When the directory cannot be created.
    #[must_use]
    pub fn in_memory(name: &str) -> Self {
        let free = rustix::fs::statvfs(MEMORY).map(|stat| stat.f_bavail * stat.f_frsize);
        match free {
            Ok(free) if free >= 2 << 30 => Self::below(Path::new(MEMORY), name),
            _ => Self::new(name),
        }
    }

    /// Creates a directory for the test `name` below `base`.
    ///
    /// # Panics
    /// If it cannot be created.
    pub fn below(base: &Path, name: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        remove_orphans(&std::env::temp_dir());
        remove_orphans(Path::new(MEMORY));
        remove_orphans(base);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let own = format!("{START}{}-{number}-{name}", std::process::id());
        let folder = base.join(own);
        fs::create_dir(&folder)
            .unwrap_or_else(|error| panic!("making {}: {error}", folder.display()));
        Self { folder }
    }

    /// Returns the path of the directory.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the path of `name` in the directory.
    #[must_use]
    pub fn path(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.folder.join(Path::new(name.as_ref()))
    }

    /// Returns the directory in which Garland keeps its state during this test.
    #[must_use]
    pub fn state(&self) -> PathBuf {
        self.path("state")
    }

    /// Returns the directory that contains the files of the local node `name`.
    #[must_use]
    pub fn root(&self, name: &str) -> PathBuf {
        self.path("roots").join(name)
    }

    /// Returns the running processes of this test.
    #[must_use]
    pub fn processes(&self) -> Vec<Process> {
        processes::processes_with(&self.folder)
    }

    /// Returns the partial files in the directory and its subdirectories, as paths relative to it.
    #[must_use]
    pub fn partial_files(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        walk(&self.folder, &mut |path| {
            if path.file_name().is_some_and(is_partial) {
                found.push(path.strip_prefix(&self.folder).unwrap_or(path).to_owned());
            }
        });
        found
    }

    /// Waits until no process of this test is left, and asserts that there is no partial file.
    ///
    /// # Panics
    /// When a process still runs after the deadline, or there is a partial file.
    #[track_caller]
    pub fn assert_nothing_left(&self) {
        self.assert_nobody_left();
        assert_eq!(self.partial_files(), Vec::<PathBuf>::new(), "partial files are left");
    }

    /// Waits until no process of this test is left. Prints the processes that are still running.
    ///
    /// # Panics
    /// When a process still runs after the deadline.
    #[track_caller]
    pub fn assert_nobody_left(&self) {
        let mut left = Vec::new();
        until(&format!("the end of all processes of {}", self.folder.display()), || {
            let now = self.processes();
            if now != left {
                eprintln!("still running: {now:?}");
                left = now;
            }
            left.is_empty()
        });
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A failed test may leave processes behind; a test that passes must not.
        if std::thread::panicking() {
            self.processes().iter().for_each(Process::kill);
        } else {
            let left = self.processes();
            left.iter().for_each(Process::kill);
            assert!(left.is_empty(), "still running: {left:?}");
        }
        release_mounts(&self.folder);
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Unmounts everything below `folder`, so that removing `folder` does not remove the files of other
/// file systems.
fn release_mounts(folder: &Path) {
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let places = table.lines().filter_map(|line| line.split(' ').nth(4)).map(Path::new);
    for place in places.filter(|place| place.starts_with(folder)) {
        // The mount may be gone by now.
        let _ = garland_sys::fuse::unmount(place, true);
    }
}

fn is_partial(name: &OsStr) -> bool {
    name.as_encoded_bytes().ends_with(b".garland-part")
}

fn walk(folder: &Path, visit: &mut dyn FnMut(&Path)) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        visit(&path);
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            walk(&path, visit);
        }
    }
}

fn remove_orphans(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(START)) else { continue };
        let pid = rest.split('-').next().unwrap_or_default();
        let is_alive = Path::new("/proc").join(pid).exists();
        if !pid.is_empty() && !is_alive {
            processes::processes_with(&entry.path()).iter().for_each(Process::kill);
            release_mounts(&entry.path());
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_removes_itself_and_what_a_killed_test_left() {
        let orphan = std::env::temp_dir().join(format!("{START}4194999-0-orphan"));
        fs::create_dir_all(&orphan).expect("the temporary folder can be written");
        let scratch = Scratch::new("own");
        assert!(!orphan.exists());
        fs::create_dir(scratch.path("d")).expect("it can be written");
        fs::write(scratch.path("d/.x.1.garland-part"), b"").expect("it can be written");
        assert_eq!(scratch.partial_files(), [PathBuf::from("d/.x.1.garland-part")]);
        let folder = scratch.folder().to_owned();
        drop(scratch);
        assert!(!folder.exists());
    }
}

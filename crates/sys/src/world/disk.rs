//! The disks of processes: calls that fail, and what is left on them when the power fails.
//!
//! POSIX promises that the bytes of a file survive from the fsync(2) of the file on, and its names
//! from the fsync(2) of their directories on. Everything else may survive or not: each name, each
//! page, and the length of a file for itself. So do file systems without a journal, and those with
//! one are never worse.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::{DirEntryExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::random::Random;
use crate::storage::Operation;

/// The unit in which the bytes of a file survive.
const PAGE: usize = 4096;

type Inode = u64;

/// The disk of a process.
#[derive(Default)]
pub(super) struct Disk {
    failing: Option<Failing>,
    /// The number of calls until the power fails, and what survives then.
    ends: Option<(u64, Survival)>,
    files: Option<Files>,
    /// What was left when the power failed.
    left: Option<Vec<(PathBuf, Left)>>,
}

/// A kind of call that fails after `left` more of them.
struct Failing {
    operation: Operation,
    left: u64,
    errno: Errno,
}

/// What survives, of that which was not synced, when the power fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Survival {
    /// Nothing of it.
    Nothing,
    /// Each name and each page with this chance in 100.
    Percent(u64),
}

/// The directory of a process, and what of it is certain to survive.
struct Files {
    root: PathBuf,
    stable: Stable,
}

/// Contents of files and directories that survive.
#[derive(Clone, Default)]
pub(crate) struct Stable {
    contents: BTreeMap<Inode, Vec<u8>>,
    folders: BTreeMap<Inode, BTreeMap<OsString, Entry>>,
}

/// What a name stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Entry {
    File(Inode),
    Folder(Inode),
    Link(PathBuf),
}

/// What is left under a path.
enum Left {
    File(Vec<u8>),
    Folder,
    Link(PathBuf),
}

/// What happens at a call of a disk.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum DiskEvent {
    /// The call is done.
    Works,
    /// The call fails.
    Fails(Errno),
    /// The power fails before the call.
    PowerFails(Survival),
}

impl Survival {
    /// Draws whether something that was not synced survives.
    fn spares(self, random: &mut Random) -> bool {
        matches!(self, Self::Percent(chance) if random.below(100) < chance)
    }

    /// Draws one of nothing, all, and some.
    pub(super) fn draw(random: &mut Random) -> Self {
        [Self::Nothing, Self::Percent(50), Self::Percent(90), Self::Percent(100)]
            [random.below(4) as usize]
    }
}

impl Disk {
    /// Takes everything that is in `root` now for stable.
    pub(super) fn set_root(&mut self, root: PathBuf) {
        let stable = Stable::all(&root);
        self.files = Some(Files { root, stable });
    }

    /// Makes calls fail: the `nth` one of a kind, counted from 0, and all later ones.
    pub(super) fn fail(&mut self, operation: Operation, nth: u64, errno: Errno) {
        self.failing = Some(Failing { operation, left: nth, errno });
    }

    /// Lets the power fail before the `nth` call, counted from 0.
    pub(super) fn end(&mut self, nth: u64, survival: Survival) {
        self.ends = Some((nth, survival));
    }

    /// Counts a call.
    pub(super) fn call(&mut self, operation: Operation) -> DiskEvent {
        if let Some((left, survival)) = &mut self.ends {
            if *left == 0 {
                return DiskEvent::PowerFails(*survival);
            }
            *left -= 1;
        }
        let Some(failing) = self.failing.as_mut().filter(|its| its.operation == operation) else {
            return DiskEvent::Works;
        };
        let fails = failing.left == 0;
        failing.left = failing.left.saturating_sub(1);
        if fails { DiskEvent::Fails(failing.errno) } else { DiskEvent::Works }
    }

    /// Returns what a sync of `file` that begins now makes stable, or of everything.
    pub(super) fn look(&self, file: Option<BorrowedFd<'_>>) -> Option<Stable> {
        let files = self.files.as_ref()?;
        Some(file.map_or_else(|| Stable::all(&files.root), Stable::read))
    }

    /// Notes that a sync has ended.
    pub(super) fn add(&mut self, stable: Stable) {
        if let Some(files) = &mut self.files {
            files.stable.contents.extend(stable.contents);
            files.stable.folders.extend(stable.folders);
        }
    }

    /// Draws what is left when the power fails now.
    pub(super) fn lose_power(&mut self, survival: Survival, random: &mut Random) {
        if let (Some(files), None) = (&self.files, &self.left) {
            self.left = Some(files.left(survival, random));
        }
    }

    /// Puts what was left in the place of what the process's directory has now, if its power
    /// failed.
    pub(super) fn come_back(&mut self) {
        let (Some(files), Some(left)) = (&self.files, self.left.take()) else { return };
        fs::remove_dir_all(&files.root).expect("the process's directory");
        fs::create_dir(&files.root).expect("the process's directory");
        for (path, left) in left {
            let path = files.root.join(path);
            let done = match left {
                Left::File(bytes) => fs::write(path, bytes),
                Left::Folder => fs::create_dir(path),
                Left::Link(target) => symlink(target, path),
            };
            done.expect("room for what was left");
        }
    }
}

impl Stable {
    /// Looks at a file or directory.
    fn read(file: BorrowedFd<'_>) -> Self {
        let path = path_of(file.as_raw_fd());
        let mut stable = Self::default();
        if let Ok(stat) = fs::metadata(&path) {
            if stat.is_dir() {
                stable.folders.insert(stat.ino(), names(&path));
            } else {
                stable.contents.insert(stat.ino(), fs::read(&path).unwrap_or_default());
            }
        }
        stable
    }

    /// Looks at everything below `root`, also at files that have no name yet.
    fn all(root: &Path) -> Self {
        let mut stable = Self::default();
        let mut folders = vec![root.to_owned()];
        while let Some(folder) = folders.pop() {
            let entries = names(&folder);
            for (name, entry) in &entries {
                match entry {
                    Entry::Folder(_) => folders.push(folder.join(name)),
                    Entry::File(inode) => {
                        let bytes = fs::read(folder.join(name)).unwrap_or_default();
                        stable.contents.insert(*inode, bytes);
                    }
                    Entry::Link(_) => {}
                }
            }
            if let Ok(stat) = fs::metadata(&folder) {
                stable.folders.insert(stat.ino(), entries);
            }
        }
        let device = fs::metadata(root).map_or(0, |stat| stat.dev());
        for entry in fs::read_dir("/proc/self/fd").into_iter().flatten().flatten() {
            let stat = fs::metadata(entry.path()).ok();
            let nameless = stat.filter(|it| it.is_file() && it.nlink() == 0 && it.dev() == device);
            if let Some(stat) = nameless {
                stable.contents.insert(stat.ino(), fs::read(entry.path()).unwrap_or_default());
            }
        }
        stable
    }
}

impl Files {
    /// Draws what is left, directories before what is in them.
    fn left(&self, survival: Survival, random: &mut Random) -> Vec<(PathBuf, Left)> {
        let root = fs::metadata(&self.root).map_or(0, |stat| stat.ino());
        let mut folders = vec![(PathBuf::new(), root)];
        let mut all = Vec::new();
        while let Some((path, inode)) = folders.pop() {
            let now = names(&self.root.join(&path));
            let none = BTreeMap::new();
            let stable = self.stable.folders.get(&inode).unwrap_or(&none);
            let either: BTreeSet<&OsString> = now.keys().chain(stable.keys()).collect();
            for name in either {
                let newer = now.get(name) == stable.get(name) || survival.spares(random);
                let entry = if newer { now.get(name) } else { stable.get(name) };
                let path = path.join(name);
                let left = match entry {
                    None => continue,
                    Some(Entry::Link(target)) => Left::Link(target.clone()),
                    Some(Entry::Folder(inode)) => {
                        folders.push((path.clone(), *inode));
                        Left::Folder
                    }
                    Some(entry @ Entry::File(inode)) => {
                        let is_there = now.get(name) == Some(entry);
                        let bytes = is_there.then(|| fs::read(self.root.join(&path)).ok());
                        Left::File(self.bytes(*inode, bytes.flatten(), survival, random))
                    }
                };
                all.push((path, left));
            }
        }
        all
    }

    /// Draws the bytes of a file that has the bytes `now`, if it still has a name.
    fn bytes(
        &self,
        inode: Inode,
        now: Option<Vec<u8>>,
        survival: Survival,
        random: &mut Random,
    ) -> Vec<u8> {
        let mut bytes = self.stable.contents.get(&inode).cloned().unwrap_or_default();
        let Some(now) = now.filter(|now| *now != bytes) else { return bytes };
        if survival.spares(random) {
            bytes.resize(now.len(), 0);
        }
        for (old, new) in bytes.chunks_mut(PAGE).zip(now.chunks(PAGE)) {
            if survival.spares(random) {
                let both = old.len().min(new.len());
                old[..both].copy_from_slice(&new[..both]);
            }
        }
        bytes
    }
}

/// Returns the path by which a descriptor of this process is opened again.
fn path_of(fd: i32) -> PathBuf {
    format!("/proc/self/fd/{fd}").into()
}

/// Returns the names in a directory; none if it is gone.
fn names(folder: &Path) -> BTreeMap<OsString, Entry> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter_map(|entry| {
        let kind = entry.file_type().ok()?;
        let inode = entry.ino();
        let what = if kind.is_dir() {
            Entry::Folder(inode)
        } else if kind.is_symlink() {
            Entry::Link(fs::read_link(entry.path()).ok()?)
        } else {
            Entry::File(inode)
        };
        Some((entry.file_name(), what))
    });
    named.collect()
}

//! The status of an entry and of all that is in it. It differs after any change: an entry whose
//! status is the same at two times was not written to between them.

#[cfg(test)]
mod tests;

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use garland_core::farm::Text;
use garland_core::tree::DEPTH_MAX;
use garland_sys::mounts::{MOUNTED, open_unmounted};
use rustix::fs::{Dir, FileType, Mode, OFlags, Stat, fstat, openat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

/// A time of a file, in seconds and nanoseconds since the start of 1970.
type FileTime = (i64, u64);

/// What tells a version of an entry from others: device and inode, kind, size, time of
/// modification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    device: u64,
    inode: u64,
    kind: u32,
    size: i64,
    modified: FileTime,
}

/// The most directories in an entry of which it can be told that some were only removed.
const KNOWN_FOLDERS_MAX: usize = 10_000;

/// The status of an entry and of all that is in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    own: Own,
    modified: FileTime,
    changed: FileTime,
    /// The digest of all names and attributes in a directory.
    below: [u8; 32],
    /// The number of files, links and directories in a directory.
    items: u64,
    /// The latest change of one of them that is no directory.
    newest: FileTime,
    /// Digests of the path, inode, owner and mode of each directory in it, ascending; `None` if
    /// there are more than [`KNOWN_FOLDERS_MAX`].
    folders: Option<Vec<u64>>,
}

/// What a file or directory is, without its times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Own {
    inode: u64,
    /// Kind and permissions.
    mode: u32,
    user: u32,
    group: u32,
    size: i64,
}

impl Own {
    fn new(stat: &Stat) -> Self {
        let Stat { st_ino, st_mode, st_uid, st_gid, st_size, .. } = *stat;
        Self { inode: st_ino, mode: st_mode, user: st_uid, group: st_gid, size: st_size }
    }
}

impl Stamp {
    /// Returns the stamp of a file with the status `stat`.
    pub fn new(stat: &Stat) -> Self {
        Self {
            device: stat.st_dev,
            inode: stat.st_ino,
            kind: FileType::from_raw_mode(stat.st_mode).as_raw_mode(),
            size: stat.st_size,
            modified: modified(stat),
        }
    }

    /// Returns the kind of the file.
    pub fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.kind)
    }

    #[cfg(test)]
    pub fn of_version(version: u64) -> Self {
        let kind = FileType::RegularFile.as_raw_mode();
        Self { device: 0, inode: version, kind, size: 0, modified: (0, 0) }
    }
}

impl Status {
    /// Reads the status of `name` in the directory `folder`, until `stop` returns true. No link is
    /// followed, and no file system that is mounted in it is touched.
    ///
    /// # Errors
    /// When there is no such entry, something is mounted in it, or `stop` returned true
    /// (`ErrorKind::Interrupted`).
    pub fn read(folder: impl AsFd, name: &OsStr, stop: &dyn Fn() -> bool) -> io::Result<Self> {
        let found = open_unmounted(folder, name, OFlags::PATH).map_err(unmounted)?;
        let stat = fstat(&found)?;
        let mut walk = Walk::new(stop);
        if is_folder(&stat) {
            walk.inside(found, 0)?;
        }
        Ok(Self {
            own: Own::new(&stat),
            modified: modified(&stat),
            changed: changed(&stat),
            below: *walk.hash.finalize().as_bytes(),
            items: walk.items,
            newest: walk.newest,
            folders: walk.folders.map(|mut folders| {
                folders.sort_unstable();
                folders
            }),
        })
    }

    /// Returns whether `now` is the status of the same entry with another name, unchanged
    /// otherwise. The kernel counts a new name as a change of the file, and some file systems as
    /// one of a directory's content; what is in it is compared in any case.
    pub fn is_of_moved(&self, now: &Self) -> bool {
        let mut now = Self { changed: self.changed, ..now.clone() };
        if FileType::from_raw_mode(self.own.mode) == FileType::Directory {
            now.modified = self.modified;
            now.own.size = self.own.size;
        }
        *self == now
    }

    /// Returns whether `now` differs only in that something was removed from the directory. Whoever
    /// removes what was copied wrote nothing. Who moves a file changes it; a directory that has
    /// another name or owner is another one.
    pub fn is_of_more_than(&self, now: &Self) -> bool {
        let is_same = |now: &Own| Own { size: self.own.size, ..*now } == self.own;
        let has_been = |folder: &u64| {
            self.folders.as_ref().is_some_and(|known| known.binary_search(folder).is_ok())
        };
        is_same(&now.own)
            && now.items < self.items
            && now.newest <= self.newest
            && now.folders.as_ref().is_some_and(|folders| folders.iter().all(has_been))
    }

    /// Returns whether `now` is the status of the same file or directory, changed or not.
    pub fn is_same_file(&self, now: &Self) -> bool {
        self.own.inode == now.own.inode
    }

    #[cfg(test)]
    pub fn of_version(version: u64) -> Self {
        Self {
            own: Own { inode: version, mode: 0, user: 0, group: 0, size: 0 },
            modified: (0, 0),
            changed: (0, 0),
            below: [0; 32],
            items: 0,
            newest: (0, 0),
            folders: Some(Vec::new()),
        }
    }
}

/// What was seen in a directory so far.
struct Walk<'a> {
    hash: blake3::Hasher,
    items: u64,
    newest: FileTime,
    folders: Option<Vec<u64>>,
    /// The path in the entry.
    path: Vec<u8>,
    stop: &'a dyn Fn() -> bool,
}

impl<'a> Walk<'a> {
    fn new(stop: &'a dyn Fn() -> bool) -> Self {
        let hash = blake3::Hasher::new();
        let folders = Some(Vec::new());
        Self { hash, items: 0, newest: (0, 0), folders, path: Vec::new(), stop }
    }

    /// Notes what is in the directory `found`, at this depth below the entry.
    fn inside(&mut self, found: OwnedFd, depth: usize) -> io::Result<()> {
        if (self.stop)() {
            return Err(ErrorKind::Interrupted.into());
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = match openat(&found, ".", flags, Mode::empty()) {
            // The copy will tell why it cannot be read.
            Err(error) => return self.unreadable(error),
            Ok(folder) => folder,
        };
        drop(found);
        let names = match names_in(&folder) {
            Err(error) => return self.unreadable(error),
            Ok(names) => names,
        };
        for name in names {
            let before = self.path.len();
            self.path.push(b'/');
            self.path.extend_from_slice(name.as_bytes());
            self.entry(&folder, &name, depth)?;
            self.path.truncate(before);
        }
        self.hash.update(b"/");
        Ok(())
    }

    fn entry(&mut self, folder: &OwnedFd, name: &OsStr, depth: usize) -> io::Result<()> {
        let found = match open_unmounted(folder, name, OFlags::PATH) {
            Ok(found) => found,
            // It was removed after the directory was listed.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => match Errno::from_io_error(&error) {
                Some(Errno::XDEV) => {
                    let path = Text::from(&self.path[1..]);
                    let message =
                        format!("another file system is mounted on {} in it", path.escaped());
                    return Err(io::Error::other(message));
                }
                errno => return self.unreadable(errno.unwrap_or(Errno::IO)),
            },
        };
        let stat = fstat(&found)?;
        self.note(name, &stat);
        if is_folder(&stat) && depth < DEPTH_MAX {
            self.inside(found, depth + 1)?;
        }
        Ok(())
    }

    fn note(&mut self, name: &OsStr, stat: &Stat) {
        self.items += 1;
        if is_folder(stat) {
            let known = self.folders.take().filter(|known| known.len() < KNOWN_FOLDERS_MAX);
            self.folders = known.map(|mut known| {
                known.push(folder_digest(&self.path, stat));
                known
            });
        } else {
            self.newest = self.newest.max(changed(stat));
        }
        self.hash.update(name.as_bytes());
        self.hash.update(&[0]);
        let numbers = [
            stat.st_ino,
            u64::from(stat.st_mode),
            u64::from(stat.st_uid),
            u64::from(stat.st_gid),
            stat.st_size.cast_unsigned(),
            stat.st_mtime.cast_unsigned(),
            stat.st_mtime_nsec,
            stat.st_ctime.cast_unsigned(),
            stat.st_ctime_nsec,
        ];
        for number in numbers {
            self.hash.update(&number.to_le_bytes());
        }
    }

    fn unreadable(&mut self, error: Errno) -> io::Result<()> {
        self.hash.update(&error.raw_os_error().to_le_bytes());
        Ok(())
    }
}

/// Returns a digest of which directory is at `path` in the entry, whatever is in it.
fn folder_digest(path: &[u8], stat: &Stat) -> u64 {
    let mut hash = blake3::Hasher::new();
    hash.update(path);
    for number in [stat.st_ino, stat.st_mode.into(), stat.st_uid.into(), stat.st_gid.into()] {
        hash.update(&number.to_le_bytes());
    }
    let mut first = [0; 8];
    hash.finalize_xof().fill(&mut first);
    u64::from_le_bytes(first)
}

fn names_in(folder: &OwnedFd) -> rustix::io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let name = entry?.file_name().to_bytes().to_vec();
        if name != b"." && name != b".." {
            names.push(OsString::from_vec(name));
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// Returns the error for the user if something is mounted on an entry.
pub fn unmounted(error: io::Error) -> io::Error {
    match Errno::from_io_error(&error) {
        Some(Errno::XDEV) => io::Error::other(MOUNTED),
        _ => error,
    }
}

fn is_folder(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode) == FileType::Directory
}

fn modified(stat: &Stat) -> FileTime {
    (stat.st_mtime, stat.st_mtime_nsec)
}

fn changed(stat: &Stat) -> FileTime {
    (stat.st_ctime, stat.st_ctime_nsec)
}

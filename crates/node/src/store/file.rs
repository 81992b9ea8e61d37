//! A file that appears whole or not at all: written under a hidden name beside its final one, made
//! stable, then renamed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use garland_core::trace::Stage;
use garland_sys::confine::Root;
use garland_sys::process;
use rustix::fs::{
    AtFlags, Dir, FallocateFlags, FileType, FlockOperation, Mode, OFlags, Timespec, Timestamps,
    fallocate, fchmod, flock, fstat, fstatvfs, futimens, openat, renameat, statat, unlinkat,
};
use rustix::io::Errno;

use super::{Store, StoreError};
use crate::recorder::Collector;

/// The end of a partial file's name; its beginning is a dot and the final name.
const PARTIAL: &str = ".garland-part";

/// A file under its hidden name.
pub struct FileStore {
    folder: OwnedFd,
    file: File,
    partial: OsString,
    name: OsString,
    path: PathBuf,
    mode: u32,
    times: Option<(i64, u32)>,
    fsync: bool,
    committed: AtomicBool,
}

impl FileStore {
    /// Creates the hidden file for `path` (in `path` under `name` when `path` is a folder), after a
    /// look at the room; its final name has `suffix` behind it. A path that ends in a slash is a folder and is made when it isn't there.
    pub fn create(
        root: &Root,
        path: &[u8],
        name: &[u8],
        suffix: &str,
        length: u64,
        tag: &str,
    ) -> Result<Self, StoreError> {
        let given = Path::new(OsStr::from_bytes(path));
        let (folder_path, mut name) = Self::target(root, given, OsStr::from_bytes(name));
        name.push(suffix);
        let make = given.as_os_str().as_bytes().ends_with(b"/");
        let folder = root
            .open_dir(&folder_path, make)
            .map_err(|error| StoreError::path("opening the folder", &folder_path, &error))?;
        Self::create_in(folder, &folder_path, name, length, tag)
    }

    /// Creates the hidden file for `name` in a folder that is open.
    fn create_in(
        folder: OwnedFd,
        folder_path: &Path,
        name: OsString,
        length: u64,
        tag: &str,
    ) -> Result<Self, StoreError> {
        let path = folder_path.join(&name);
        Self::refuse_others(&folder, &name, &path)?;
        Self::look_at_room(&folder, folder_path, length)?;
        remove_stale(&folder, &name);
        let partial = partial_name(&name, tag);
        let file = Self::create_partial(&folder, &partial, length)
            .map_err(|error| StoreError::path("creating", &path, &error))?;
        let committed = AtomicBool::new(false);
        let (mode, times, fsync) = (0o666, None, true);
        Ok(Self { folder, file, partial, name, path, mode, times, fsync, committed })
    }

    /// Which mode and times the file gets, and whether it is made stable.
    pub fn with(mut self, mode: u32, times: Option<(i64, u32)>, fsync: bool) -> Self {
        (self.mode, self.times, self.fsync) = (mode, times, fsync);
        self
    }

    /// Where a small file can be put beside this one, under its name and `suffix`.
    pub fn beside(&self, suffix: &str, tag: &str) -> io::Result<Beside> {
        let mut name = self.name.clone();
        name.push(suffix);
        let folder_path = self.path.parent().unwrap_or(Path::new("")).to_owned();
        let (folder, tag) = (self.folder.try_clone()?, tag.to_owned());
        Ok(Beside { folder, folder_path, name, tag, mode: self.mode, fsync: self.fsync })
    }

    fn target(root: &Root, given: &Path, name: &OsStr) -> (PathBuf, OsString) {
        let is_folder = given.as_os_str().as_bytes().ends_with(b"/")
            || root.open_dir(given, false).is_ok()
            || given.file_name().is_none();
        if is_folder {
            return (given.to_owned(), name.to_owned());
        }
        let folder = given.parent().unwrap_or(Path::new("")).to_owned();
        (folder, given.file_name().unwrap_or(name).to_owned())
    }

    /// Only a file may be replaced by a file.
    fn refuse_others(folder: &OwnedFd, name: &OsStr, path: &Path) -> Result<(), StoreError> {
        match unreplaceable(folder, name) {
            Ok(None) => Ok(()),
            // Such as a name that is too long, which must not be found after the copy.
            Err(error) => Err(StoreError::path("creating", path, &error)),
            Ok(Some(is)) => {
                let path = path.display().to_string();
                Err(StoreError::Path { operation: "replacing", path, reason: is.to_owned() })
            }
        }
    }

    fn look_at_room(folder: &OwnedFd, path: &Path, needed: u64) -> Result<(), StoreError> {
        let Ok(stat) = fstatvfs(folder) else { return Ok(()) };
        let free = stat.f_bavail.saturating_mul(stat.f_frsize);
        if stat.f_blocks > 0 && free < needed {
            return Err(StoreError::NoSpace { path: path.display().to_string(), needed, free });
        }
        Ok(())
    }

    fn create_partial(folder: &OwnedFd, partial: &OsStr, length: u64) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let fd = openat(folder, partial, flags | OFlags::CLOEXEC, Mode::from_raw_mode(0o600))?;
        // A lock says that the copy is alive: what nobody holds is what a killed agent left.
        flock(&fd, FlockOperation::NonBlockingLockExclusive)?;
        let file = File::from(fd);
        file.set_len(length)?;
        reserve(&file, length)?;
        Ok(file)
    }

    fn finish(&self, trace: &Collector) -> io::Result<()> {
        trace.time(Stage::Commit, || self.dress())?;
        if self.fsync {
            trace.time(Stage::Fsync, || self.file.sync_all())?;
        }
        trace.time(Stage::Commit, || {
            renameat(&self.folder, &self.partial, &self.folder, &self.name)
        })?;
        self.committed.store(true, Ordering::Release);
        if self.fsync {
            trace.time(Stage::Fsync, || rustix::fs::fsync(&self.folder))?;
        }
        Ok(())
    }

    /// Gives the file its mode and times.
    fn dress(&self) -> io::Result<()> {
        let mode = match self.times {
            Some((seconds, nanos)) => {
                let time = Timespec { tv_sec: seconds, tv_nsec: nanos.into() };
                futimens(&self.file, &Timestamps { last_access: time, last_modification: time })?;
                self.mode & 0o7777
            }
            None => self.mode & 0o777 & !process::umask(),
        };
        Ok(fchmod(&self.file, Mode::from_raw_mode(mode))?)
    }
}

impl Store for FileStore {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all_at(bytes, offset)
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(bytes, offset)
    }

    fn commit(&self, trace: &Collector) -> Result<(), StoreError> {
        self.finish(trace).map_err(|error| StoreError::path("finishing", &self.path, &error))
    }

    fn abandon(&self) {
        if !self.committed.load(Ordering::Acquire) {
            // It may be gone already: somebody cleaned up by hand.
            let _ = unlinkat(&self.folder, &self.partial, AtFlags::empty());
        }
    }

    fn is_holder(&self) -> bool {
        true
    }

    fn is_ordered(&self) -> bool {
        false
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn device(&self) -> Option<u64> {
        fstat(&self.file).ok().map(|stat| stat.st_dev)
    }
}

/// The place of a small file beside another one.
pub struct Beside {
    folder: OwnedFd,
    folder_path: PathBuf,
    name: OsString,
    tag: String,
    mode: u32,
    fsync: bool,
}

impl Beside {
    /// Removes what lies there.
    pub fn remove(&self) -> Result<(), StoreError> {
        match unlinkat(&self.folder, &self.name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(StoreError::path("removing the old", &self.path(), &error.into())),
        }
    }

    /// Puts `bytes` there, whole or not at all.
    pub fn put(&self, bytes: &[u8], trace: &Collector) -> Result<(), StoreError> {
        let error = |error: io::Error| StoreError::path("writing", &self.path(), &error);
        let folder = self.folder.try_clone().map_err(error)?;
        let (name, length) = (self.name.clone(), bytes.len() as u64);
        let file = FileStore::create_in(folder, &self.folder_path, name, length, &self.tag)?;
        let file = file.with(self.mode, None, self.fsync);
        file.write_at(0, bytes).map_err(error)?;
        file.commit(trace)
    }

    fn path(&self) -> PathBuf {
        self.folder_path.join(&self.name)
    }
}

impl Drop for FileStore {
    fn drop(&mut self) {
        self.abandon();
    }
}

/// Reserves blocks on a disk, so that a full one is found before the copy and not in its middle.
/// Memory-backed file systems would fill them with zeros, which costs as much as the copy.
pub fn reserve(file: &File, length: u64) -> io::Result<()> {
    const TMPFS: i64 = 0x0102_1994;
    const RAMFS: i64 = 0x8584_58f6;
    let kind = rustix::fs::fstatfs(file)?.f_type;
    if length == 0 || kind == TMPFS || kind == RAMFS {
        return Ok(());
    }
    match fallocate(file, FallocateFlags::empty(), 0, length) {
        Err(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => Err(Errno::NOSPC.into()),
        // Not every file system can; then a full disk is met on the way.
        _ => Ok(()),
    }
}

/// Why what has this name can't be replaced by a file, if it can't.
pub fn unreplaceable(folder: &OwnedFd, name: &OsStr) -> io::Result<Option<&'static str>> {
    let stat = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile | FileType::Symlink => None,
        FileType::Directory => Some("it is a folder"),
        FileType::BlockDevice | FileType::CharacterDevice => Some("it is a device"),
        _ => Some("it is no plain file"),
    })
}

/// Removes partial files of the same final name that no living copy holds.
pub fn remove_stale(folder: &OwnedFd, name: &OsStr) {
    remove_stale_from(folder, &[b".", name.as_bytes(), b"."].concat());
}

/// Removes partial files whose names begin so and that no living copy holds.
pub fn remove_stale_from(folder: &OwnedFd, start: &[u8]) {
    let Ok(entries) = Dir::read_from(folder) else { return };
    for entry in entries.flatten() {
        let bytes = entry.file_name().to_bytes();
        if !(bytes.starts_with(start) && bytes.ends_with(PARTIAL.as_bytes())) {
            continue;
        }
        let flags = OFlags::RDWR | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
        let Ok(fd) = openat(folder, entry.file_name(), flags, Mode::empty()) else { continue };
        let plain = fstat(&fd)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile);
        if plain && flock(&fd, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = unlinkat(folder, entry.file_name(), AtFlags::empty());
        }
    }
}

/// The hidden name, cut so that it fits the file system's 255 bytes.
pub fn partial_name(name: &OsStr, tag: &str) -> OsString {
    const LONGEST: usize = 255;
    let room = LONGEST - 2 - tag.len() - PARTIAL.len();
    let bytes = name.as_bytes();
    let kept = &bytes[..bytes.len().min(room)];
    OsString::from_vec([b".", kept, b".", tag.as_bytes(), PARTIAL.as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use garland_core::proto::Copy;

    use super::*;
    use crate::recorder::Budget;

    fn nothing_noted() -> std::sync::Arc<Collector> {
        Collector::new(Budget::NOTHING, Copy([0; 16]), 1, 0, None)
    }

    fn folder(test: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("garland-file-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        path
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_appears_whole_and_shorter_than_the_old_one() {
        let dir = folder("whole");
        let root = Root::confined(&dir).unwrap();
        std::fs::write(dir.join("x"), b"a longer old file").unwrap();
        let file = FileStore::create(&root, b"/x", b"s", "", 3, "t1").unwrap();
        file.write_at(0, b"new").unwrap();
        assert_eq!(std::fs::read(dir.join("x")).unwrap(), b"a longer old file");
        file.commit(&nothing_noted()).unwrap();
        drop(file);
        assert_eq!(std::fs::read(dir.join("x")).unwrap(), b"new");
        assert_eq!(names(&dir), ["x"]);
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn an_abandoned_file_leaves_nothing_and_stale_ones_are_removed() {
        let dir = folder("stale");
        let root = Root::confined(&dir).unwrap();
        drop(FileStore::create(&root, b"/d/", b"x", "", 10, "t1").unwrap());
        assert_eq!(names(&dir.join("d")), Vec::<String>::new());
        std::fs::write(dir.join("d/.x.dead.garland-part"), b"left").unwrap();
        let alive = FileStore::create(&root, b"/d", b"x", "", 10, "t2").unwrap();
        let other = FileStore::create(&root, b"/d", b"x", "", 10, "t3").unwrap();
        assert_eq!(names(&dir.join("d")), [".x.t2.garland-part", ".x.t3.garland-part"]);
        drop((alive, other));
        std::fs::remove_dir_all(dir).unwrap();
    }

    #[test]
    fn only_files_are_replaced_and_space_is_looked_at() {
        let dir = folder("replace");
        let root = Root::confined(&dir).unwrap();
        std::fs::create_dir_all(dir.join("d/x")).unwrap();
        let error = FileStore::create(&root, b"/d", b"x", "", 1, "t").err().unwrap();
        assert_eq!(error.to_string(), "replacing /d/x: it is a folder");
        let error = FileStore::create(&root, b"/d/y", b"y", "", 1 << 60, "t").err().unwrap();
        assert!(error.to_string().starts_with("no space left on /d: "), "{error}");
        let error = FileStore::create(&root, b"/none/y", b"y", "", 1, "t").err().unwrap();
        assert_eq!(error.to_string(), "opening the folder /none: no such file or directory");
        std::fs::remove_dir_all(dir).unwrap();
    }
}

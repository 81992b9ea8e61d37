//! A file as a destination, which appears whole or not at all: it is written under a hidden name in
//! its final directory, made stable, then renamed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use garland_core::printable;
use garland_core::trace::Stage;
use garland_protocol::copy::FileStamp;
use garland_sys::confine::Root;
use garland_sys::holes::is_hole;
use garland_sys::storage;
use rustix::fs::{AtFlags, FallocateFlags, FileType, fallocate, fstat, fstatvfs, statat};
use rustix::io::Errno;

use super::directory::{OpenDirectory, missing_directory, open_below, target, unopened};
use super::left::{self, Left, partial_name, remove_stale};
use super::replaced::Replaced;
use super::unset::Unset;
use super::{Store, StoreError, access, freeing, times};
use crate::block_index::stamp::stamp;
use crate::page_cache::{DirectFile, WriteBack};
use crate::recorder::Collector;

/// The bits of a mode that a single file may keep.
const KEPT_BITS: u32 = 0o1777;

/// The length of a file, and the disk space that it needs.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// The length in bytes.
    pub length: u64,
    /// The number of bytes that the file needs on the disk: fewer than `length` if it has holes.
    pub room: u64,
    /// Whether the file takes its space only as its bytes come.
    pub grows: bool,
}

/// Returns the write-back of a file; without a length it is a stream.
fn begin_write_back(file: &File, length: u64, stable: bool) -> WriteBack {
    if length == 0 {
        WriteBack::growing(file, stable)
    } else {
        WriteBack::for_file(file, length, stable)
    }
}

impl Size {
    /// Returns the size of a file without holes.
    pub fn whole(length: u64) -> Self {
        Self { length, room: length, grows: false }
    }

    /// Returns whether the file has holes.
    fn has_holes(self) -> bool {
        self.room < self.length
    }

    /// Sets the length of `file`, and reserves space for it unless it has holes or grows.
    fn give(self, file: &File) -> io::Result<()> {
        file.set_len(self.length)?;
        let is_reserved = !self.has_holes() && !self.grows;
        if is_reserved { reserve(file, self.length) } else { Ok(()) }
    }
}

/// A file that is written under its hidden name.
pub struct FileStore {
    folder: OwnedFd,
    file: File,
    /// The device number of the file's disk.
    disk: u64,
    partial: OsString,
    name: OsString,
    path: PathBuf,
    metadata: Metadata,
    length: u64,
    /// Whether the source has holes.
    is_sparse: bool,
    write_back: WriteBack,
    /// Writes most of a large file.
    direct: Option<DirectFile>,
    /// Whether the hidden name no longer exists or must not be removed: the file has its final
    /// name, was removed, or is left for another copy to resume.
    settled: AtomicBool,
    /// Whether a write failed.
    failed: AtomicBool,
    /// Whether the metadata is set, and the file is stable if that was requested.
    prepared: AtomicBool,
    /// What of the metadata could not be set.
    unset: OnceLock<Unset>,
    /// The stamp of the file when it got its final name, or was left under the hidden one.
    named: OnceLock<FileStamp>,
    /// The file that had the name before the commit.
    replaced: OnceLock<Replaced>,
    /// The directories in which new directories were created for the file.
    parents: Vec<OwnedFd>,
}

/// Mode, times and durability of a file.
#[derive(Clone, Copy, Debug)]
pub struct Metadata {
    /// The permission bits. The file belongs to this process's user, whoever owns its source: it
    /// never gets a set-user-ID or set-group-ID bit.
    pub mode: u32,
    /// Whether the mode is set exactly. Otherwise it is what cp(1) would leave: that of the
    /// existing file, or as far as the directory's default access control list or the umask allow
    /// it.
    pub keeps_mode: bool,
    /// The modification time, as seconds and nanoseconds since 1970. If given, the access time is
    /// set to the same value; if none, the times are not set.
    pub times: Option<(i64, u32)>,
    /// Whether the file is made stable before it is renamed.
    pub fsync: bool,
}

impl Metadata {
    /// Sets mode and times of an open file that is, or is to be, called `name` in `folder`, unless
    /// it has them already. Returns what was asked for and could not be set.
    ///
    /// # Errors
    /// When the disk is broken or full.
    pub fn apply_to(&self, file: &File, folder: &OwnedFd, name: &OsStr) -> io::Result<Unset> {
        let mut unset = Unset::default();
        if !self.keeps_mode {
            unset = give_access(file, folder, name, self.mode)?;
        }
        if let Some(modified) = self.times {
            unset.note("time", times::set_both(file, modified))?;
        }
        if self.keeps_mode {
            unset.note("mode", access::set(file, self.mode & KEPT_BITS))?;
        }
        Ok(unset)
    }
}

/// Gives a file, which is to be called `name` in `folder`, the mode with which cp(1) would leave it
/// without `-p`. Returns whether that could not be set.
///
/// # Errors
/// When the disk is broken or full.
pub fn give_access(file: &File, folder: &OwnedFd, name: &OsStr, mode: u32) -> io::Result<Unset> {
    let mut unset = Unset::default();
    unset.note("mode", access::give(file, folder, name, mode))?;
    // Nobody asked for a mode: where all files have the same one, that is no fault.
    if !unset.is_empty() && fstat(file)?.st_mode & 0o7777 != left::MODE {
        return Ok(Unset::default());
    }
    Ok(unset)
}

impl FileStore {
    /// Creates the hidden file for `path`, or for `name` in `path` if that is a directory, and
    /// checks the free space. A `path` that ends in a slash is a directory, which is created if
    /// missing. `suffix` is appended to the final name; the hidden name contains `tag`.
    pub fn create(
        root: &Root,
        path: &[u8],
        name: &[u8],
        suffix: &str,
        size: Size,
        tag: &str,
    ) -> Result<Self, StoreError> {
        let given = Path::new(OsStr::from_bytes(path));
        let (folder_path, mut name) = target(root, given, OsStr::from_bytes(name));
        if name.is_empty() {
            let reason = "it is a directory, and the source has no name; append a file name";
            return Err(StoreError::refused("create", printable::path(&folder_path), reason));
        }
        name.push(suffix);
        let make = given.as_os_str().as_bytes().ends_with(b"/");
        let opened = match make {
            true => root.open_or_make_dir(&folder_path),
            false => root.open_dir(&folder_path, false).map(|folder| (folder, Vec::new())),
        };
        let (folder, parents) = opened.map_err(|error| {
            if error.kind() != io::ErrorKind::NotFound || make {
                return unopened(&folder_path)(error);
            }
            let why = missing_directory(root, &folder_path, &error);
            StoreError::refused("open the directory", printable::path(&folder_path), why)
        })?;
        remove_stale(&folder, &name);
        let directory = OpenDirectory { folder, path: folder_path, parents };
        Self::create_in(directory, name, size, tag, None)
    }

    /// Creates the hidden file for `name` in the directory `below` the directory `path`. Both
    /// directories are created if missing; symbolic links in `below` are not followed.
    pub fn create_below(
        root: &Root,
        path: &[u8],
        below: &[u8],
        name: &[u8],
        size: Size,
        tag: &str,
    ) -> Result<Self, StoreError> {
        let name = OsStr::from_bytes(name);
        let directory = open_below(root, path, Some(below))?;
        remove_stale(&directory.folder, name);
        Self::create_in(directory, name.to_owned(), size, tag, None)
    }

    /// Resumes `left`, the partial file that an interrupted copy left for `path`, or for `name` in
    /// `path` if that is a directory. The hidden name then contains `tag`.
    pub fn resume(
        root: &Root,
        path: &[u8],
        name: &[u8],
        size: Size,
        tag: &str,
        left: Left,
    ) -> Result<Self, StoreError> {
        let given = Path::new(OsStr::from_bytes(path));
        let (folder_path, name) = target(root, given, OsStr::from_bytes(name));
        let folder = root.open_dir(&folder_path, false).map_err(unopened(&folder_path))?;
        remove_stale(&folder, &name);
        let directory = OpenDirectory::new(folder, folder_path);
        Self::create_in(directory, name, size, tag, Some(left))
    }

    /// Creates the hidden file for `name` in an open directory, or resumes the partial file `left`.
    /// The caller must have removed stale partial files.
    pub(super) fn create_in(
        directory: OpenDirectory,
        name: OsString,
        size: Size,
        tag: &str,
        left: Option<Left>,
    ) -> Result<Self, StoreError> {
        let OpenDirectory { folder, path: folder_path, parents } = directory;
        let path = folder_path.join(&name);
        // The directory of the store, when it has one.
        let error_in = |folder: &OwnedFd, error| {
            StoreError::path_in(folder, "create", printable::path(&path), &error)
        };
        let error = |error| error_in(&folder, error);
        // This fails if the name is too long: report that before the copy, not at its end.
        if let Some(is) = unreplaceable(&folder, &name).map_err(error)? {
            return Err(StoreError::refused("replace", printable::path(&path), is));
        }
        let there = left.as_ref().map_or(0, Left::allocated);
        Self::check_space(&folder, &folder_path, size.room.saturating_sub(there))?;
        let partial = partial_name(&name, tag);
        let disk = fstat(&folder).map_err(|errno| error(errno.into()))?.st_dev;
        let file = match left {
            None => freeing::with_room(disk, || left::create(&folder, &partial)),
            Some(left) => {
                let renamed = storage::rename(&folder, &left.name, &partial);
                renamed.map(|()| left.file).map_err(io::Error::from)
            }
        };
        let file = file.map_err(error)?;
        let metadata = Metadata { mode: 0o666, keeps_mode: false, times: None, fsync: true };
        let write_back = begin_write_back(&file, size.length, metadata.fsync);
        let direct = DirectFile::open_if_large(&file, &folder, &partial, size.length);
        let [settled, failed, prepared] = std::array::from_fn(|_| AtomicBool::new(false));
        let store = Self {
            folder,
            file,
            disk,
            partial,
            name,
            path: path.clone(),
            parents,
            metadata,
            length: size.length,
            is_sparse: size.has_holes(),
            write_back,
            direct,
            settled,
            failed,
            prepared,
            unset: OnceLock::new(),
            named: OnceLock::new(),
            replaced: OnceLock::new(),
        };
        // From here on an error drops `store`, which removes the file.
        let given = freeing::with_room(disk, || size.give(&store.file));
        given.map_err(|error| error_in(&store.folder, error))?;
        Ok(store)
    }

    /// Sets the metadata that the file gets when it is committed.
    pub fn with(mut self, metadata: Metadata) -> Self {
        self.metadata = metadata;
        self.write_back = begin_write_back(&self.file, self.length, metadata.fsync);
        self
    }

    /// Returns the metadata that the file gets when it is committed.
    pub(super) fn metadata(&self) -> Metadata {
        self.metadata
    }

    /// Returns the directory of the file, and the path of that directory.
    pub(super) fn directory(&self) -> io::Result<(OwnedFd, PathBuf)> {
        let path = self.path.parent().unwrap_or(Path::new("")).to_owned();
        Ok((self.folder.try_clone()?, path))
    }

    /// Returns the final name, without the directory.
    pub(super) fn file_name(&self) -> &OsStr {
        &self.name
    }

    /// Fails if the file system of `folder`, whose path is `path`, has less free space than
    /// `needed` bytes.
    pub(super) fn check_space(
        folder: &OwnedFd,
        path: &Path,
        needed: u64,
    ) -> Result<(), StoreError> {
        let free_now = || {
            let stat = fstatvfs(folder).ok().filter(|stat| stat.f_blocks > 0);
            stat.map_or(u64::MAX, |stat| stat.f_bavail.saturating_mul(stat.f_frsize))
        };
        let disk = fstat(folder).map_or(0, |stat| stat.st_dev);
        let mut seen = freeing::closed(disk);
        while free_now() < needed && freeing::await_more(disk, seen) {
            seen = freeing::closed(disk);
        }
        let free = free_now();
        if free < needed {
            return Err(StoreError::NoSpace { path: printable::path(path), needed, free });
        }
        Ok(())
    }

    fn unfinished(&self, error: &io::Error) -> StoreError {
        self.failed.store(true, Ordering::Release);
        StoreError::path_in(&self.folder, "finish", self.name(), error)
    }

    fn make_ready(&self, trace: &Collector) -> io::Result<()> {
        if self.prepared.load(Ordering::Acquire) {
            return Ok(());
        }
        let apply = || self.metadata.apply_to(&self.file, &self.folder, &self.name);
        let unset = trace.time(Stage::Commit, apply)?;
        let _ = self.unset.set(unset);
        if self.metadata.fsync {
            trace.time(Stage::Fsync, || storage::sync(&self.file))?;
        }
        self.prepared.store(true, Ordering::Release);
        Ok(())
    }

    fn write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        freeing::with_room(self.disk, || self.try_write(offset, bytes))
    }

    fn try_write(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let taken = match &self.direct {
            Some(direct) => direct.write(bytes, offset)?,
            None => 0,
        };
        let offset = offset + taken as u64;
        let rest = &bytes[taken..];
        storage::write_all_at(&self.file, rest, offset)?;
        self.write_back.wrote(&self.file, offset, rest.len())
    }

    /// Keeps the stamp of the file, unless it was changed since it had the stamp `unnamed`.
    fn name_with(&self, unnamed: &FileStamp) {
        let is_same =
            |now: &FileStamp| now.length == unnamed.length && now.modified == unnamed.modified;
        if let Some(now) = stamp(&self.file).ok().filter(is_same) {
            let _ = self.named.set(now);
        }
    }

    fn finish(&self, trace: &Collector) -> io::Result<()> {
        self.make_ready(trace)?;
        self.replaced.get_or_init(|| Replaced::hold(&self.folder, &self.name));
        let unnamed = stamp(&self.file)?;
        trace.time(Stage::Commit, || storage::rename(&self.folder, &self.partial, &self.name))?;
        self.settled.store(true, Ordering::Release);
        // At once, since everybody may write to it from now on, and a sync may take seconds.
        self.name_with(&unnamed);
        if self.metadata.fsync {
            for folder in std::iter::once(&self.folder).chain(&self.parents) {
                trace.time(Stage::Fsync, || storage::sync(folder))?;
            }
        }
        Ok(())
    }
}

impl Store for FileStore {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write(offset, bytes).inspect_err(|_| self.failed.store(true, Ordering::Release))
    }

    fn leave_hole(&self, offset: u64, length: usize) -> io::Result<()> {
        let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        match fallocate(&self.file, flags, offset, length as u64) {
            Ok(()) => Ok(()),
            // Where holes cannot be punched, write zeros: an interrupted copy may have left other
            // bytes.
            Err(_) => self.write_at(offset, &vec![0; length]),
        }
    }

    fn is_sparse(&self) -> bool {
        self.is_sparse
    }

    fn has_hole(&self, offset: u64, length: usize) -> bool {
        is_hole(&self.file, offset, offset + length as u64)
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.file.read_exact_at(bytes, offset)
    }

    fn prepare(&self, trace: &Collector) -> Result<(), StoreError> {
        self.make_ready(trace).map_err(|error| self.unfinished(&error))
    }

    fn commit(&self, trace: &Collector) -> Result<(), StoreError> {
        self.finish(trace).map_err(|error| self.unfinished(&error))?;
        let unset = self.unset.get().map_or(Ok(()), Unset::none);
        unset.map_err(|told| StoreError::path("set all attributes of", self.name(), &told))
    }

    fn takes_several(&self) -> bool {
        self.direct.is_some()
    }

    fn path(&self) -> Vec<u8> {
        self.path.as_os_str().as_bytes().to_vec()
    }

    fn abandon(&self) {
        if !self.settled.swap(true, Ordering::AcqRel) {
            // Fails if a user has removed the file.
            let _ = storage::remove(&self.folder, &self.partial);
        }
    }

    fn name(&self) -> String {
        printable::path(&self.path)
    }

    fn file(&self) -> Option<&File> {
        Some(&self.file)
    }

    /// Returns false after a failed write: then the disk may be full or broken, and the partial
    /// file is not worth keeping.
    fn leave(&self) -> bool {
        if self.failed.load(Ordering::Acquire) || self.settled.load(Ordering::Acquire) {
            return false;
        }
        // Only one partial file is kept; the lock protects this one.
        remove_stale(&self.folder, &self.name);
        if let Ok(now) = stamp(&self.file) {
            let _ = self.named.set(now);
        }
        !self.settled.swap(true, Ordering::AcqRel)
    }

    fn named_stamp(&self) -> Option<FileStamp> {
        self.named.get().copied()
    }
}

impl Drop for FileStore {
    fn drop(&mut self) {
        self.abandon();
    }
}

/// Reserves disk space for the first `length` bytes of a file, so that a full disk is detected
/// before the copy and not during it. Does nothing if the file system does not support this, or
/// exists only in memory: there the kernel writes zeros, which takes as long as the copy.
pub fn reserve(file: &File, length: u64) -> io::Result<()> {
    if length == 0 || storage::is_in_memory(file)? {
        return Ok(());
    }
    let reserved = fallocate(file, FallocateFlags::empty(), 0, length);
    // Not all file systems support this; a full disk is then detected during the copy.
    reserved.err().and_then(lack_of_room).map_or(Ok(()), Err)
}

/// Returns what an error of fallocate(2) says of the room on a file system; none if it says nothing
/// of it.
pub fn lack_of_room(errno: Errno) -> Option<io::Error> {
    match errno {
        Errno::NOSPC => Some(Errno::NOSPC.into()),
        // The file system has a maximum, or this process a limit.
        Errno::FBIG => Some(Errno::FBIG.into()),
        // Others may have room there.
        Errno::DQUOT => Some(Errno::DQUOT.into()),
        _ => None,
    }
}

/// Returns why the existing `name` cannot be replaced by a file; none if it can, or if it does not
/// exist.
pub fn unreplaceable(folder: &OwnedFd, name: &OsStr) -> io::Result<Option<&'static str>> {
    let stat = match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT) => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile | FileType::Symlink => None,
        FileType::Directory => Some("it is a directory"),
        FileType::BlockDevice | FileType::CharacterDevice => Some("it is a device"),
        _ => Some("it is not a regular file"),
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use garland_core::trace::Record;
    use garland_protocol::copy::CopyId;
    use garland_sys::error::reason;
    use garland_testkit::{HangingDisk, Modes, Oddities};

    use super::*;
    use crate::recorder::Budget;
    use crate::tests::{Scratch, untraced};

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_length_that_is_only_claimed_takes_no_space_and_must_fit_all_the_same() {
        let dir = Scratch::new("file-grows");
        let root = Root::confined(&dir).unwrap();
        let claimed = |length| Size { grows: true, ..Size::whole(length) };
        let file = FileStore::create(&root, b"/x", b"x", "", claimed(64 << 20), "t1").unwrap();
        let taken = |file: &FileStore| {
            std::os::unix::fs::MetadataExt::blocks(&file.file().unwrap().metadata().unwrap())
        };
        assert_eq!(taken(&file), 0);
        file.write_at(0, &[1; 4096]).unwrap();
        assert!(taken(&file) < 1 << 10);
        let error = FileStore::create(&root, b"/y", b"y", "", claimed(1 << 60), "t").err().unwrap();
        assert!(matches!(error, StoreError::NoSpace { .. }), "{error}");
    }

    #[test]
    fn a_file_appears_whole_and_shorter_than_the_old_one() {
        let dir = Scratch::new("file-whole");
        let root = Root::confined(&dir).unwrap();
        std::fs::write(dir.join("x"), b"a longer old file").unwrap();
        let file = FileStore::create(&root, b"/x", b"s", "", Size::whole(3), "t1").unwrap();
        file.write_at(0, b"new").unwrap();
        assert_eq!(std::fs::read(dir.join("x")).unwrap(), b"a longer old file");
        file.commit(&untraced()).unwrap();
        drop(file);
        assert_eq!(std::fs::read(dir.join("x")).unwrap(), b"new");
        assert_eq!(names(&dir), ["x"]);
    }

    #[test]
    fn a_file_gets_no_set_id_bits_and_a_time_that_exists() {
        let dir = Scratch::new("file-bits");
        let root = Root::confined(&dir).unwrap();
        // The last two are UTIME_NOW and UTIME_OMIT, which would not set the given time.
        for nanos in [5, u32::MAX, (1 << 30) - 1, (1 << 30) - 2] {
            let file = FileStore::create(&root, b"/x", b"x", "", Size::whole(3), "t1").unwrap();
            let times = Some((1_000, nanos));
            let metadata = Metadata { mode: 0o7751, keeps_mode: true, times, fsync: false };
            let file = file.with(metadata);
            file.commit(&untraced()).unwrap();
            let stat = fstat(File::open(dir.join("x")).unwrap()).unwrap();
            assert_eq!(format!("{:o}", stat.st_mode & 0o7777), "1751");
            let wanted = (1_000, i64::from(nanos.min(999_999_999)));
            assert_eq!((stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap()), wanted);
        }
    }

    #[test]
    fn a_mode_that_the_file_system_does_not_give_is_named() {
        let start = "cannot set all attributes of /x: it is there, but its mode cannot be set: ";
        let not_kept = "the file system does not keep it";
        let refused = "operation not permitted";
        let asked = Some((1_000, 0));
        for (modes, times, said) in [
            (Modes::FixedAndIgnored, asked, Some(not_kept)),
            (Modes::FixedAndRefused, asked, Some(refused)),
            (Modes::Refused, asked, Some(refused)),
            // Nobody asked for a mode, and the file has that of all files there, as with cp(1).
            (Modes::FixedAndIgnored, None, None),
            (Modes::FixedAndRefused, None, None),
            // It has that of the hidden file, with which cp(1) would not leave it.
            (Modes::Refused, None, Some(refused)),
            (Modes::Kept, asked, None),
        ] {
            let dir = Scratch::new("file-modes");
            let disk = HangingDisk::mount_odd(&dir, Oddities { modes, ..Oddities::default() });
            let root = Root::confined(&dir).unwrap();
            let file = FileStore::create(&root, b"/x", b"x", "", Size::whole(3), "t1").unwrap();
            let file = file.with(Metadata {
                mode: 0o644,
                keeps_mode: times.is_some(),
                times,
                fsync: false,
            });
            file.write_at(0, b"new").unwrap();
            let done = file.commit(&untraced()).map_err(|error| error.to_string());
            let wanted = said.map_or(Ok(()), |said| Err(format!("{start}{said}")));
            assert_eq!(done, wanted, "{modes:?} {times:?}");
            assert_eq!(std::fs::read(dir.join("x")).unwrap(), b"new");
            drop((file, disk));
        }
    }

    #[test]
    fn mode_and_time_are_kept_apart() {
        for (keeps_mode, times) in [(true, None), (false, Some((1_000, 5)))] {
            let dir = Scratch::new("file-apart");
            let root = Root::confined(&dir).unwrap();
            std::fs::write(dir.join("x"), "old").unwrap();
            std::fs::set_permissions(dir.join("x"), std::fs::Permissions::from_mode(0o606))
                .unwrap();
            let file = FileStore::create(&root, b"/x", b"x", "", Size::whole(3), "t1").unwrap();
            let file = file.with(Metadata { mode: 0o751, keeps_mode, times, fsync: false });
            file.commit(&untraced()).unwrap();
            let stat = fstat(File::open(dir.join("x")).unwrap()).unwrap();
            let mode = if keeps_mode { 0o751 } else { 0o606 };
            assert_eq!(format!("{:o}", stat.st_mode & 0o7777), format!("{mode:o}"));
            assert_eq!(stat.st_mtime == 1_000, times.is_some());
        }
    }

    #[test]
    fn a_large_file_that_is_replaced_is_freed_after_the_commit() {
        let dir = Scratch::new("file-replaced");
        let root = Root::confined(&dir).unwrap();
        let is_open = || {
            let entries = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
            let mut files = entries.filter_map(|entry| std::fs::read_link(entry.path()).ok());
            let deleted = dir.join("x (deleted)");
            files.any(|file| file == deleted)
        };
        for (length, stays) in [(10 << 20, true), (10, false)] {
            std::fs::write(dir.join("x"), vec![1; length]).unwrap();
            let file = FileStore::create(&root, b"/x", b"s", "", Size::whole(3), "t1").unwrap();
            file.write_at(0, b"new").unwrap();
            file.commit(&untraced()).unwrap();
            assert_eq!(std::fs::read(dir.join("x")).unwrap(), b"new");
            assert_eq!(is_open(), stays);
            let disk = fstat(File::open(&*dir).unwrap()).unwrap().st_dev;
            drop(file);
            // Other tests may have files on this disk.
            while is_open() && freeing::await_more(disk, freeing::closed(disk)) {}
            assert!(!is_open());
        }
    }

    #[test]
    fn new_directories_of_a_file_are_synced_with_it() {
        let dir = Scratch::new("file-parents");
        let root = Root::confined(&dir).unwrap();
        std::fs::create_dir(dir.join("there")).unwrap();
        let synced = |path: &[u8], fsync: bool| {
            let budget = Budget { records: 1000, threads: 1 };
            let trace = Collector::new(budget, CopyId([0; 16]), 1, 0, None);
            let file = FileStore::create(&root, path, b"x", "", Size::whole(3), "t1").unwrap();
            let file = file.with(Metadata { mode: 0o666, keeps_mode: false, times: None, fsync });
            file.commit(&trace).unwrap();
            let is_sync =
                |record: &&Record| matches!(record, Record::Span(it) if it.stage == Stage::Fsync);
            trace.finish().records.iter().filter(is_sync).count()
        };
        assert_eq!(synced(b"/there/", true), 2, "the file and its directory");
        // `there` got an entry, and so did `a` and `b`.
        assert_eq!(
            synced(b"/there/a/b/c/", true),
            2 + 3,
            "and each directory with a new one in it"
        );
        assert_eq!(synced(b"/there/d/e/", false), 0);
    }

    #[test]
    fn an_abandoned_file_leaves_nothing_and_stale_ones_are_removed() {
        let dir = Scratch::new("file-stale");
        let root = Root::confined(&dir).unwrap();
        drop(FileStore::create(&root, b"/d/", b"x", "", Size::whole(10), "t1").unwrap());
        assert_eq!(names(&dir.join("d")), Vec::<String>::new());
        std::fs::write(dir.join("d/.x.dead.garland-part"), b"left").unwrap();
        let alive = FileStore::create(&root, b"/d", b"x", "", Size::whole(10), "t2").unwrap();
        let other = FileStore::create(&root, b"/d", b"x", "", Size::whole(10), "t3").unwrap();
        assert_eq!(names(&dir.join("d")), [".x.t2.garland-part", ".x.t3.garland-part"]);
        drop((alive, other));
    }

    #[test]
    fn what_a_disk_lacks_is_told() {
        let said = |errno| lack_of_room(errno).map(|error| reason(&error));
        assert_eq!(said(Errno::DQUOT).as_deref(), Some("disk quota exceeded"));
        assert_eq!(said(Errno::FBIG).as_deref(), Some("file too large"));
        assert_eq!(said(Errno::OPNOTSUPP), None);
        let dir = Scratch::new("file-inodes");
        let root = Root::confined(&dir).unwrap();
        let oddities = Oddities { inodes_max: 2, ..Oddities::default() };
        let disk = HangingDisk::mount_odd(&dir.join("d"), oddities);
        std::fs::write(dir.join("d/last"), "").unwrap();
        let error = FileStore::create(&root, b"/d/x", b"x", "", Size::whole(1), "t").err().unwrap();
        let wanted = "cannot create /d/x: no inodes left on the device, though it has space \
                      (see df -i)";
        assert_eq!(error.to_string(), wanted);
        drop(disk);
    }

    #[test]
    fn only_files_are_replaced_and_space_is_checked() {
        let dir = Scratch::new("file-replace");
        let root = Root::confined(&dir).unwrap();
        std::fs::create_dir_all(dir.join("d/x")).unwrap();
        let error = FileStore::create(&root, b"/d", b"x", "", Size::whole(1), "t").err().unwrap();
        assert_eq!(error.to_string(), "cannot replace /d/x: it is a directory");
        let error =
            FileStore::create(&root, b"/d/y", b"y", "", Size::whole(1 << 60), "t").err().unwrap();
        assert!(error.to_string().starts_with("no space left on /d: "), "{error}");
        let error =
            FileStore::create(&root, b"/none/y", b"y", "", Size::whole(1), "t").err().unwrap();
        let wanted =
            "cannot open the directory /none: no such file or directory; a copy to /none/ makes it";
        assert_eq!(error.to_string(), wanted);
    }
}

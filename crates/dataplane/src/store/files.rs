//! Several files as the destination of one copy: each gets the next part of the bytes.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use garland_core::printable;
use garland_core::trace::Stage;
use garland_protocol::copy::FileTarget;
use garland_sys::confine::Root;
use garland_sys::storage;
use rustix::fs::fstat;

use super::directory::{OpenDirectory, unopened};
use super::file::{FileStore, Metadata, Size};
use super::left::remove_stale_of;
use super::{Store, StoreError};
use crate::recorder::Collector;

/// The length in bytes from which disk space is reserved for a file before it is written. Smaller
/// files get theirs when the kernel writes them to the disk: those that are removed before, as a
/// job's files on its node often are, cost nothing there.
const LARGE: u64 = 64 << 10;

/// The maximum number of directories that are made stable one by one.
const FEW: usize = 16;

/// Several files under their hidden names. All are complete before any of them is renamed.
pub struct FilesStore {
    /// The files, each with the offset of its first byte in the copy.
    files: Vec<(u64, FileStore)>,
    /// The directories of the files, each once.
    folders: Vec<OwnedFd>,
    fsync: bool,
}

impl FilesStore {
    /// Creates the hidden files for `targets` below `root`. The directories of the files must
    /// exist. Hidden names contain `tag`.
    pub fn create(
        root: &Root,
        targets: &[FileTarget],
        fsync: bool,
        tag: &str,
    ) -> Result<Self, StoreError> {
        let opened = folders(root, targets)?;
        let mut files = Vec::with_capacity(targets.len());
        let mut begin = 0;
        for FileTarget { path, length, mode, room } in targets {
            let (above, name) = split(path)?;
            let again =
                |error| StoreError::path("open the directory", printable::path(above), &error);
            let folder = opened[above].try_clone().map_err(again)?;
            let room = if *length < LARGE { 0 } else { *room.min(length) };
            let size = Size { length: *length, room, grows: false };
            let directory = OpenDirectory::new(folder, above.to_owned());
            let file = FileStore::create_in(directory, name.to_owned(), size, tag, None)?;
            // The files are made stable together.
            let file =
                file.with(Metadata { mode: *mode, keeps_mode: false, times: None, fsync: false });
            files.push((begin, file));
            begin += length;
        }
        Ok(Self { files, folders: opened.into_values().collect(), fsync })
    }

    /// Returns each file that has some of the `length` bytes at the offset `offset` of the copy,
    /// with the offset of these bytes in the file and their number.
    fn parts(&self, offset: u64, length: usize) -> impl Iterator<Item = (&FileStore, u64, usize)> {
        let end = offset + length as u64;
        let first = self.files.partition_point(|(begin, _)| *begin <= offset).saturating_sub(1);
        let nexts = self.files.iter().skip(1).map(|(begin, _)| *begin).chain([u64::MAX]);
        let files = self.files.iter().zip(nexts).skip(first);
        let files = files.take_while(move |((begin, _), _)| *begin < end);
        files.map(move |((begin, file), next)| {
            let from = offset.max(*begin);
            // Part of a block, which fits into memory.
            (file, from - begin, (end.min(next) - from) as usize)
        })
    }

    /// Makes the files stable, if that was requested. One syncfs(2) for each file system takes a
    /// fraction of the time of an fsync(2) for each file.
    fn make_stable(&self, trace: &Collector) -> Result<(), StoreError> {
        if !self.fsync {
            return Ok(());
        }
        let mut devices = BTreeMap::new();
        for file in self.files.iter().filter_map(|(_, file)| file.file()) {
            devices.insert(fstat(file).map_or(0, |stat| stat.st_dev), file);
        }
        let sync = || devices.values().try_for_each(storage::sync_file_system);
        trace.time(Stage::Fsync, sync).map_err(|error| self.unstable(error))
    }

    /// Makes the files' new names stable, if that was requested. The contents are stable already,
    /// and a syncfs(2) would write what other programs have written since.
    fn make_names_stable(&self, trace: &Collector) -> Result<(), StoreError> {
        if !self.fsync || self.folders.len() > FEW {
            return self.make_stable(trace);
        }
        let sync = |folder| trace.time(Stage::Fsync, || storage::sync(folder));
        self.folders.iter().try_for_each(sync).map_err(|error| self.unstable(error))
    }

    fn unstable(&self, error: io::Error) -> StoreError {
        StoreError::path("sync", self.name(), &error)
    }
}

impl Store for FilesStore {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut rest = bytes;
        for (file, at, length) in self.parts(offset, bytes.len()) {
            let (now, after) = rest.split_at(length);
            file.write_at(at, now)?;
            rest = after;
        }
        Ok(())
    }

    fn read_at(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let mut rest = &mut bytes[..];
        for (file, at, length) in self.parts(offset, rest.len()) {
            let (now, after) = std::mem::take(&mut rest).split_at_mut(length);
            file.read_at(at, now)?;
            rest = after;
        }
        Ok(())
    }

    fn prepare(&self, trace: &Collector) -> Result<(), StoreError> {
        self.files.iter().try_for_each(|(_, file)| file.prepare(trace))?;
        self.make_stable(trace)
    }

    fn commit(&self, trace: &Collector) -> Result<(), StoreError> {
        self.prepare(trace)?;
        self.files.iter().try_for_each(|(_, file)| file.commit(trace))?;
        self.make_names_stable(trace)
    }

    fn abandon(&self) {
        self.files.iter().for_each(|(_, file)| file.abandon());
    }

    fn is_holder(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        let first = self.files.first().map_or_else(String::new, |(_, file)| file.name());
        format!("{first} and {} more files", self.files.len().saturating_sub(1))
    }

    fn device(&self) -> Option<u64> {
        self.files.first().and_then(|(_, file)| file.device())
    }
}

/// Splits the path of a file into its directory and its name.
fn split(path: &[u8]) -> Result<(&Path, &OsStr), StoreError> {
    let path = Path::new(OsStr::from_bytes(path));
    let name = path.file_name();
    let name = name.ok_or_else(|| {
        StoreError::refused("create", printable::path(path), "the path does not name a file")
    })?;
    Ok((path.parent().unwrap_or(Path::new("")), name))
}

/// Opens the directory of each file, checks its free space, and removes the partial files that
/// interrupted copies left there.
fn folders<'a>(
    root: &Root,
    targets: &'a [FileTarget],
) -> Result<BTreeMap<&'a Path, OwnedFd>, StoreError> {
    let mut inside: BTreeMap<&Path, (Vec<&OsStr>, u64)> = BTreeMap::new();
    for FileTarget { path, length, room, .. } in targets {
        let (above, name) = split(path)?;
        let (names, needed) = inside.entry(above).or_default();
        names.push(name);
        *needed = needed.saturating_add(*room.min(length));
    }
    let mut folders = BTreeMap::new();
    for (above, (names, needed)) in inside {
        let folder = root.open_dir(above, false).map_err(unopened(above))?;
        remove_stale_of(&folder, &names);
        FileStore::check_space(&folder, above, needed)?;
        folders.insert(above, folder);
    }
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use garland_core::trace::Record;
    use garland_protocol::copy::CopyId;

    use super::*;
    use crate::recorder::Budget;
    use crate::tests::{Scratch, untraced};

    fn target(path: &str, length: u64) -> FileTarget {
        FileTarget { path: path.into(), length, mode: 0o644, room: length }
    }

    #[test]
    fn bytes_go_to_the_files_one_after_another_and_appear_together() {
        let dir = Scratch::new("files-together");
        let root = Root::confined(&dir).unwrap();
        std::fs::create_dir(dir.join("d")).unwrap();
        std::fs::write(dir.join(".c.dead.garland-part"), "left").unwrap();
        let lengths = [("a", 3), ("none", 0), ("d/b", 5), ("c", 1), ("last", 0)];
        let targets = lengths.map(|(path, length)| target(path, length));
        let store = FilesStore::create(&root, &targets, true, "t").unwrap();
        // In pieces that do not end where files end.
        for (offset, piece) in [(4, "bbbbc"), (0, "aa"), (2, "ab")] {
            store.write_at(offset, piece.as_bytes()).unwrap();
        }
        let mut all = [0; 9];
        store.read_at(0, &mut all).unwrap();
        assert_eq!(&all, b"aaabbbbbc");
        assert!(!dir.join("a").exists() && !dir.join("d/b").exists());
        store.commit(&untraced()).unwrap();
        let read = |name: &str| std::fs::read_to_string(dir.join(name)).unwrap();
        assert_eq!(["a", "none", "d/b", "c", "last"].map(read), ["aaa", "", "bbbbb", "c", ""]);
        drop(store);
        let names = std::fs::read_dir(&*dir).unwrap().flatten();
        assert!(names.map(|entry| entry.file_name()).all(|name| name.as_bytes()[0] != b'.'));
    }

    #[test]
    fn files_and_then_their_few_directories_are_synced_if_that_was_requested() {
        let dir = Scratch::new("files-synced");
        let root = Root::confined(&dir).unwrap();
        let synced = |folders: usize, fsync| {
            (0..folders).for_each(|at| std::fs::create_dir_all(dir.join(at.to_string())).unwrap());
            let targets: Vec<_> = (0..folders).map(|at| target(&format!("{at}/file"), 1)).collect();
            let budget = Budget { records: 1000, threads: 1 };
            let trace = Collector::new(budget, CopyId([0; 16]), 1, 0, None);
            let store = FilesStore::create(&root, &targets, fsync, "t").unwrap();
            store.commit(&trace).unwrap();
            let is_sync =
                |record: &&Record| matches!(record, Record::Span(it) if it.stage == Stage::Fsync);
            trace.finish().records.iter().filter(is_sync).count()
        };
        assert_eq!(synced(3, true), 1 + 3);
        assert_eq!(synced(FEW + 1, true), 1 + 1, "all at once");
        assert_eq!(synced(3, false), 0);
    }

    #[test]
    fn one_file_that_cannot_be_created_leaves_none() {
        let dir = Scratch::new("files-none");
        let root = Root::confined(&dir).unwrap();
        std::fs::create_dir(dir.join("d")).unwrap();
        for (bad, length, reason) in [
            ("d", 1, "cannot replace d: it is a directory"),
            ("x/y", 1, "cannot open"),
            ("z", 1 << 60, "no space left on "),
        ] {
            let targets = [target("a", 1), target(bad, length)];
            let error = FilesStore::create(&root, &targets, true, "t").err().unwrap();
            assert!(error.to_string().starts_with(reason), "{error}");
            assert_eq!(std::fs::read_dir(&*dir).unwrap().count(), 1);
        }
    }
}

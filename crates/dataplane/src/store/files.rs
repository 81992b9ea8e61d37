//! Several files as the destination of one copy: each gets the next part of the bytes.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use garland_core::trace::Stage;
use garland_protocol::FileTarget;
use garland_sys::confine::Root;
use rustix::fs::{fstat, syncfs};

use super::file::{FileStore, Metadata, Size, unopened};
use super::left::remove_stale_of;
use super::{Store, StoreError};
use crate::recorder::Collector;

/// Several files under their hidden names. All are complete before any of them is renamed.
pub struct FilesStore {
    /// The files, each with the offset of its first byte in the copy.
    files: Vec<(u64, FileStore)>,
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
        let folders = folders(root, targets)?;
        let (mut files, mut begin) = (Vec::with_capacity(targets.len()), 0);
        for FileTarget { path, length, mode, room } in targets {
            let (above, name) = split(path)?;
            let again = |error| StoreError::path("open the directory", above.display(), &error);
            let folder = folders[above].try_clone().map_err(again)?;
            let size = Size { length: *length, room: *room.min(length) };
            let directory = (folder, above.to_owned(), Vec::new());
            let file = FileStore::create_in(directory, name.to_owned(), size, tag, None)?;
            // The files are made stable together.
            let file = file.with(Metadata { mode: *mode, times: None, fsync: false });
            files.push((begin, file));
            begin += length;
        }
        Ok(Self { files, fsync })
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

    /// Makes the files and their current names stable, if that was requested. One syncfs(2) for
    /// each file system takes a fraction of the time of an fsync(2) for each file.
    fn make_stable(&self, trace: &Collector) -> Result<(), StoreError> {
        let mut devices = BTreeMap::new();
        for file in self.files.iter().filter_map(|(_, file)| file.file()).filter(|_| self.fsync) {
            devices.insert(fstat(file).map_or(0, |stat| stat.st_dev), file);
        }
        let sync = || devices.values().try_for_each(syncfs);
        let failed =
            |error: rustix::io::Errno| StoreError::path("sync", self.name(), &error.into());
        trace.time(Stage::Fsync, sync).map_err(failed)
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
        // The new names as well.
        self.make_stable(trace)
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
        StoreError::refused("create", path.display(), "the path does not name a file")
    })?;
    Ok((path.parent().unwrap_or(Path::new("")), name))
}

/// Opens the directory of each file, and removes the partial files that interrupted copies left
/// there.
fn folders<'a>(
    root: &Root,
    targets: &'a [FileTarget],
) -> Result<BTreeMap<&'a Path, OwnedFd>, StoreError> {
    let mut names: BTreeMap<&Path, Vec<&OsStr>> = BTreeMap::new();
    for target in targets {
        let (above, name) = split(&target.path)?;
        names.entry(above).or_default().push(name);
    }
    let mut folders = BTreeMap::new();
    for (above, names) in names {
        let folder = root.open_dir(above, false).map_err(unopened(above))?;
        remove_stale_of(&folder, &names);
        folders.insert(above, folder);
    }
    Ok(folders)
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn one_file_that_cannot_be_created_leaves_none() {
        let dir = Scratch::new("files-none");
        let root = Root::confined(&dir).unwrap();
        std::fs::create_dir(dir.join("d")).unwrap();
        for (bad, reason) in [("d", "cannot replace d: it is a directory"), ("x/y", "cannot open")]
        {
            let targets = [target("a", 1), target(bad, 1)];
            let error = FilesStore::create(&root, &targets, true, "t").err().unwrap();
            assert!(error.to_string().starts_with(reason), "{error}");
            assert_eq!(std::fs::read_dir(&*dir).unwrap().count(), 1);
        }
    }
}

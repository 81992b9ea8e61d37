//! Trees of objects, which an object store lists, as the source of a copy.

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use garland_core::tree::{DEPTH_MAX, Meta, PATH_MAX, Pattern, Record, is_name};

use super::index::{Body, Stamp, TOP};
use super::left_out::LeftOut;
use super::scan::{Scan, ScanOptions};

/// The mode of directories: objects have none.
const FOLDER_MODE: u32 = 0o755;

/// The maximum number of directories that keys of objects imply, beside [`FOLDERS_OF_OBJECT_MAX`]
/// for each object: a listing of some megabytes could imply millions.
const FOLDERS_MAX: usize = 1 << 20;

/// The maximum number of directories for each object of a tree with more than [`FOLDERS_MAX`].
const FOLDERS_OF_OBJECT_MAX: usize = 4;

/// An object that becomes a file; or, if its path ends in a slash and it is empty, a directory.
#[derive(Clone, Copy, Debug)]
pub struct ObjectFile<'a> {
    /// The path in the tree.
    pub path: &'a [u8],
    /// Whether the store can be asked for its bytes. If not, and they are needed, the object is
    /// told.
    pub is_readable: bool,
    /// The length in bytes.
    pub length: u64,
    /// The permission bits of the file.
    pub mode: u32,
    /// The time of modification: seconds and nanoseconds since the start of 1970.
    pub modified: (i64, u32),
}

/// Why an object cannot be read.
#[derive(Clone, Debug)]
pub enum Unread {
    /// This object is gone or has changed.
    Object(String),
    /// The store does not answer, or refuses to.
    Store(String),
}

/// The contents of objects, which have numbers in the order of the tree.
pub trait Objects: Send + Sync {
    /// Starts to read the objects with the numbers that `numbers` returns, in ascending order.
    /// Later calls have no effect.
    fn begin(&self, numbers: &mut dyn FnMut() -> Vec<u32>);

    /// Fills `bytes` with the bytes at `offset` of the object `number`.
    ///
    /// # Errors
    /// When they cannot be read, or the object has changed since it was listed.
    fn read(&self, number: u32, offset: u64, bytes: &mut [u8]) -> Result<(), Unread>;
}

/// Makes a tree of `objects`, in whose order the objects of a directory follow each other. All of
/// it goes into the directory `top`, or, if that is empty, to the top of the tree. Files and
/// directories belong to `owner`.
pub fn tree_of<'a>(
    objects: impl Iterator<Item = ObjectFile<'a>> + Clone,
    top: &[u8],
    owner: (u32, u32),
    options: &ScanOptions<'_>,
) -> Scan {
    let mut tree = ObjectTree { scan: Scan::default(), options, owner, open: Vec::new() };
    tree.scan.begin(options);
    let directories = directories_of(objects.clone(), FOLDERS_MAX);
    let mut markers = HashSet::new();
    for (number, object) in (0..).zip(objects) {
        if number as usize >= directories.objects {
            let reason =
                "the keys before it have too many directories: copy parts of it".to_owned();
            tree.scan.left_out.push(LeftOut::failed(object.path, reason));
            continue;
        }
        if let Some(marked) = object.as_directory() {
            // With files below, it is made for them, at the time of the first one.
            if !directories.holding.contains(marked) && markers.insert(marked) {
                tree.add_directory(top, marked, object);
            }
            continue;
        }
        // Some programs store an empty object for each directory.
        let is_directory = directories.contains(object.path);
        if !is_directory {
            tree.add(number, top, object);
        } else if object.length > 0 {
            let reason = "there are objects below this name, which becomes a directory".to_owned();
            tree.scan.left_out.push(LeftOut::failed(object.path, reason));
        }
    }
    tree.leave(0);
    if top.is_empty() {
        tree.sweep(TOP);
    }
    tree.scan.end()
}

/// The paths that become directories.
struct Directories<'a> {
    /// Those that have something below.
    holding: HashSet<&'a [u8]>,
    /// Those that an object stands for.
    marked: HashSet<&'a [u8]>,
    /// The number of objects before the first one for which there would be too many.
    objects: usize,
}

impl Directories<'_> {
    fn contains(&self, path: &[u8]) -> bool {
        self.holding.contains(path) || self.marked.contains(path)
    }
}

/// Returns the directories of the objects, `most` and [`FOLDERS_OF_OBJECT_MAX`] for each object at
/// most.
fn directories_of<'a>(
    objects: impl Iterator<Item = ObjectFile<'a>>,
    most: usize,
) -> Directories<'a> {
    let mut all =
        Directories { holding: HashSet::new(), marked: HashSet::new(), objects: usize::MAX };
    for (number, object) in objects.enumerate() {
        if all.holding.len() > most + number * FOLDERS_OF_OBJECT_MAX {
            all.objects = number;
            break;
        }
        let marked = object.as_directory();
        let mut above = marked.unwrap_or(object.path);
        if !is_path(above) {
            // The tree leaves it out, and reports it when its turn comes.
            continue;
        }
        all.marked.extend(marked);
        while let Some(end) = above.iter().rposition(|byte| *byte == b'/') {
            above = &above[..end];
            if !all.holding.insert(above) {
                break;
            }
        }
    }
    all
}

/// Returns whether a path is one of a file in a tree.
fn is_path(path: &[u8]) -> bool {
    // Of a longer one, each directory would cost as much as the whole.
    path.len() <= PATH_MAX
        && path.split(|byte| *byte == b'/').count() <= DEPTH_MAX
        && path.split(|byte| *byte == b'/').all(is_name)
}

impl<'a> ObjectFile<'a> {
    /// Returns the path of the directory that an empty object stands for.
    fn as_directory(&self) -> Option<&'a [u8]> {
        self.path.strip_suffix(b"/").filter(|_| self.length == 0)
    }
}

/// A tree of objects that is being made.
struct ObjectTree<'a> {
    scan: Scan,
    options: &'a ScanOptions<'a>,
    owner: (u32, u32),
    /// The directories on the path to the last object: their names and record numbers.
    open: Vec<(Vec<u8>, u32)>,
}

impl ObjectTree<'_> {
    fn add(&mut self, number: u32, top: &[u8], object: ObjectFile<'_>) {
        let path = below(top, object.path);
        if self.is_excluded(&path, false) {
            return;
        }
        if !is_path(&path) || !object.is_readable {
            return self.leave_out(object);
        }
        let names: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
        let Some((name, folders)) = names.split_last() else { return };
        self.enter(folders, object.modified);
        let meta = self.meta(object.mode, object.modified);
        let length = object.length;
        let record =
            Record::File { name: name.to_vec(), meta, length, sparse: false, linked: false };
        let body = Body::File(Stamp::of_object(number, length));
        self.scan.index.push(self.folder(), &record, body);
        self.scan.tally.files += 1;
    }

    /// Adds an empty directory, for which `object` stands.
    fn add_directory(&mut self, top: &[u8], directory: &[u8], object: ObjectFile<'_>) {
        let path = below(top, directory);
        if self.is_excluded(&path, true) {
            return;
        }
        if !is_path(&path) {
            return self.leave_out(object);
        }
        let names: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
        self.enter(&names, object.modified);
    }

    fn leave_out(&mut self, object: ObjectFile<'_>) {
        let reason = "its key is not a path of a file".to_owned();
        self.scan.left_out.push(LeftOut::failed(object.path, reason));
    }

    /// Leaves and enters directories until those with these names are open. New ones get the time
    /// of the object `modified`.
    fn enter(&mut self, folders: &[&[u8]], modified: (i64, u32)) {
        let alike = self.open.iter().zip(folders).take_while(|(open, name)| open.0 == **name);
        self.leave(alike.count());
        for folder in &folders[self.open.len()..] {
            let meta = self.meta(FOLDER_MODE, modified);
            let record = Record::Enter { name: folder.to_vec(), meta };
            let own = self.scan.index.push(self.folder(), &record, Body::None);
            self.open.push((folder.to_vec(), own));
            self.scan.tally.folders += 1;
        }
    }

    /// Leaves the open directories but the first `kept`.
    fn leave(&mut self, kept: usize) {
        while self.open.len() > kept {
            let own = self.folder();
            self.sweep(own);
            if self.open.pop().is_some() {
                self.scan.index.push(self.folder(), &Record::Leave, Body::None);
            }
        }
    }

    /// Makes nodes remove what the directory does not have, unless an object could not be copied.
    fn sweep(&mut self, directory: u32) {
        if self.options.sweep && self.scan.left_out.is_empty() {
            self.scan.index.push(directory, &Record::Sweep, Body::None);
        } else if self.options.sweep {
            let names: Vec<&[u8]> = self.open.iter().map(|(name, _)| name.as_slice()).collect();
            self.scan.unswept.push(OsString::from_vec(names.join(&b'/')).into());
        }
    }

    /// Returns the record number of the innermost open directory.
    fn folder(&self) -> u32 {
        self.open.last().map_or(TOP, |(_, own)| *own)
    }

    fn meta(&self, mode: u32, modified: (i64, u32)) -> Meta {
        Meta { mode, owner: self.owner, modified, attributes: Vec::new() }
    }

    /// Returns whether patterns leave out a file or directory, or a directory that it is in.
    fn is_excluded(&self, path: &[u8], is_directory: bool) -> bool {
        let excludes = &self.options.excludes;
        let ends = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let mut folders = ends.map(|(end, _)| &path[..end]);
        folders.any(|folder| Pattern::exclude(excludes, folder, true))
            || Pattern::exclude(excludes, path, is_directory)
    }
}

/// Returns a path in the directory `top`, unless that is empty.
fn below(top: &[u8], path: &[u8]) -> Vec<u8> {
    match top {
        b"" => path.to_vec(),
        top => [top, b"/", path].concat(),
    }
}

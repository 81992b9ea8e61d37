//! The directories of a tree's sources, and opening the files in them name by name, without
//! following symbolic links.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use garland_core::tree::{Parser, Step};
use rustix::fs::{AtFlags, Mode, OFlags, Stat, openat, statat};

use super::index::Index;

/// Flags for opening a directory.
pub const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Flags for opening a file. Non-blocking: it may have become a pipe since the scan.
const FILE: OFlags =
    OFlags::RDONLY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);

/// One source of a tree.
#[derive(Debug)]
pub struct Place {
    /// The directory that contains its top-level entries.
    pub folder: OwnedFd,
    /// The path of that directory, for messages; ends in a slash unless it is empty.
    pub path: Vec<u8>,
    /// The number of its first record.
    pub first: u32,
}

/// Returns the name in record `number`; empty if the record has none.
pub fn name_of(index: &Index, number: u32) -> Vec<u8> {
    let mut bytes = index.bytes(number);
    match Parser::default().step(&mut bytes) {
        Ok(Some(Step::Record(record))) => record.name().unwrap_or_default().to_vec(),
        _ => Vec::new(),
    }
}

/// Returns the names on the path from the top down to record `number`.
pub fn names_to(index: &Index, number: u32) -> Vec<Vec<u8>> {
    let mut names = vec![name_of(index, number)];
    let mut at = number;
    while let Some(folder) = index.folder(at) {
        names.push(name_of(index, folder));
        at = folder;
    }
    names.reverse();
    names
}

/// Opens the files of a tree; caches the last directory.
#[derive(Debug, Default)]
pub struct Opener {
    /// The last directory: the index of its source, its record number, and its descriptor.
    last: Option<((usize, Option<u32>), OwnedFd)>,
}

impl Opener {
    /// Opens the file of record `number`.
    pub fn open(&mut self, places: &[Place], index: &Index, number: u32) -> io::Result<File> {
        let folder = self.folder(places, index, number)?;
        Ok(File::from(openat(folder, name_of(index, number), FILE, Mode::empty())?))
    }

    /// Returns the status of the file of record `number`.
    pub fn stat(&mut self, places: &[Place], index: &Index, number: u32) -> io::Result<Stat> {
        let folder = self.folder(places, index, number)?;
        Ok(statat(folder, name_of(index, number), AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Opens the directory of record `number`.
    fn folder(&mut self, places: &[Place], index: &Index, number: u32) -> io::Result<&OwnedFd> {
        let at = places.partition_point(|place| place.first <= number).saturating_sub(1);
        let key = (at, index.folder(number));
        if self.last.as_ref().is_none_or(|(of, _)| *of != key) {
            let mut folder = places[at].folder.try_clone()?;
            let names = key.1.map_or_else(Vec::new, |folder| names_to(index, folder));
            for name in names {
                folder = openat(&folder, name, FOLDER, Mode::empty())?;
            }
            self.last = Some((key, folder));
        }
        self.last.as_ref().map(|(_, folder)| folder).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Returns the path of record `number` for messages.
pub fn path_of(places: &[Place], index: &Index, number: u32) -> Vec<u8> {
    let at = places.partition_point(|place| place.first <= number).saturating_sub(1);
    [places[at].path.clone(), names_to(index, number).join(&b'/')].concat()
}

//! Opens the directories and files of a tree's sources name by name, without following symbolic
//! links.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;

use garland_core::tree::Record;
use garland_sys::confine::open_found;
use garland_sys::mounts::{MOUNTED, open_unmounted};
use rustix::fs::{AtFlags, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;

use super::index::{Body, Index};
use crate::page_cache::ReadAhead;

/// Opens the directory `name` in `parent`.
pub fn open_directory(parent: &OwnedFd, name: &[u8]) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    openat(parent, name, flags, Mode::empty())
}

/// Opens the file `name` in `parent` for reading. Does not block, even if the file is a pipe.
pub fn open_file(parent: &OwnedFd, name: &[u8]) -> rustix::io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
    openat(parent, name, flags, Mode::empty()).map(File::from)
}

/// What happens where another file system is mounted in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mounts {
    /// It is read like the rest.
    Entered,
    /// It is left out, and asked for nothing: it may belong to another user, and never answer.
    LeftOut,
}

impl Mounts {
    /// Opens the directory `name` in `parent`.
    pub fn open_directory(self, parent: &OwnedFd, name: &[u8]) -> io::Result<OwnedFd> {
        match self {
            Self::Entered => Ok(open_directory(parent, name)?),
            Self::LeftOut => unmounted(parent, name, OFlags::RDONLY | OFlags::DIRECTORY),
        }
    }

    /// Opens the file `name` in `parent` for reading. Does not block, even if the file is a pipe.
    pub fn open_file(self, parent: &OwnedFd, name: &[u8]) -> io::Result<File> {
        match self {
            Self::Entered => Ok(open_file(parent, name)?),
            Self::LeftOut => {
                unmounted(parent, name, OFlags::RDONLY | OFlags::NONBLOCK).map(File::from)
            }
        }
    }

    /// Returns the status of `name` in `parent`; does not follow a symbolic link.
    pub fn stat(self, parent: &OwnedFd, name: &[u8]) -> io::Result<Stat> {
        match self {
            Self::Entered => Ok(statat(parent, name, AtFlags::SYMLINK_NOFOLLOW)?),
            Self::LeftOut => Ok(fstat(unmounted(parent, name, OFlags::PATH)?)?),
        }
    }
}

fn unmounted(parent: &OwnedFd, name: &[u8], flags: OFlags) -> io::Result<OwnedFd> {
    let opened = open_unmounted(parent, OsStr::from_bytes(name), flags);
    opened.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::XDEV) => io::Error::other(MOUNTED),
        _ => error,
    })
}

/// One source of a tree.
#[derive(Debug)]
pub struct Place {
    /// The directory that contains the top-level entries of the source; if `is_file` is set, its
    /// only file itself (O_PATH).
    pub folder: OwnedFd,
    /// Whether the source is a file to which a symbolic link leads.
    pub is_file: bool,
    /// The path of that directory, for messages; ends in a slash unless it is empty.
    pub path: Vec<u8>,
    /// The record number of the source's first record.
    pub first: u32,
    /// What happens where another file system is mounted.
    pub mounts: Mounts,
}

/// Returns record `number`; none if it is invalid.
pub fn record_of(index: &Index, number: u32) -> Option<Record> {
    Record::from_bytes(index.bytes(number))
}

/// Returns the name in record `number`; empty if the record has none.
pub fn name_of(index: &Index, number: u32) -> Vec<u8> {
    let record = record_of(index, number);
    record.and_then(|record| record.name().map(<[u8]>::to_vec)).unwrap_or_default()
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

/// Opens the files of a tree, and keeps open the directory and the file that were used last.
#[derive(Debug, Default)]
pub struct Opener {
    /// The directory used last: the index of its source, its record number (none for the top
    /// directory), and its descriptor.
    last: Option<((usize, Option<u32>), OwnedFd)>,
    /// The file used last.
    file: Option<OpenFile>,
}

#[derive(Debug)]
struct OpenFile {
    /// Its record number.
    number: u32,
    file: File,
    ahead: ReadAhead,
}

impl Opener {
    /// Returns the file of record `number`; opens it unless it is the one used last.
    pub fn file(&mut self, places: &[Place], index: &Index, number: u32) -> io::Result<&File> {
        self.opened(places, index, number).map(|opened| &opened.file)
    }

    /// Fills `bytes` with those at `offset` of the file of record `number`.
    pub fn read(
        &mut self,
        places: &[Place],
        index: &Index,
        number: u32,
        offset: u64,
        bytes: &mut [u8],
    ) -> io::Result<()> {
        let OpenFile { file, ahead, .. } = self.opened(places, index, number)?;
        file.read_exact_at(bytes, offset)?;
        ahead.read(file, offset, bytes.len());
        Ok(())
    }

    fn opened(&mut self, places: &[Place], index: &Index, number: u32) -> io::Result<&OpenFile> {
        if self.file.as_ref().is_none_or(|opened| opened.number != number) {
            let place = &places[place_of(places, number)];
            let file = if place.is_file {
                File::from(open_found(&place.folder)?)
            } else {
                let folder = self.folder(places, index, number)?;
                place.mounts.open_file(folder, &name_of(index, number))?
            };
            let length = match index.body(number) {
                Body::File(stamp) => stamp.length(),
                Body::None | Body::NameOf(_) => 0,
            };
            let ahead = ReadAhead::for_file(&file, length);
            self.file = Some(OpenFile { number, file, ahead });
        }
        self.file.as_ref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Closes the file used last. Needed when another file may have taken its name.
    pub fn close_file(&mut self) {
        self.file = None;
    }

    /// Returns the status of the file of record `number`; does not follow a symbolic link.
    pub fn stat(&mut self, places: &[Place], index: &Index, number: u32) -> io::Result<Stat> {
        let Place { mounts, folder, is_file, .. } = &places[place_of(places, number)];
        if *is_file {
            return Ok(fstat(folder)?);
        }
        mounts.stat(self.folder(places, index, number)?, &name_of(index, number))
    }

    /// Returns the directory that record `number` is in; opens it unless it is the one used last.
    fn folder(&mut self, places: &[Place], index: &Index, number: u32) -> io::Result<&OwnedFd> {
        let at = place_of(places, number);
        let key = (at, index.folder(number));
        if self.last.as_ref().is_none_or(|(of, _)| *of != key) {
            let mut folder = places[at].folder.try_clone()?;
            let names = key.1.map_or_else(Vec::new, |folder| names_to(index, folder));
            for name in names {
                folder = places[at].mounts.open_directory(&folder, &name)?;
            }
            self.last = Some((key, folder));
        }
        self.last.as_ref().map(|(_, folder)| folder).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Returns the index in `places` of the source that record `number` belongs to.
fn place_of(places: &[Place], number: u32) -> usize {
    places.partition_point(|place| place.first <= number).saturating_sub(1)
}

/// Returns the path of the entry of record `number`, for messages.
pub fn path_of(places: &[Place], index: &Index, number: u32) -> Vec<u8> {
    [places[place_of(places, number)].path.clone(), names_to(index, number).join(&b'/')].concat()
}

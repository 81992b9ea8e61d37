//! Scans sources, directory by directory.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use garland_core::printable;
use garland_core::tree::{DEPTH_MAX, Meta, Pattern, RECORD_MAX, Record};
use garland_sys::confine::{find_itself, open_found};
use garland_sys::error::reason;
use rustix::fs::{Access, AtFlags, Dir, FileType, Stat, accessat, fstat, readlinkat};
use rustix::process::geteuid;

use super::chosen::Chosen;
use super::index::{Body, Stamp, TOP};
use super::left_out::LeftOut;
use super::place::{Mounts, Place, names_to};
use super::scan::{Scan, ScanError, ScanOptions};
use crate::attributes;

/// The unit of `st_blocks` in bytes, independent of the file system.
const STAT_BLOCK: i64 = 512;

/// The number of names of a directory that are read before the scan looks whether it is to stop.
const LISTED_AT_A_TIME: usize = 4096;

/// Scans all `sources`. The entries of each directory are scanned in the order of their names. If
/// the path of a source ends in a slash, only the content of that directory is copied; any other
/// source is copied under its own name.
pub fn scan(sources: &[impl AsRef<Path>], options: &ScanOptions<'_>) -> Result<Scan, ScanError> {
    let mut names = HashSet::new();
    let mut walk = Walk::new(options);
    walk.scan.begin(options);
    for source in sources {
        let source = source.as_ref();
        match name_of(source) {
            Some(name) => {
                if !names.insert(name.to_owned()) {
                    return Err(ScanError::Twice(printable::name(name.as_bytes())));
                }
                let folder = options.root.find_dir(above(source));
                let folder = folder.map_err(|error| unopened(source, &error))?;
                let folder = walk.begin_in(folder, source, above(source))?;
                walk.named(&folder, source, name.as_bytes())?;
            }
            None => walk.content(source)?,
        }
    }
    Ok(walk.scan.end())
}

/// Scans the entry of the open directory `folder` that has the last name of `path`, its path. Other
/// file systems that are mounted in it are left out.
pub fn scan_entry(
    folder: OwnedFd,
    path: &Path,
    options: &ScanOptions<'_>,
) -> Result<Scan, ScanError> {
    let mut walk = Walk::new(options);
    walk.mounts = Mounts::LeftOut;
    walk.scan.begin(options);
    let folder = walk.begin_in(folder, path, above(path))?;
    walk.named(&folder, path, name_of(path).unwrap_or_default().as_bytes())?;
    Ok(walk.scan.end())
}

/// Scans the entries `chosen` of the directory `source`, and the directories that they are in. They
/// keep their paths in it.
pub fn scan_chosen(
    source: &Path,
    chosen: &Chosen,
    options: &ScanOptions<'_>,
) -> Result<Scan, ScanError> {
    let mut walk = Walk::new(options);
    let folder = walk.begin(source)?;
    walk.path = with_slash(source);
    walk.top = walk.path.len();
    walk.chosen = Some(chosen);
    walk.inside(&folder, TOP)?;
    Ok(walk.scan.end())
}

/// Returns the name of a source in the stream; none if only its content is copied.
pub fn name_of(source: &Path) -> Option<&OsStr> {
    source.file_name().filter(|_| !means_content(source))
}

fn means_content(source: &Path) -> bool {
    let bytes = source.as_os_str().as_bytes();
    bytes.ends_with(b"/") || bytes.ends_with(b"/.") || bytes == b"."
}

/// What became of a top-level entry of which only a file is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopFile {
    /// It is copied or left out.
    Done,
    /// It is a symbolic link, which is still to be followed.
    Link,
}

/// The state of a scan.
pub struct Walk<'a> {
    options: &'a ScanOptions<'a>,
    mounts: Mounts,
    /// The result so far.
    pub scan: Scan,
    /// The current path, as the user would write it. The path of a directory ends in a slash.
    path: Vec<u8>,
    /// The length in bytes of the first part of `path`, which is not part of the path on nodes.
    top: usize,
    depth: usize,
    /// The file system of the current source, by device number.
    disk: u64,
    /// The entries of the current directory that are copied; `None` if all are.
    chosen: Option<&'a Chosen>,
    /// Whether an entry of the current directory is left out.
    incomplete: bool,
    /// The effective user ID of this process, which reads the files.
    user: u32,
    /// The record number of each file of the current source that has several hard links, by device
    /// and inode number.
    firsts: HashMap<(u64, u64), u32>,
}

impl<'a> Walk<'a> {
    /// Returns the state at the beginning of a scan.
    pub fn new(options: &'a ScanOptions<'a>) -> Self {
        let scan = Scan::default();
        let path = Vec::new();
        let firsts = HashMap::new();
        let user = geteuid().as_raw();
        let chosen = None;
        let incomplete = false;
        let mounts = Mounts::Entered;
        Self {
            options,
            mounts,
            scan,
            path,
            top: 0,
            depth: 0,
            disk: 0,
            chosen,
            incomplete,
            user,
            firsts,
        }
    }

    /// Scans a source that is copied under its own name, `name` in the directory `folder`.
    fn named(&mut self, folder: &OwnedFd, source: &Path, name: &[u8]) -> Result<(), ScanError> {
        let above = source.parent().filter(|above| !above.as_os_str().is_empty());
        self.path = above.map_or_else(Vec::new, with_slash);
        self.top = self.path.len();
        let stat = self.mounts.stat(folder, name);
        let stat = stat.map_err(|error| unopened(source, &error))?;
        if let Some(is) = other_kind(&stat) {
            return Err(ScanError::Kind { path: printable::path(source), is });
        }
        self.disk = stat.st_dev;
        self.entry(folder, name, TOP)
    }

    /// Scans a directory of which only the content is copied. Its metadata is applied to the
    /// destination directory.
    pub fn content(&mut self, source: &Path) -> Result<(), ScanError> {
        let folder = self.begin(source)?;
        self.path = with_slash(source);
        self.top = self.path.len();
        let stat = fstat(&folder).map_err(|error| unopened(source, &error.into()))?;
        self.disk = stat.st_dev;
        let attributes = self.attributes(&folder).map_err(|error| unopened(source, &error))?;
        let meta = meta_from_stat(&stat, attributes);
        self.scan.index.push(TOP, &Record::Top(meta), Body::None);
        self.inside(&folder, TOP)
    }

    /// Opens the directory `source`, whose entries are the top-level ones, and begins the records
    /// of that source.
    fn begin(&mut self, source: &Path) -> Result<OwnedFd, ScanError> {
        let opened = self.options.root.open_dir(source, false);
        self.begin_in(opened.map_err(|error| unopened(source, &error))?, source, source)
    }

    /// Begins the records of `source`, whose top-level entries are in the open directory `opened`
    /// with the path `folder`. It may be one in which names can only be looked up (O_PATH).
    fn begin_in(
        &mut self,
        opened: OwnedFd,
        source: &Path,
        folder: &Path,
    ) -> Result<OwnedFd, ScanError> {
        let kept = opened.try_clone().map_err(|error| unopened(source, &error))?;
        self.begin_place(kept, folder, false);
        Ok(opened)
    }

    /// Begins the records of entries of the directory `kept` with the path `folder`, or of the file
    /// `kept` itself, to which a link in that directory leads.
    fn begin_place(&mut self, kept: OwnedFd, folder: &Path, is_file: bool) {
        let path = shown_folder(folder);
        let first = self.scan.index.len();
        self.scan.places.push(Place { folder: kept, is_file, path, first, mounts: self.mounts });
        // A later source may replace files of an earlier one, so it gets no hard links to those.
        self.firsts.clear();
    }

    /// Begins the records of sources that are entries of the directory `folder` with the path
    /// `path`.
    ///
    /// # Errors
    /// When the directory cannot be opened a second time.
    pub fn begin_folder(&mut self, folder: &OwnedFd, path: &Path) -> Result<(), ScanError> {
        let kept = folder.try_clone().map_err(|error| unopened(path, &error))?;
        self.begin_place(kept, path, false);
        Ok(())
    }

    /// Scans the source `name`, an entry of the directory `folder` with the path `path`.
    ///
    /// # Errors
    /// When the scan cannot go on.
    pub fn top_entry(
        &mut self,
        folder: &OwnedFd,
        path: &Path,
        name: &[u8],
    ) -> Result<(), ScanError> {
        self.set_top(path, b"");
        self.disk = self.mounts.stat(folder, name).map_or(0, |stat| stat.st_dev);
        self.entry(folder, name, TOP)
    }

    /// Scans the source `name`, an entry of the directory `folder` with the path `path`, if it is a
    /// file. Only symbolic links are left to be followed, by [`Self::top_link`].
    ///
    /// # Errors
    /// When the scan cannot go on.
    pub fn top_file(
        &mut self,
        folder: &OwnedFd,
        path: &Path,
        name: &[u8],
    ) -> Result<TopFile, ScanError> {
        self.set_top(path, name);
        let stat = match self.mounts.stat(folder, name) {
            Ok(stat) => stat,
            Err(error) => return self.fail("get the status of", &error).map(|()| TopFile::Done),
        };
        if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink {
            return Ok(TopFile::Link);
        }
        if self.is_file(&stat) {
            let done = self.file(folder, name, TOP, &alone(stat));
            done.or_else(|error| self.fail("read", &error))?;
        }
        Ok(TopFile::Done)
    }

    /// Scans the file to which the symbolic link `name` leads, an entry of the directory with the
    /// path `path`. Whatever has its name later, this file is read.
    ///
    /// # Errors
    /// When the scan cannot go on.
    pub fn top_link(&mut self, path: &Path, name: &[u8]) -> Result<(), ScanError> {
        self.set_top(path, name);
        let found = self.options.root.find(&path.join(OsStr::from_bytes(name)));
        let found = found.and_then(|found| Ok((fstat(&found)?, found)));
        let (stat, found) = match found {
            Ok(found) => found,
            Err(error) => return self.fail("open", &error),
        };
        if !self.is_file(&stat) {
            return Ok(());
        }
        if let Err(error) = open_found(&found) {
            return self.fail("read", &error);
        }
        self.begin_place(found, path, true);
        self.push_file(name, TOP, &alone(stat), Vec::new());
        Ok(())
    }

    /// Leaves out the source `path`, which cannot be opened for this reason.
    pub fn leave_out_top(&mut self, path: &Path, why: &str) {
        self.scan.left_out.push(LeftOut::failed(path.as_os_str().as_bytes(), why.to_owned()));
    }

    /// Sets the current path to that of the entry `name` of the directory `folder`, which is not
    /// part of the path on nodes.
    fn set_top(&mut self, folder: &Path, name: &[u8]) {
        self.firsts.clear();
        self.path = shown_folder(folder);
        self.top = self.path.len();
        self.path.extend_from_slice(name);
    }

    /// Returns whether the current entry is a file, and leaves it out otherwise.
    fn is_file(&mut self, stat: &Stat) -> bool {
        match other_kind(stat) {
            Some(is) => self.scan.left_out.push(LeftOut::skipped(&self.path, is)),
            None if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile => return true,
            None => self.leave_out("it is a directory, and directories are copied with -r"),
        }
        false
    }

    /// Scans the content of a directory with the record number `number`. Nodes remove other files
    /// from it only if nothing in it is left out.
    fn inside(&mut self, folder: &OwnedFd, number: u32) -> Result<(), ScanError> {
        let above = std::mem::take(&mut self.incomplete);
        self.entries(folder, number)?;
        let incomplete = std::mem::replace(&mut self.incomplete, above);
        if self.options.sweep && incomplete {
            self.scan.unswept.push(PathBuf::from(OsStr::from_bytes(&self.path)));
        } else if self.options.sweep {
            self.scan.index.push(number, &Record::Sweep, Body::None);
        }
        Ok(())
    }

    fn entries(&mut self, folder: &OwnedFd, number: u32) -> Result<(), ScanError> {
        if (self.options.stop)() {
            return Err(ScanError::Interrupted);
        }
        if let Some(chosen) = self.chosen {
            return chosen.names().try_for_each(|name| self.entry(folder, name, number));
        }
        let mut names = match self.list(folder)? {
            Ok(names) => names,
            Err(error) => return self.fail("list", &error.into()),
        };
        names.sort_unstable();
        names.iter().try_for_each(|name| self.entry(folder, name, number))
    }

    /// Returns the names in a directory, or why it cannot be listed.
    fn list(&self, folder: &OwnedFd) -> Result<rustix::io::Result<Vec<Vec<u8>>>, ScanError> {
        let entries = match Dir::read_from(folder) {
            Ok(entries) => entries,
            Err(error) => return Ok(Err(error)),
        };
        let mut names = Vec::new();
        for (at, entry) in entries.enumerate() {
            if at % LISTED_AT_A_TIME == 0 && (self.options.stop)() {
                return Err(ScanError::Interrupted);
            }
            match entry {
                Ok(entry) => names.push(entry.file_name().to_bytes().to_vec()),
                Err(error) => return Ok(Err(error)),
            }
        }
        names.retain(|name| !matches!(&name[..], b"." | b".."));
        Ok(Ok(names))
    }

    fn entry(&mut self, folder: &OwnedFd, name: &[u8], number: u32) -> Result<(), ScanError> {
        // Each may take long on a slow disk, and there may be millions in one directory.
        if (self.options.stop)() {
            return Err(ScanError::Interrupted);
        }
        let before = self.path.len();
        self.path.extend_from_slice(name);
        let looked = self.look(folder, name, number);
        self.path.truncate(before);
        looked
    }

    fn look(&mut self, folder: &OwnedFd, name: &[u8], number: u32) -> Result<(), ScanError> {
        if self.scan.index.len() >= TOP - 2 {
            return Err(ScanError::TooMany);
        }
        let stat = match self.mounts.stat(folder, name) {
            Ok(stat) => stat,
            Err(error) => return self.fail("get the status of", &error),
        };
        let kind = FileType::from_raw_mode(stat.st_mode);
        let inside = &self.path[self.top..];
        let is_folder = kind == FileType::Directory;
        if Pattern::exclude(&self.options.excludes, inside, is_folder) {
            return Ok(());
        }
        if !is_folder && self.chosen.is_some_and(|chosen| chosen.inside(name).is_some()) {
            // Only what is below it was asked for, and nothing is.
            let is = other_kind(&stat).unwrap_or(match kind {
                FileType::Symlink => "a symbolic link, which is not followed",
                _ => "a file",
            });
            self.leave_out(&format!("it is {is}"));
            return Ok(());
        }
        let done = match kind {
            FileType::Directory => return self.folder(folder, name, number, &stat),
            FileType::RegularFile => self.file(folder, name, number, &stat),
            FileType::Symlink => self.link(folder, name, number, &stat),
            _ => {
                let is = other_kind(&stat).unwrap_or_default();
                self.scan.left_out.push(LeftOut::skipped(&self.path, is));
                if self.options.sweep {
                    // What nodes have under this name stays, and the rest of the directory is
                    // swept.
                    self.push(number, &Record::Kept { name: name.to_vec() }, Body::None);
                }
                Ok(())
            }
        };
        done.or_else(|error| self.fail("read", &error))
    }

    fn folder(
        &mut self,
        above: &OwnedFd,
        name: &[u8],
        number: u32,
        stat: &Stat,
    ) -> Result<(), ScanError> {
        if self.depth == DEPTH_MAX {
            self.leave_out(&format!("directories are nested more than {DEPTH_MAX} deep"));
            return Ok(());
        }
        let opened = self.mounts.open_directory(above, name);
        let opened = opened.and_then(|fd| Ok((self.attributes(&fd)?, fd)));
        let (attributes, folder) = match opened {
            Ok(opened) => opened,
            Err(error) => return self.fail("open", &error),
        };
        let record = Record::Enter { name: name.to_vec(), meta: meta_from_stat(stat, attributes) };
        let Some(own) = self.push(number, &record, Body::None) else { return Ok(()) };
        self.scan.tally.folders += 1;
        self.depth += 1;
        self.path.push(b'/');
        let chosen = self.chosen;
        let disk = self.disk;
        if chosen.is_some() {
            // What the list names is copied wherever it is.
            self.disk = stat.st_dev;
        }
        self.chosen = chosen.and_then(|chosen| chosen.inside(name));
        let walked = if self.options.one_file_system && stat.st_dev != self.disk {
            // Without an order to sweep it, nodes keep what they have there.
            let why = "what is in it belongs to another file system (-x)";
            self.scan.left_out.push(LeftOut::skipped(&self.path, why));
            Ok(())
        } else {
            self.inside(&folder, own)
        };
        self.chosen = chosen;
        self.disk = disk;
        self.depth -= 1;
        self.scan.index.push(number, &Record::Leave, Body::None);
        walked
    }

    fn file(&mut self, folder: &OwnedFd, name: &[u8], number: u32, stat: &Stat) -> io::Result<()> {
        let linked = stat.st_nlink > 1;
        let key = (stat.st_dev, stat.st_ino);
        if let Some(&first) = self.firsts.get(&key).filter(|_| linked) {
            let record =
                Record::Name { name: name.to_vec(), first: names_to(&self.scan.index, first) };
            self.push(number, &record, Body::NameOf(first));
            self.scan.tally.links += 1;
            return Ok(());
        }
        if !self.reads_surely(stat) {
            match self.mounts {
                Mounts::Entered => accessat(folder, name, Access::READ_OK, AtFlags::EACCESS)?,
                Mounts::LeftOut => drop(self.mounts.open_file(folder, name)?),
            }
        }
        let attributes = if self.options.attributes {
            attributes::read(self.mounts.open_file(folder, name)?)?
        } else {
            Vec::new()
        };
        self.push_file(name, number, stat, attributes);
        Ok(())
    }

    /// Adds the record of a file in the directory `number`.
    fn push_file(
        &mut self,
        name: &[u8],
        number: u32,
        stat: &Stat,
        attributes: Vec<(Vec<u8>, Vec<u8>)>,
    ) {
        let linked = stat.st_nlink > 1;
        let stamp = Stamp::from_stat(stat);
        let length = stamp.length();
        let sparse = stat.st_blocks.saturating_mul(STAT_BLOCK) < stat.st_size;
        let name = name.to_vec();
        let meta = meta_from_stat(stat, attributes);
        let record = Record::File { name, meta, length, sparse, linked };
        if let Some(own) = self.push(number, &record, Body::File(stamp)) {
            self.scan.tally.files += 1;
            if linked {
                self.firsts.insert((stat.st_dev, stat.st_ino), own);
            }
        }
    }

    /// Returns whether the mode alone permits reading. (An ACL may still deny it; the first read
    /// finds that out.)
    fn reads_surely(&self, stat: &Stat) -> bool {
        let owner = 0o400;
        let others = 0o044;
        let wanted = if stat.st_uid == self.user { owner } else { others };
        stat.st_mode & wanted == wanted
    }

    fn link(&mut self, folder: &OwnedFd, name: &[u8], number: u32, stat: &Stat) -> io::Result<()> {
        let target = readlinkat(folder, name, Vec::new())?.into_bytes();
        let attributes = if self.options.attributes {
            attributes::read_of_link(&find_itself(folder, Path::new(OsStr::from_bytes(name)))?)?
        } else {
            Vec::new()
        };
        let record =
            Record::Link { name: name.to_vec(), meta: meta_from_stat(stat, attributes), target };
        if self.push(number, &record, Body::None).is_some() {
            self.scan.tally.links += 1;
        }
        Ok(())
    }

    /// Adds a record of an entry in the directory `number`, and returns the number of the new
    /// record. Leaves the entry out and returns none if the record is longer than nodes accept.
    fn push(&mut self, number: u32, record: &Record, body: Body) -> Option<u32> {
        let bytes = record.to_bytes();
        if bytes.len() > RECORD_MAX {
            self.leave_out(&format!("its extended attributes exceed {RECORD_MAX} bytes"));
            return None;
        }
        Some(self.scan.index.push_bytes(number, &bytes, body))
    }

    fn attributes(&self, fd: impl AsFd) -> io::Result<Vec<(Vec<u8>, Vec<u8>)>> {
        if self.options.attributes { attributes::read(fd) } else { Ok(Vec::new()) }
    }

    /// Leaves the current entry out because `operation` failed on it. The scan continues.
    fn fail(&mut self, operation: &str, error: &io::Error) -> Result<(), ScanError> {
        let why = reason(error);
        self.leave_out_as(format!("cannot {operation} it: {why}"), &why);
        Ok(())
    }

    /// Leaves the current entry out, which should be copied.
    fn leave_out(&mut self, why: &str) {
        self.leave_out_as(why.to_owned(), why);
    }

    /// Leaves the current entry out with `reason`. If a list chooses entries below it, these are
    /// left out in its place, because of `why`: a copy of what was left out then asks for no more
    /// than this one.
    fn leave_out_as(&mut self, reason: String, why: &str) {
        self.incomplete = true;
        let name = self.path.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
        let Some(chosen) = self.chosen.and_then(|chosen| chosen.inside(name)) else {
            self.scan.left_out.push(LeftOut::failed(&self.path, reason));
            return;
        };
        let way = printable::name(&self.path);
        let left = chosen.paths().into_iter().map(|path| {
            let path = [&self.path[..], b"/", &path].concat();
            LeftOut::failed(&path, format!("cannot reach it through {way}: {why}"))
        });
        self.scan.left_out.extend(left);
    }
}

/// Returns the status of a file as if it had one name: hard links of files that are copied without
/// their directories are files like others.
fn alone(mut stat: Stat) -> Stat {
    stat.st_nlink = 1;
    stat
}

fn meta_from_stat(stat: &Stat, extended: Vec<(Vec<u8>, Vec<u8>)>) -> Meta {
    let owner = (stat.st_uid, stat.st_gid);
    let modified = attributes::modified_time(stat);
    Meta { mode: stat.st_mode & 0o7777, owner, modified, attributes: extended }
}

/// Returns the kind of a file that cannot be copied; none for regular files, directories and
/// symbolic links.
fn other_kind(stat: &Stat) -> Option<&'static str> {
    Some(match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile | FileType::Directory | FileType::Symlink => return None,
        FileType::Socket => "a socket",
        FileType::Fifo => "a pipe",
        FileType::BlockDevice | FileType::CharacterDevice => "a device",
        _ => "a file of an unknown kind",
    })
}

/// Returns the path of the directory that a source is in.
fn above(source: &Path) -> &Path {
    source.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns the path of a directory before those of its entries: nothing for `.`.
fn shown_folder(folder: &Path) -> Vec<u8> {
    if folder == Path::new(".") { Vec::new() } else { with_slash(folder) }
}

fn with_slash(path: &Path) -> Vec<u8> {
    let mut bytes = path.as_os_str().as_bytes().to_vec();
    if !bytes.ends_with(b"/") {
        bytes.push(b'/');
    }
    bytes
}

fn unopened(source: &Path, error: &io::Error) -> ScanError {
    let shown = printable::path(source);
    ScanError::Io { operation: "open", path: shown, reason: reason(error) }
}

#[cfg(test)]
mod tests;

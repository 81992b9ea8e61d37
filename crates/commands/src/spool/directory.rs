//! The directory of a spool: entries that wait, and `done` with those that all nodes have.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use garland_core::farm::Text;
use garland_core::printable;
use garland_state::lock::{LockFile, is_held};
use garland_sys::confine::{self, Root};
use garland_sys::error::reason;
use garland_sys::folder_events::ClosedFiles;
use garland_sys::mounts::open_unmounted;
use garland_sys::writers::{self, Writers};
use garland_sys::{new_file, ownership};
use garland_terminal::failure::{Failure, OrFailure};
use rustix::fs::{
    AtFlags, Dir, FileType, Mode, OFlags, RenameFlags, fstat, fstatvfs, mkdirat, openat, renameat,
    renameat_with, statat,
};
use rustix::io::Errno;
use serde::Serialize;

use super::finished::{FinishedEntries, FinishedFile};
use super::status::{Stamp, Status, unmounted};

/// The subdirectory of entries that all nodes have.
const DONE: &str = "done";

/// The lock of the process that serves the directory, in `done`: others cannot open it there.
const LOCK: &str = ".garland.lock";

/// The file with the entries that came to `done` in the last hour, in `done`.
const FINISHED: &str = ".garland.finished";

/// What follows the name of an entry in the name of its result.
const RESULT: &str = ".result.json";

/// The longest name if the file system does not tell, in bytes.
const NAME_MAX: usize = 255;

/// The hexadecimal digits that stand for the rest of a name that was cut.
const CUT_DIGITS: usize = 8;

/// A file or directory that waits in a spool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name in the spool.
    pub name: OsString,
    /// Its version.
    pub stamp: Stamp,
}

impl Entry {
    /// Returns whether `file` is this version of the entry.
    pub fn is_version(&self, file: &File) -> bool {
        fstat(file).is_ok_and(|stat| Stamp::new(&stat) == self.stamp)
    }

    /// Returns the name for messages.
    pub fn shown(&self) -> String {
        shown(&self.name)
    }
}

/// Returns a name for messages: on one line, and different from all others.
pub fn shown(name: impl AsRef<OsStr>) -> String {
    Text::from(name.as_ref().as_bytes()).escaped().into_owned()
}

/// The directory of a spool, which this process serves. All that is in it is reached by its
/// descriptor, whatever becomes of its path and of the directories above.
pub struct SpoolDir {
    path: PathBuf,
    folder: OwnedFd,
    /// `done`: its name may be given to a link later, by others who may write to the directory.
    done: OwnedFd,
    /// The longest name in `done`, in bytes.
    name_max: usize,
    _lock: LockFile,
}

/// What is in a spool.
#[derive(Debug, Default)]
pub struct Found {
    /// The entries that wait, in the order in which they came.
    pub entries: Vec<Entry>,
    /// The names of entries that cannot be copied, and the reasons.
    pub left_out: Vec<(OsString, String)>,
}

/// What became of an entry that all nodes had.
#[derive(Debug, PartialEq, Eq)]
pub enum Moved {
    /// It is in `done`, under this name and with this status.
    Whole(OsString, Box<Status>),
    /// It was written during the copy, and has this status. It is where it was.
    Late(Box<Status>),
    /// It was written during the copy, and a newer one has its name. It is in `done`, without a
    /// result.
    Superseded,
}

impl SpoolDir {
    /// Opens the directory `path`, and `done` in it, which is created if missing.
    ///
    /// # Errors
    /// When the directory does not exist: its path may be mistyped, and its users would wait in
    /// vain. When `done` cannot be created, is not a directory of this user, others can replace it,
    /// or another process serves the directory.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let path =
            std::path::absolute(path).or_nothing("cannot find the directory of the spool")?;
        // Without links, and where nobody else can put another directory in place of one.
        let opening = || format!("opening {}", shown(&path));
        let path = fs::canonicalize(&path).or_nothing(opening()).map_err(|failure| {
            let missing = !path.try_exists().unwrap_or(true);
            match missing {
                true => failure.hint(format!("to make it: mkdir -p {}", printable::word(&path))),
                false => failure,
            }
        })?;
        refuse_open(&path)?;
        let folder = open_folder(&path).or_nothing(opening())?;
        let done = open_done(&folder, &path.join(DONE))?;
        let lock = path_in(&done, LOCK);
        if is_held(&lock) {
            let message = format!("another garland serves the spool {}", shown(&path));
            return Err(Failure::usage(message).hint("garland status shows it"));
        }
        let locking = || format!("locking {}", shown(path.join(DONE).join(LOCK)));
        let lock = LockFile::hold(&lock).or_nothing(locking())?;
        let limit = fstatvfs(&done).map_or(0, |system| system.f_namemax);
        let name_max = usize::try_from(limit).ok().filter(|limit| *limit > 0).unwrap_or(NAME_MAX);
        Ok(Self { path, folder, done, name_max, _lock: lock })
    }

    /// Returns whether a process serves the spool `path`.
    pub fn is_served(path: &Path) -> bool {
        is_held(&path.join(DONE).join(LOCK))
    }

    /// Returns the directory's path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a descriptor of the directory.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn folder(&self) -> io::Result<OwnedFd> {
        self.folder.try_clone()
    }

    /// Watches the directory from now on.
    ///
    /// # Errors
    /// As [`ClosedFiles::watch`].
    pub fn closed_files(&self) -> io::Result<ClosedFiles> {
        ClosedFiles::watch(&path_in(&self.folder, "."))
    }

    /// Returns the path of an entry, for messages.
    pub fn path_of(&self, entry: &Entry) -> PathBuf {
        self.path.join(&entry.name)
    }

    /// Returns the entries that came to `done` in the last hour, and the file with them.
    ///
    /// # Errors
    /// When the file can neither be read nor written.
    pub fn finished(&self) -> io::Result<(FinishedFile, FinishedEntries)> {
        FinishedFile::open(&path_in(&self.done, FINISHED))
    }

    /// Reads which entries wait, in the order in which they came. Names that begin with a dot are
    /// ignored: such files are being made. Entries that cannot be inspected, and those that are
    /// neither files, links nor directories, are left out; so are mount points, which may hang and
    /// cannot be moved.
    ///
    /// # Errors
    /// When the directory cannot be read, or was removed.
    pub fn entries(&self) -> io::Result<Found> {
        if fstat(&self.folder)?.st_nlink == 0 {
            // It was removed. A directory of its path is another one.
            return Err(ErrorKind::NotFound.into());
        }
        let mut entries = Vec::new();
        let mut left_out = Vec::new();
        for found in Dir::read_from(&self.folder)? {
            let name = OsString::from_vec(found?.file_name().to_bytes().to_vec());
            if name.as_bytes().starts_with(b".") || name == DONE {
                continue;
            }
            let found = open_unmounted(&self.folder, &name, OFlags::PATH);
            match found.map_err(unmounted).and_then(|found| Ok(fstat(found)?)) {
                Ok(stat) => match FileType::from_raw_mode(stat.st_mode) {
                    // The inode changes when it gets its name (rename(2)).
                    FileType::RegularFile | FileType::Directory | FileType::Symlink => {
                        let came = (stat.st_ctime, stat.st_ctime_nsec);
                        entries.push((came, name, Stamp::new(&stat)));
                    }
                    _ => left_out.push((name, "it is a pipe, a socket or a device".to_owned())),
                },
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => left_out.push((name, reason(&error))),
            }
        }
        entries.sort_unstable_by(|one, two| (one.0, &one.1).cmp(&(two.0, &two.1)));
        let entries = entries.into_iter().map(|(_, name, stamp)| Entry { name, stamp }).collect();
        Ok(Found { entries, left_out })
    }

    /// Opens the regular file `entry` for reading.
    ///
    /// # Errors
    /// When it cannot be opened, or its name was given to another file, a link or a pipe.
    pub fn open_file(&self, entry: &Entry) -> io::Result<File> {
        // The open of a pipe would wait.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = File::from(open_unmounted(&self.folder, &entry.name, flags)?);
        match entry.is_version(&file) {
            true => Ok(file),
            false => Err(io::Error::other("it was replaced when the copy began")),
        }
    }

    /// Returns whether processes still write the file `entry`.
    pub fn writers(&self, entry: &Entry) -> Writers {
        match entry.stamp.kind() {
            FileType::RegularFile => {
                let file = self.open_file(entry);
                file.map_or(Writers::Unknown, |file| writers::of_file(&file))
            }
            _ => Writers::Unknown,
        }
    }

    /// Has the kernel write back what was written to the regular file `entry` through mappings:
    /// what is stored there later changes the file's times. Errors are ignored: the copy reports
    /// what cannot be read.
    pub fn write_back(&self, entry: &Entry) {
        if entry.stamp.kind() == FileType::RegularFile
            && let Ok(file) = self.open_file(entry)
        {
            let _ = file.sync_data();
        }
    }

    /// Reads the status of an entry and of all that is in it, until `stop` returns true.
    ///
    /// # Errors
    /// As [`Status::read`].
    pub fn status(&self, entry: &Entry, stop: &dyn Fn() -> bool) -> io::Result<Status> {
        Status::read(&self.folder, &entry.name, stop)
    }

    /// Reads the status of the entry `place` in `done`.
    ///
    /// # Errors
    /// As [`Status::read`].
    pub fn status_in_done(&self, place: &OsStr, stop: &dyn Fn() -> bool) -> io::Result<Status> {
        Status::read(&self.done, place, stop)
    }

    /// Returns whether the version of `entry` still has its name.
    pub fn has(&self, entry: &Entry) -> bool {
        let found = open_unmounted(&self.folder, &entry.name, OFlags::PATH);
        found.is_ok_and(|found| entry.is_version(&File::from(found)))
    }

    /// Writes the result of a copy of an entry that waits on.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn keep_result(&self, entry: &Entry, result: &impl Serialize) -> io::Result<()> {
        write(&self.result_of(entry), result)
    }

    /// Moves an entry that all nodes have to `done`, with its result beside it. One of the same
    /// name stays there; the new one gets a number behind its name. If the entry has not the status
    /// `copied` any more, it stays where it is.
    ///
    /// # Errors
    /// When the entry cannot be moved, or the result cannot be written.
    pub fn finish(
        &self,
        entry: &Entry,
        copied: &Status,
        result: &impl Serialize,
    ) -> io::Result<Moved> {
        if !self.has(entry) {
            return Ok(Moved::Late(Box::new(self.status(entry, &|| false)?)));
        }
        let place = self.free_place(&entry.name);
        let beside = path_in(&self.done, self.result_name("", &place));
        // First the result, so that it is there as soon as the entry is.
        write(&beside, result)?;
        if let Err(error) = rename_new(&self.folder, &entry.name, &self.done, &place) {
            fs::remove_file(&beside)?;
            return Err(error);
        }
        // A writer may have it open still: what came after the copy is seen here or later.
        if let Ok(now) = self.status_in_done(&place, &|| false)
            && copied.is_of_moved(&now)
        {
            // Only an entry that waited has one.
            let _ = fs::remove_file(self.result_of(entry));
            return Ok(Moved::Whole(place, Box::new(now)));
        }
        match self.take_back(&entry.name, &place) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                fs::remove_file(&beside)?;
                Ok(Moved::Superseded)
            }
            taken => {
                taken?;
                Ok(Moved::Late(Box::new(self.status(entry, &|| false)?)))
            }
        }
    }

    /// Moves the entry `place` of `done` back to the name `name` in the spool, and removes its
    /// result.
    ///
    /// # Errors
    /// When it cannot be moved, such as when the name was given to a newer version.
    pub fn take_back(&self, name: &OsStr, place: &OsStr) -> io::Result<()> {
        rename_new(&self.done, place, &self.folder, name)?;
        match fs::remove_file(path_in(&self.done, self.result_name("", place))) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Returns the path of the result of an entry that waits.
    fn result_of(&self, entry: &Entry) -> PathBuf {
        path_in(&self.folder, self.result_name(".", &entry.name))
    }

    /// Returns the name of the result of an entry: what stands before its name, the name, or as
    /// much of it as a file system takes, and [`RESULT`].
    fn result_name(&self, before: &str, name: &OsStr) -> OsString {
        let room = self.name_max.saturating_sub(before.len() + RESULT.len());
        let mut result = OsString::from(before);
        result.push(cut(name, room));
        result.push(RESULT);
        result
    }

    /// Returns a name in `done` that is free, also that of its result: `name` or the first of
    /// `name.~1~`, `name.~2~` ...
    fn free_place(&self, name: &OsStr) -> OsString {
        let numbered = |number: u32| {
            if number == 0 {
                return name.to_owned();
            }
            let number = format!(".~{number}~");
            let room = self.name_max.saturating_sub(number.len());
            let mut place = cut(name, room).into_owned();
            place.push(number);
            place
        };
        let is_unused = |name: &OsStr| is_free(&self.done, name);
        let mut places = (0..=u32::MAX).map(numbered);
        let free = places.find(|place| is_unused(place) && is_unused(&self.result_name("", place)));
        free.unwrap_or_else(|| name.to_owned())
    }
}

/// Returns `name`, or as much of it as fits into `room` bytes with digits that tell it from other
/// names.
fn cut(name: &OsStr, room: usize) -> Cow<'_, OsStr> {
    let bytes = name.as_bytes();
    if bytes.len() <= room {
        return Cow::Borrowed(name);
    }
    let is_boundary = |at: &usize| bytes[*at] & 0b1100_0000 != 0b1000_0000;
    let end = room.saturating_sub(CUT_DIGITS + 1);
    let end = (0..=end).rev().find(is_boundary).unwrap_or(0);
    let mut short = OsStr::from_bytes(&bytes[..end]).to_owned();
    let digest = blake3::hash(bytes).to_hex();
    short.push(format!("~{}", &digest[..CUT_DIGITS]));
    Cow::Owned(short)
}

/// Refuses a directory that others can replace, or in which they can replace `done`. `path` is an
/// absolute path without links.
fn refuse_open(path: &Path) -> Result<(), Failure> {
    let opening = || format!("opening {}", shown(path));
    let Some(open) = ownership::open_folder(path).or_nothing(opening())? else { return Ok(()) };
    let inner = path.strip_prefix(&open.path).ok().and_then(|inner| inner.iter().next());
    let replaced = inner.map_or_else(|| path.join(DONE), |inner| open.path.join(inner));
    let message = format!("cannot keep copied files in {}: {}", shown(&replaced), open.why);
    let hint = format!("chmod +t {} lets each user change own files only", shown(&open.path));
    Err(Failure::usage(message).hint(hint))
}

/// Opens the directory `path`, an absolute path, without following a link.
fn open_folder(path: &Path) -> io::Result<OwnedFd> {
    let top = Root::Free.top()?;
    let found = confine::beneath(&top, path.strip_prefix("/").unwrap_or(path))?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat(found, ".", flags, Mode::empty())?)
}

/// Opens the directory `done` in `folder`, which is created if missing. `path` is its path.
fn open_done(folder: &OwnedFd, path: &Path) -> Result<OwnedFd, Failure> {
    let name = shown(path);
    // Whatever the umask says: others shall not write there.
    match mkdirat(folder, DONE, Mode::from_raw_mode(0o755)) {
        Err(error) if error != Errno::EXIST => {
            return Err(io::Error::from(error)).or_nothing(format!("cannot create {name}"));
        }
        _ => {}
    }
    let refused = |why: &str| {
        let message = format!("cannot move copied files to {name}: {why}");
        Failure::usage(message).hint("move it away: garland makes a directory of your own there")
    };
    let opening = || format!("opening {name}");
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let done = match openat(folder, DONE, flags, Mode::empty()) {
        Err(Errno::LOOP | Errno::NOTDIR) => return Err(refused("it is not a directory")),
        opened => opened.map_err(io::Error::from).or_nothing(opening())?,
    };
    let itself = path_in(&done, ".");
    let stat = fs::metadata(&itself).or_nothing(opening())?;
    match ownership::fault_of_file(&itself, &stat) {
        Some(why) => Err(refused(&why)),
        None => Ok(done),
    }
}

/// Returns a path that leads to `name` in the open directory `folder`, whatever has the path of
/// that directory now.
fn path_in(folder: &OwnedFd, name: impl AsRef<Path>) -> PathBuf {
    Path::new(&confine::by_descriptor(folder)).join(name)
}

/// Returns whether nothing in the directory `folder` has this name.
fn is_free(folder: &OwnedFd, name: &OsStr) -> bool {
    statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).is_err()
}

/// Renames an entry of one directory to a name in another one, unless something has that name.
fn rename_new(from: &OwnedFd, name: &OsStr, to: &OwnedFd, new_name: &OsStr) -> io::Result<()> {
    match renameat_with(from, name, to, new_name, RenameFlags::NOREPLACE) {
        // The file system cannot do this at once, such as NFS.
        Err(Errno::INVAL | Errno::NOSYS) if is_free(to, new_name) => {
            Ok(renameat(from, name, to, new_name)?)
        }
        Err(Errno::INVAL | Errno::NOSYS) => Err(ErrorKind::AlreadyExists.into()),
        renamed => Ok(renamed?),
    }
}

fn write(path: &Path, value: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_vec_pretty(value)?;
    new_file::write(path, &text)
}

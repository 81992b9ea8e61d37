//! Partial files under hidden names, which interrupted copies leave for the next copy to resume.
//!
//! A destination has at most one; the copy that writes it holds a lock on it. A partial file that
//! is not resumed is removed by the next copy to the same name, and, once it is old, by any copy to
//! its directory. On a file system without locks it is unknown whether a copy still runs: nothing
//! is resumed, and only old files are removed.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use garland_sys::error::of_new_entry;
use garland_sys::lock::{self, Lock};
use garland_sys::mounts::open_unmounted;
use garland_sys::{clock, process, storage, threads};
use rustix::fs::{Dir, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;

/// The end of a partial file's name. The name begins with a dot and the final name.
const PARTIAL: &str = ".garland-part";

/// The mode of a partial file: nobody else reads it before it has its final one.
pub const MODE: u32 = 0o600;

/// The age above which a partial file is removed by any copy to its directory.
const PARTIAL_AGE_MAX: Duration = Duration::from_secs(3 * 24 * 3600);

/// The maximum number of partial files of one name that are open at once: one that grows, and some
/// that ended copies have left.
const OPEN_MAX: usize = 8;

/// The partial file of an interrupted copy, locked by this process.
pub struct Left {
    /// The file, which holds the lock.
    pub(super) file: File,
    /// The hidden name of the file.
    pub name: OsString,
}

impl Left {
    /// Finds and locks the partial file of `name`. Returns none if this user has none there, if it
    /// also has another name, if a running copy holds it, or if the file system does not support
    /// locks.
    pub fn find(folder: &OwnedFd, name: &OsStr) -> Option<Self> {
        let names = hidden(folder).into_iter().filter(|hidden| is_of(hidden, name));
        names.map(OsString::from_vec).find_map(|name| {
            let (file, lock) = free(folder, &name)?;
            (is_own(&file) && lock == Lock::Held).then_some(Self { file, name })
        })
    }

    /// Returns whether another copy of this user holds a partial file of `name`. Nobody waits for
    /// files of others: whoever can write to the directory could hold up all copies to it.
    pub fn is_held(folder: &OwnedFd, name: &OsStr) -> bool {
        let of_name = hidden(folder).into_iter().filter(|hidden| is_of(hidden, name));
        let opened = of_name.filter_map(|hidden| open(folder, OsStr::from_bytes(&hidden)));
        let mut locks = opened.map(File::from).filter(is_own).map(lock::try_lock);
        locks.any(|lock| lock.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock))
    }

    /// Returns the open file, which holds the lock.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Returns the number of bytes that the file occupies on the disk.
    pub fn allocated(&self) -> u64 {
        const BLOCK: u64 = 512;
        self.file.metadata().map_or(0, |stat| stat.blocks() * BLOCK)
    }
}

/// Opens the partial files of `name` that this user has in `folder`, which may have been opened
/// with O_PATH; at most [`OPEN_MAX`]. Those of others are nobody's copy, and there may be many.
pub fn open_own(folder: &OwnedFd, name: &OsStr) -> Vec<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(folder) = &openat(folder, ".", flags, Mode::empty()) else { return Vec::new() };
    let names = hidden(folder).into_iter().filter(|hidden| is_of(hidden, name));
    let opened = names.filter_map(|hidden| open(folder, OsStr::from_bytes(&hidden)));
    opened.map(File::from).filter(is_own).take(OPEN_MAX).collect()
}

/// Creates the partial file `hidden` and locks it: the lock shows that the copy is alive. A copy
/// that removes what dead ones left may take the file before it is locked; then it is created
/// again.
pub fn create(folder: &OwnedFd, hidden: &OsStr) -> io::Result<File> {
    const TRIES: u32 = 1000;
    const PAUSE: Duration = Duration::from_millis(1);
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut taken = io::Error::from(Errno::EXIST);
    for _ in 0..TRIES {
        let file = match openat(folder, hidden, flags, Mode::from_raw_mode(MODE)) {
            Ok(fd) => File::from(fd),
            Err(Errno::EXIST) => {
                threads::sleep(PAUSE);
                continue;
            }
            Err(error) => return Err(of_new_entry(folder, error)),
        };
        match lock::try_lock(&file) {
            Ok(_) if fstat(&file)?.st_nlink > 0 => return Ok(file),
            Ok(_) => {}
            // The copy that holds the lock removes the file: no other one may have its name until
            // then.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => taken = error,
            Err(error) => {
                let _ = storage::remove(folder, hidden);
                return Err(error);
            }
        }
    }
    Err(taken)
}

/// Removes the partial files of `name`, and old ones of any name, unless running copies hold them.
/// Without locks only old ones are removed.
pub fn remove_stale(folder: &OwnedFd, name: &OsStr) {
    remove_stale_of(folder, &[name]);
}

/// Removes the partial files of all `names`, and old ones of any name, unless running copies hold
/// them. Without locks only old ones are removed.
pub fn remove_stale_of(folder: &OwnedFd, names: &[&OsStr]) {
    let is_of_one = |hidden: &[u8]| names.iter().any(|name| is_of(hidden, name));
    remove_if(folder, |hidden, file| is_of_one(hidden) || is_old(file));
}

/// Removes all partial files in `folder` unless running copies hold them. Without locks only old
/// ones are removed.
pub fn remove_all_stale(folder: &OwnedFd) {
    remove_if(folder, |_, _| true);
}

fn remove_if(folder: &OwnedFd, goes: impl Fn(&[u8], &File) -> bool) {
    for name in hidden(folder) {
        let name = OsString::from_vec(name);
        // The file stays open, and so locked, until its name is gone: whoever has just created it
        // may lock it before, and would lose it.
        let Some((file, lock)) = free(folder, &name) else { continue };
        let is_left = match lock {
            Lock::Held => goes(name.as_bytes(), &file),
            Lock::Unsupported => is_old(&file),
        };
        if is_left {
            let _ = storage::remove(folder, &name);
        }
        drop(file);
    }
}

/// Returns the names of all partial files in `folder`.
fn hidden(folder: &OwnedFd) -> Vec<Vec<u8>> {
    let Ok(entries) = Dir::read_from(folder) else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.file_name().to_bytes().to_vec());
    names.filter(|name| is_partial_name(OsStr::from_bytes(name))).collect()
}

/// Returns whether `name` has the form of a partial file's name.
pub fn is_partial_name(name: &OsStr) -> bool {
    let name = name.as_bytes();
    name.starts_with(b".") && name.ends_with(PARTIAL.as_bytes())
}

/// Returns whether `hidden` is the name of a partial file of `name`, whatever the copy's tag. The
/// tag has no dot, so that a copy to `a` leaves the partial file of `a.b` alone.
fn is_of(hidden: &[u8], name: &OsStr) -> bool {
    let stem = hidden.strip_suffix(PARTIAL.as_bytes());
    let tag = stem.and_then(|stem| stem.rsplit(|&byte| byte == b'.').next());
    let tag = tag.and_then(|tag| std::str::from_utf8(tag).ok());
    tag.is_some_and(|tag| partial_name(name, tag).as_bytes() == hidden)
}

/// Returns whether a partial file is so old that any copy to its directory may remove it.
fn is_old(file: &File) -> bool {
    let now = i128::from(clock::wall_ns() / 1_000_000_000);
    let modified = file.metadata().map_or(i64::MAX, |stat| stat.mtime());
    now - i128::from(modified) > i128::from(PARTIAL_AGE_MAX.as_secs())
}

/// Returns whether an open file belongs to this user and has one name only. Another user may give a
/// file of this user a hidden name by link(2): a copy would overwrite it.
fn is_own(file: &File) -> bool {
    let stat = file.metadata();
    stat.is_ok_and(|stat| stat.uid() == process::user_id() && stat.nlink() == 1)
}

/// Opens and locks a partial file. Returns none if a running copy holds the lock, or if it is not a
/// regular file that this process can open. The lock is `Unsupported` on a file system without
/// locks.
fn free(folder: &OwnedFd, name: &OsStr) -> Option<(File, Lock)> {
    let fd = open(folder, name)?;
    let lock = lock::try_lock(&fd).ok()?;
    // Another copy may have removed it meanwhile, and the name may be that of a new file.
    let is_there = fstat(&fd).is_ok_and(|stat| stat.st_nlink > 0);
    is_there.then(|| (File::from(fd), lock))
}

/// Opens a partial file; none if it is not a regular file that this process can open. What is
/// mounted on it is not asked: another user's FUSE might never answer.
fn open(folder: &OwnedFd, name: &OsStr) -> Option<OwnedFd> {
    let fd = open_unmounted(folder, name, OFlags::RDWR | OFlags::NONBLOCK).ok()?;
    let kind = fstat(&fd).map(|stat| FileType::from_raw_mode(stat.st_mode));
    (kind == Ok(FileType::RegularFile)).then_some(fd)
}

/// Returns the hidden name for the file `name`. A long name is shortened, since file systems allow
/// 255 bytes.
pub fn partial_name(name: &OsStr, tag: &str) -> OsString {
    const LONGEST: usize = 255;
    let room = LONGEST - 2 - tag.len() - PARTIAL.len();
    let bytes = name.as_bytes();
    let kept = &bytes[..bytes.len().min(room)];
    OsString::from_vec([b".", kept, b".", tag.as_bytes(), PARTIAL.as_bytes()].concat())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::Scratch;

    #[test]
    fn a_link_to_another_file_is_not_resumed() {
        let dir = Scratch::new("left-link");
        let other = dir.join("other");
        std::fs::write(&other, "other").unwrap();
        let hidden = dir.join(partial_name(OsStr::new("x"), "dead"));
        std::fs::hard_link(&other, &hidden).unwrap();
        let folder = OwnedFd::from(File::open(&dir).unwrap());
        let find = || Left::find(&folder, OsStr::new("x"));
        assert!(find().is_none());
        std::fs::remove_file(&other).unwrap();
        assert!(find().is_some(), "the hidden name is its only one");
    }

    #[test]
    fn nobody_waits_for_a_file_that_another_user_locks_under_a_hidden_name() {
        let dir = Scratch::new("left-held");
        let folder = OwnedFd::from(File::open(&dir).unwrap());
        let hidden = partial_name(OsStr::new("x"), "0f3c");
        let held = create(&folder, &hidden).unwrap();
        let is_held = || Left::is_held(&folder, OsStr::new("x"));
        assert!(is_held(), "a copy of this user runs");
        // What others can do without being root: a second name for a file that is locked elsewhere.
        std::fs::hard_link(dir.join(&hidden), dir.join("other")).unwrap();
        assert!(!is_held(), "a file with another name is no partial file");
        std::fs::remove_file(dir.join("other")).unwrap();
        assert!(is_held());
        if process::user_id() == 0 {
            std::os::unix::fs::chown(dir.join(&hidden), Some(65_534), None).unwrap();
            assert!(!is_held(), "it belongs to another user");
        }
        drop(held);
    }

    #[test]
    fn of_many_partial_files_few_are_opened_and_none_of_others() {
        let dir = Scratch::new("left-many");
        let folder = OwnedFd::from(File::open(&dir).unwrap());
        let name = OsStr::new("x");
        let of_others: Vec<_> = (0..100).map(|n| partial_name(name, &format!("a{n}"))).collect();
        for hidden in &of_others {
            std::fs::write(dir.join(hidden), "theirs").unwrap();
        }
        assert_eq!(open_own(&folder, name).len(), OPEN_MAX);
        // Without root no file can be given away; a second name makes it nobody's partial file.
        for (number, hidden) in of_others.iter().enumerate() {
            match process::user_id() {
                0 => std::os::unix::fs::chown(dir.join(hidden), Some(65_534), None).unwrap(),
                _ => std::fs::hard_link(dir.join(hidden), dir.join(number.to_string())).unwrap(),
            }
        }
        assert!(open_own(&folder, name).is_empty());
        let own = create(&folder, &partial_name(name, "0f3c")).unwrap();
        assert_eq!(open_own(&folder, name).len(), 1, "and the one that grows here is found");
        drop(own);
    }

    #[test]
    fn a_partial_file_belongs_to_one_name_only() {
        let of = |hidden: &OsStr, name: &str| is_of(hidden.as_bytes(), OsStr::new(name));
        let hidden = partial_name(OsStr::new("a.b"), "0f3c");
        assert!(of(&hidden, "a.b"));
        assert!(!of(&hidden, "a") && !of(&hidden, "b") && !of(&hidden, "a.b.0f3c"));
        let long = "x".repeat(250);
        assert!(of(&partial_name(OsStr::new(&long), "0f3c"), &long));
        assert!(!of(OsStr::new(".garland-part"), "a"));
    }
}

//! Private files of one user: keys and records, which others can neither read nor change. A file
//! is either there as a whole or not at all, after a failure of the power, too. A file that cannot
//! be read is never taken for one that is missing, since whoever did so would replace it.
//!
//! A file is written under a temporary name, which its writer has locked. What a writer has left
//! that ended before, with keys in it maybe, has no lock: each process removes that when it first
//! writes into the directory.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags};
use rustix::io::Errno;

use crate::lock::{self, Lock};
use crate::sync::Mutex;
use crate::{process, random, regular_file};

/// The mode of private files.
const MODE: u32 = 0o600;

/// The mode of directories that are created for them.
const FOLDER_MODE: u32 = 0o700;

/// The beginning of the ends of temporary names; 16 hexadecimal digits follow.
const TEMPORARY: &str = "tmp";

/// The number of directories that a process remembers to have swept.
const SWEPT_MAX: usize = 4096;

/// The permissions that a private file gives to nobody but its owner.
const OF_OTHERS: u32 = 0o077;

/// Reads the private file `path`, which has at most `max_length` bytes. Returns `None` only if
/// there is no file of this name.
///
/// # Errors
/// When the file is not a regular file of this user, others may read or write it, it is longer, or
/// it cannot be read.
pub fn read(path: &Path, max_length: u64) -> io::Result<Option<Vec<u8>>> {
    let file = match regular_file::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let stat = file.metadata()?;
    if stat.uid() != process::user_id() {
        return Err(io::Error::other(format!("it belongs to user {}", stat.uid())));
    }
    let mode = stat.mode() & 0o7777;
    if mode & OF_OTHERS != 0 {
        let text = format!("other users may read or write it: it has mode {mode:04o}");
        return Err(io::Error::other(text));
    }
    regular_file::read_open(&file, max_length).map(Some)
}

/// Creates the private file `path` with these contents unless there is one. Returns whether it was
/// created. In both cases the file is on stable storage.
///
/// # Errors
/// When the file can be neither created nor found.
pub fn create(path: &Path, bytes: &[u8]) -> io::Result<bool> {
    let temporary = Temporary::write(path, bytes)?;
    temporary.file.sync_all()?;
    let created = match fs::hard_link(&temporary.path, path) {
        Err(error) if has_no_links(&error) => temporary.rename_to_new(path),
        linked => linked,
    };
    let is_new = match created {
        Ok(()) => true,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => false,
        Err(error) => return Err(error),
    };
    // Who finds the file relies on it: its creator may not have got here yet.
    sync_folder_of(path)?;
    Ok(is_new)
}

/// Writes the private file `path`. A file of this name is replaced when the new one is on stable
/// storage.
///
/// # Errors
/// When the file cannot be written. Then the old file is unchanged, unless only its directory
/// could not be synced.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = Temporary::write(path, bytes)?;
    temporary.file.sync_all()?;
    temporary.rename(path)?;
    sync_folder_of(path)
}

/// Writes the private file `path` as [`replace`] does, but does not wait for stable storage: a
/// failure of the power may leave an empty file. This is for results and for records that are of
/// no use to the next boot.
///
/// # Errors
/// When the file cannot be written.
pub fn replace_unsynced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    Temporary::write(path, bytes)?.rename(path)
}

/// Creates the directory `path`, and those above it, unless they exist. Only this user can enter
/// what this creates.
///
/// # Errors
/// When one of them can be neither created nor found.
pub fn create_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(path)
}

/// Creates the directory `path`, which only this user can enter, in a directory in which others may
/// create some, too, such as `/dev/shm`: what they have made there before is not used.
///
/// # Errors
/// When there is something at `path`, or it cannot be created.
pub fn create_new_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(FOLDER_MODE).create(path)
}

/// Removes a file, if there is one, for good: it does not come back after a failure of the power.
///
/// # Errors
/// When the file cannot be removed.
pub fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(()) => sync_folder_of(path),
    }
}

/// Gives the file `from`, which is on stable storage, the name `to` beside it, in place of a file
/// of this name; after a failure of the power, too.
///
/// # Errors
/// When the file cannot be renamed, or its directory cannot be synced.
pub fn rename(from: &Path, to: &Path) -> io::Result<()> {
    fs::rename(from, to)?;
    sync_folder_of(to)
}

/// Opens the private file `path` for its lock; created, and empty then, if there is none. Who locks
/// it neither reads nor writes it.
///
/// # Errors
/// When the file is a symbolic link, or cannot be opened or created.
pub fn open_to_lock(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    // On NFS, an exclusive lock requires both ways of access.
    options.read(true).write(true).create(true).truncate(false).mode(MODE);
    regular_file::open_itself(&mut options, path)
}

/// A file beside the one that it will become. It is removed when this is dropped.
struct Temporary {
    path: PathBuf,
    /// Locked, as long as the file has this name.
    file: File,
}

impl Temporary {
    fn write(beside: &Path, bytes: &[u8]) -> io::Result<Self> {
        sweep_once(folder_of(beside));
        let mut temporary = Self::create(beside)?;
        while temporary.file.metadata()?.nlink() == 0 {
            // A sweep found it before it was locked.
            temporary = Self::create(beside)?;
        }
        temporary.file.write_all(bytes)?;
        Ok(temporary)
    }

    fn create(beside: &Path) -> io::Result<Self> {
        // Hosts and containers that share the directory may have equal process numbers.
        let number = u64::from_ne_bytes(random::bytes());
        let path = beside.with_extension(format!("{TEMPORARY}{number:016x}"));
        let file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(&path)?;
        let temporary = Self { path, file };
        lock::lock(&temporary.file)?;
        Ok(temporary)
    }

    fn rename(&self, to: &Path) -> io::Result<()> {
        fs::rename(&self.path, to)
    }

    /// Renames the file unless there is one with the name `to`.
    fn rename_to_new(&self, to: &Path) -> io::Result<()> {
        Ok(rustix::fs::renameat_with(CWD, &self.path, CWD, to, RenameFlags::NOREPLACE)?)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // It has another name by now, or was not written wholly.
        let _ = fs::remove_file(&self.path);
    }
}

/// Sweeps a directory, unless this process did so before.
fn sweep_once(folder: &Path) {
    static SWEPT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let mut swept = SWEPT.lock();
    if swept.len() >= SWEPT_MAX {
        swept.clear();
    }
    let is_new = swept.insert(folder.to_owned());
    drop(swept);
    if is_new {
        sweep(folder);
    }
}

/// Removes the temporary files of writers that have ended. What cannot be removed stays, and
/// hinders nobody.
fn sweep(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()).filter(|path| is_temporary(path)) {
        // A writer that has no lock yet waits for this one, and sees then that its file is gone.
        if let Some(_locked) = abandoned(&path) {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Returns whether a path has a name that [`Temporary`] gives.
fn is_temporary(path: &Path) -> bool {
    let number = path.extension().and_then(OsStr::to_str);
    let number = number.and_then(|end| end.strip_prefix(TEMPORARY));
    let is_digit = |digit: u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
    number.is_some_and(|number| number.len() == 16 && number.bytes().all(is_digit))
}

/// Opens and locks a temporary file, if its writer has ended. Without locks nobody knows.
fn abandoned(path: &Path) -> Option<File> {
    // NFS locks only what is open for writing.
    let file = regular_file::open_with(OpenOptions::new().read(true).write(true), path).ok()?;
    let is_own = file.metadata().ok()?.uid() == process::user_id();
    let is_locked = is_own && lock::try_lock(&file).is_ok_and(|lock| lock == Lock::Held);
    is_locked.then_some(file)
}

/// Returns the directory of a file.
fn folder_of(path: &Path) -> &Path {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// Returns whether an error of link(2) says that the file system has no hard links.
fn has_no_links(error: &io::Error) -> bool {
    let errno = Errno::from_io_error(error);
    errno.is_some_and(|it| [Errno::PERM, Errno::OPNOTSUPP, Errno::NOSYS].contains(&it))
}

/// Waits until the names in the directory of `path` are on stable storage.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    let synced = File::open(folder_of(path))?.sync_all();
    match synced.as_ref().map_err(Errno::from_io_error) {
        // Some network file systems cannot sync directories.
        Err(Some(Errno::INVAL | Errno::OPNOTSUPP)) => Ok(()),
        _ => synced,
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::sync::Barrier;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("garland-private-{name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            fs::create_dir_all(&folder).unwrap();
            Self(folder)
        }

        fn names(&self) -> Vec<String> {
            let names = fs::read_dir(&self.0).unwrap();
            names.map(|name| name.unwrap().file_name().into_string().unwrap()).collect()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_new_directory_is_none_that_others_have_made() {
        let folder = Folder::new("new-folder");
        let path = folder.0.join("new");
        create_new_folder(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(create_new_folder(&path).unwrap_err().kind(), ErrorKind::AlreadyExists);
        let link = folder.0.join("link");
        symlink(&path, &link).unwrap();
        assert_eq!(create_new_folder(&link).unwrap_err().kind(), ErrorKind::AlreadyExists);
    }

    #[test]
    fn of_many_that_create_a_file_at_once_one_succeeds_and_all_read_the_same() {
        const THREADS: usize = 8;
        let folder = Folder::new("create");
        for round in 0..200 {
            let path = folder.0.join(format!("{round}.key"));
            let barrier = Barrier::new(THREADS);
            let created = AtomicUsize::new(0);
            let work = |own: u8| {
                barrier.wait();
                created
                    .fetch_add(usize::from(create(&path, &[own; 64]).unwrap()), Ordering::SeqCst);
                read(&path, 64).unwrap().unwrap()
            };
            let work = &work;
            let read: Vec<Vec<u8>> = std::thread::scope(|scope| {
                let threads = (0..THREADS).map(|own| scope.spawn(move || work(own as u8)));
                let threads: Vec<_> = threads.collect();
                threads.into_iter().map(|thread| thread.join().unwrap()).collect()
            });
            assert_eq!(created.into_inner(), 1, "round {round}");
            assert!(read.iter().all(|bytes| *bytes == read[0]), "round {round}: {read:?}");
            assert!(read[0].len() == 64 && read[0].iter().all(|byte| *byte == read[0][0]));
        }
        assert!(folder.names().iter().all(|name| name.ends_with(".key")), "{:?}", folder.names());
    }

    #[test]
    fn without_hard_links_a_file_is_created_once_too() {
        let folder = Folder::new("rename");
        let path = folder.0.join("x.key");
        let make = |bytes: &[u8]| Temporary::write(&path, bytes).unwrap().rename_to_new(&path);
        make(b"one").unwrap();
        assert_eq!(make(b"two").unwrap_err().kind(), ErrorKind::AlreadyExists);
        assert_eq!(read(&path, 64).unwrap().unwrap(), b"one");
        assert_eq!(folder.names(), ["x.key"]);
    }

    #[test]
    fn a_file_that_is_not_private_or_not_readable_is_not_taken_for_a_missing_one() {
        let folder = Folder::new("read");
        let path = folder.0.join("x.key");
        assert_eq!(read(&path, 64).unwrap(), None);
        let fault = || read(&path, 64).unwrap_err().to_string();
        fs::create_dir(&path).unwrap();
        assert_eq!(fault(), "it is not a regular file");
        fs::remove_dir(&path).unwrap();
        symlink("/dev/null", &path).unwrap();
        assert_eq!(fault(), "it is a symbolic link");
        fs::remove_file(&path).unwrap();
        rustix::fs::mknodat(CWD, &path, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
        assert_eq!(fault(), "it is not a regular file");
        fs::remove_file(&path).unwrap();
        assert!(create(&path, &[1; 65]).unwrap());
        assert_eq!(fault(), "it is longer than 64 bytes");
        for mode in [0o640, 0o604, 0o620, 0o666] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            assert!(fault().ends_with(&format!("{mode:04o}")), "{}", fault());
        }
        assert_eq!(fs::metadata(&path).unwrap().len(), 65);
    }

    #[test]
    fn a_replaced_file_is_private_and_leaves_nothing_beside_it() {
        let folder = Folder::new("replace");
        let path = folder.0.join("x.json");
        replace(&path, b"one").unwrap();
        replace(&path, b"two").unwrap();
        replace_unsynced(&path, b"three").unwrap();
        assert_eq!(read(&path, 64).unwrap().unwrap(), b"three");
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o600);
        // A directory cannot be replaced.
        let other = folder.0.join("y");
        fs::create_dir(&other).unwrap();
        replace(&other, b"").unwrap_err();
        let mut names = folder.names();
        names.sort();
        assert_eq!(names, ["x.json", "y"]);
    }

    #[test]
    fn what_writers_left_that_ended_goes_with_the_first_write_and_nothing_else_does() {
        let folder = Folder::new("swept");
        let left = ["controller.tmp0123456789abcdef", "x.tmpfedcba9876543210"];
        for name in left {
            fs::write(folder.0.join(name), "the key of a controller").unwrap();
        }
        let others = ["x.tmp1", "tmp0123456789abcdef", "x.tmp0123456789abcdeF", "y.tmp.json"];
        for name in others {
            fs::write(folder.0.join(name), "no temporary file").unwrap();
        }
        fs::create_dir(folder.0.join("z.tmp0123456789abcdef")).unwrap();
        replace(&folder.0.join("x.json"), b"one").unwrap();
        let names = folder.names();
        assert!(left.iter().all(|name| !names.iter().any(|it| it == name)), "{names:?}");
        assert_eq!(names.len(), others.len() + 2, "{names:?}");
    }

    #[test]
    fn a_sweep_takes_no_file_from_a_writer() {
        const WRITERS: usize = 3;
        let folder = Folder::new("live");
        let path = folder.0.join("live");
        let writing = Temporary::write(&path, b"live").unwrap();
        sweep(&folder.0);
        writing.rename(&path).unwrap();
        drop(writing);
        assert_eq!(read(&path, 64).unwrap().unwrap(), b"live");
        let write = |writer: usize| {
            for round in 0..40 {
                let bytes = format!("{writer} {round}");
                let path = folder.0.join(format!("{writer}.json"));
                replace_unsynced(&path, bytes.as_bytes()).unwrap();
                assert_eq!(read(&path, 64).unwrap().unwrap(), bytes.as_bytes());
                assert!(create(&folder.0.join(format!("{writer}-{round}")), b"new").unwrap());
            }
        };
        let write = &write;
        std::thread::scope(|scope| {
            let threads = (0..WRITERS).map(|writer| scope.spawn(move || write(writer)));
            let threads: Vec<_> = threads.collect();
            while threads.iter().any(|thread| !thread.is_finished()) {
                sweep(&folder.0);
            }
        });
        let names = folder.names();
        assert_eq!(names.len(), 1 + WRITERS * 41, "{names:?}");
        assert!(!names.iter().any(|name| is_temporary(Path::new(name))));
    }
}

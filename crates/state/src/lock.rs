//! Lock files. A held lock shows that the command that took it is still running.
//!
//! A lock is held by flock(2). On file systems that do not support it (Lustre by default, NFS
//! without lockd), the lock counts as held while the process that is named in the file is running.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use garland_sys::event::Wake;
use garland_sys::identity::Identity;
use garland_sys::{process, regular_file, threads};

/// The interval at which the process named in a lock file is checked, if flock is not supported.
const HOLDER_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// A held lock file. The lock is released when this value is dropped or the process ends.
#[derive(Debug)]
pub struct LockFile {
    _file: File,
}

impl LockFile {
    /// Takes a shared lock on the file at `path`, which is created if missing. Several processes
    /// may hold the lock at a time.
    ///
    /// # Errors
    /// When the file can be neither locked nor written, or is another user's or a link.
    pub fn hold(path: &Path) -> io::Result<Self> {
        Self::hold_by(path, File::lock_shared)
    }

    fn hold_by(path: &Path, lock: impl Fn(&File) -> io::Result<()>) -> io::Result<Self> {
        let mut file = open(path, true)?;
        refuse_foreign(&file)?;
        let locked = uninterrupted(|| lock(&file));
        let named = name_own(&mut file);
        // Either the lock or the identity in the file is sufficient.
        match locked {
            Ok(()) => Ok(Self { _file: file }),
            Err(_) => named.map(|()| Self { _file: file }),
        }
    }
}

/// Returns whether a process holds the lock file at `path`.
pub fn is_held(path: &Path) -> bool {
    is_held_by(path, File::try_lock)
}

fn is_held_by(path: &Path, try_lock: impl Fn(&File) -> Result<(), TryLockError>) -> bool {
    let Ok(file) = open(path, false) else { return false };
    match try_lock(&file) {
        Ok(()) => false,
        Err(TryLockError::WouldBlock) => true,
        Err(TryLockError::Error(_)) => named(path).is_some_and(|process| process.is_alive()),
    }
}

/// Runs `work` unless a process holds the lock file at `path`, or this cannot be determined. Where
/// flock is supported and the file exists, no process can take the lock while `work` runs.
pub fn unless_held(path: &Path, work: impl FnOnce()) {
    let file = open(path, false);
    match file.as_ref().map(File::try_lock) {
        // If the file is missing, no process holds it. After other errors this is unknown.
        Err(error) if error.kind() != ErrorKind::NotFound => {}
        Ok(Err(TryLockError::WouldBlock)) => {}
        Ok(Err(TryLockError::Error(_)))
            if named(path).is_some_and(|process| process.is_alive()) => {}
        Ok(_) | Err(_) => work(),
    }
}

/// Returns a flag that is raised as soon as no process holds the lock file at `path`.
///
/// # Errors
/// When the system has no descriptor or thread left.
pub fn released(path: &Path) -> io::Result<Arc<Wake>> {
    let wake = Arc::new(Wake::new()?);
    let raised = Arc::clone(&wake);
    let path = path.to_owned();
    threads::spawn("lock", move || {
        let locked = open(&path, false).map(|file| uninterrupted(|| file.lock()));
        if matches!(locked, Ok(Err(_))) {
            while named(&path).is_some_and(|process| process.is_alive()) {
                threads::sleep(HOLDER_CHECK_INTERVAL);
            }
        }
        raised.raise();
    })?;
    Ok(wake)
}

/// Opens a lock file for reading and writing: on NFS, an exclusive lock requires both.
fn open(path: &Path, create: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(create).truncate(false).mode(0o600);
    regular_file::open_with(&mut options, path)
}

/// Fails unless `file` may be overwritten: whoever else may write to its directory can give another
/// file of this user the name of the lock.
fn refuse_foreign(file: &File) -> io::Result<()> {
    let stat = file.metadata()?;
    if stat.uid() != process::user_id() && stat.uid() != 0 {
        return Err(io::Error::other(format!("it belongs to user {}", stat.uid())));
    }
    // It has none if it was removed meanwhile.
    if stat.nlink() > 1 {
        return Err(io::Error::other("it is a link to another file"));
    }
    Ok(())
}

fn uninterrupted(lock: impl Fn() -> io::Result<()>) -> io::Result<()> {
    loop {
        match lock() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// Writes the identity of this process to a lock file.
fn name_own(file: &mut File) -> io::Result<()> {
    let Identity { pid, start, boot } = Identity::own()?;
    file.set_len(0)?;
    file.write_all(format!("{pid} {start} {boot}\n").as_bytes())
}

/// Reads the identity of the process named in a lock file; `None` if it cannot be read.
fn named(path: &Path) -> Option<Identity> {
    let text = fs::read_to_string(path).ok()?;
    let mut words = text.split_whitespace();
    let pid = words.next()?.parse().ok()?;
    let start = words.next()?.parse().ok()?;
    Some(Identity { pid, start, boot: words.next()?.to_owned() })
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;
    use std::path::PathBuf;

    use garland_sys::event::wait_readable;
    use rustix::io::Errno;

    use super::*;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("garland-lock-{name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            fs::create_dir_all(&folder).expect("a directory for the test");
            Self(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    /// The errors of flock(2) on NFS without lockd, and on Lustre without `-o flock`.
    const UNSUPPORTED: [Errno; 2] = [Errno::NOLCK, Errno::NOSYS];

    #[test]
    fn a_lock_is_held_until_it_is_dropped() {
        let folder = Folder::new("held");
        let path = folder.0.join("lock");
        assert!(!is_held(&path));
        let lock = LockFile::hold(&path).unwrap();
        let second = LockFile::hold(&path).unwrap();
        assert!(is_held(&path));
        let watched = released(&path).unwrap();
        drop(lock);
        assert!(is_held(&path));
        let come = |limit| wait_readable(&[watched.as_fd()], Some(limit)).unwrap() == [true];
        assert!(!come(Duration::ZERO));
        drop(second);
        assert!(come(Duration::from_secs(10)));
        assert!(!is_held(&path));
    }

    #[test]
    fn a_link_is_no_lock_and_what_it_leads_to_stays() {
        let folder = Folder::new("link");
        let precious = folder.0.join("precious");
        let path = folder.0.join("lock");
        fs::write(&precious, "precious").unwrap();
        std::os::unix::fs::symlink(&precious, &path).unwrap();
        let error = LockFile::hold(&path).unwrap_err();
        assert_eq!(error.to_string(), "it is a symbolic link");
        fs::remove_file(&path).unwrap();
        fs::hard_link(&precious, &path).unwrap();
        let error = LockFile::hold(&path).unwrap_err();
        assert_eq!(error.to_string(), "it is a link to another file");
        assert_eq!(fs::read(&precious).unwrap(), b"precious");
    }

    #[test]
    fn without_flock_the_named_process_decides() {
        let folder = Folder::new("unsupported");
        let path = folder.0.join("lock");
        for errno in UNSUPPORTED {
            let refused = |_: &File| Err(errno.into());
            let lock = LockFile::hold_by(&path, refused).unwrap();
            let refused = |_: &File| Err(TryLockError::Error(errno.into()));
            assert!(is_held_by(&path, refused));
            drop(lock);
            // An identity with the same process id and another start time belongs to a process that
            // has ended.
            let Identity { pid, start, boot } = Identity::own().unwrap();
            fs::write(&path, format!("{pid} {} {boot}\n", start + 1)).unwrap();
            assert!(!is_held_by(&path, refused));
        }
    }
}

//! Lock files: a command holds one while it lives, so that others can tell.
//!
//! flock(2) is what counts. Some file systems do not have it (Lustre by default, NFS without lockd):
//! there the process that is named in the file counts.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use garland_sys::event::Wake;
use garland_sys::identity::Identity;
use garland_sys::threads;

/// How often the process is looked at where flock is not supported.
const LOOK: Duration = Duration::from_millis(100);

/// A lock file that this process holds, until this is dropped or the process ends.
#[derive(Debug)]
pub struct LockFile {
    _file: File,
}

impl LockFile {
    /// Holds the lock file at `path`; created if missing. Several processes may hold it.
    ///
    /// # Errors
    /// When the file can be neither locked nor written.
    pub fn hold(path: &Path) -> io::Result<Self> {
        Self::hold_by(path, File::lock_shared)
    }

    fn hold_by(path: &Path, lock: impl Fn(&File) -> io::Result<()>) -> io::Result<Self> {
        let mut file = open(path, true)?;
        let locked = uninterrupted(|| lock(&file));
        let named = name_own(&mut file);
        // Either will do.
        match locked {
            Ok(()) => Ok(Self { _file: file }),
            Err(_) => named.map(|()| Self { _file: file }),
        }
    }
}

/// Whether a process holds the lock file at `path`.
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

/// Does `work` unless a process holds the lock file at `path`; nobody gets to hold it meanwhile.
pub fn unless_held(path: &Path, work: impl FnOnce()) {
    let file = open(path, false);
    match file.as_ref().map(File::try_lock) {
        // Whoever would hold it has made it.
        Err(error) if error.kind() != ErrorKind::NotFound => {}
        Ok(Err(TryLockError::WouldBlock)) => {}
        Ok(Err(TryLockError::Error(_)))
            if named(path).is_some_and(|process| process.is_alive()) => {}
        Ok(_) | Err(_) => work(),
    }
}

/// A flag that is raised when no process holds the lock file at `path` any more.
///
/// # Errors
/// When the system has no descriptor or thread left.
pub fn released(path: &Path) -> io::Result<Arc<Wake>> {
    let wake = Arc::new(Wake::new()?);
    let (raised, path) = (Arc::clone(&wake), path.to_owned());
    threads::spawn("lock", move || {
        let locked = open(&path, false).map(|file| uninterrupted(|| file.lock()));
        if matches!(locked, Ok(Err(_))) {
            while named(&path).is_some_and(|process| process.is_alive()) {
                std::thread::sleep(LOOK);
            }
        }
        raised.raise();
    })?;
    Ok(wake)
}

/// NFS locks only what is open for writing exclusively.
fn open(path: &Path, create: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(create).truncate(false).mode(0o600).open(path)
}

fn uninterrupted(lock: impl Fn() -> io::Result<()>) -> io::Result<()> {
    loop {
        match lock() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

fn name_own(file: &mut File) -> io::Result<()> {
    let Identity { pid, start, boot } = Identity::own()?;
    file.set_len(0)?;
    file.write_all(format!("{pid} {start} {boot}\n").as_bytes())
}

fn named(path: &Path) -> Option<Identity> {
    let text = fs::read_to_string(path).ok()?;
    let mut words = text.split_whitespace();
    let (pid, start) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
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

    /// What flock(2) says on NFS without lockd, and on Lustre without `-o flock`.
    const UNSUPPORTED: [Errno; 2] = [Errno::NOLCK, Errno::NOSYS];

    #[test]
    fn a_lock_is_held_until_it_is_dropped() {
        let folder = Folder::new("held");
        let path = folder.0.join("lock");
        assert!(!is_held(&path));
        let lock = LockFile::hold(&path).unwrap();
        let second = LockFile::hold(&path).unwrap();
        assert!(is_held(&path));
        let released = released(&path).unwrap();
        drop(lock);
        assert!(is_held(&path));
        let come = |limit| wait_readable(&[released.as_fd()], Some(limit)).unwrap() == [true];
        assert!(!come(Duration::ZERO));
        drop(second);
        assert!(come(Duration::from_secs(10)));
        assert!(!is_held(&path));
    }

    #[test]
    fn without_flock_the_process_that_is_named_counts() {
        let folder = Folder::new("unsupported");
        let path = folder.0.join("lock");
        for errno in UNSUPPORTED {
            let refused = |_: &File| Err(errno.into());
            let lock = LockFile::hold_by(&path, refused).unwrap();
            let refused = |_: &File| Err(TryLockError::Error(errno.into()));
            assert!(is_held_by(&path, refused));
            drop(lock);
            // This process lives; one that had its number before does not.
            let Identity { pid, start, boot } = Identity::own().unwrap();
            fs::write(&path, format!("{pid} {} {boot}\n", start + 1)).unwrap();
            assert!(!is_held_by(&path, refused));
        }
    }
}

//! Advisory locks on whole files (flock(2)). A held lock shows that the process that created the
//! file is alive. Some file systems have no locks (Lustre without `-o flock`, some NFS); files
//! there can be written without a lock.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// The result of locking a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lock {
    /// This process holds the lock.
    Held,
    /// The file system has no locks.
    Unsupported,
}

/// Takes an exclusive lock on a file, without waiting.
///
/// # Errors
/// `WouldBlock` when another process holds a lock; otherwise the errors of [`lock`].
pub fn try_lock(file: impl AsFd) -> io::Result<Lock> {
    judged(flock(file, FlockOperation::NonBlockingLockExclusive))
}

/// Takes a shared lock on a file, without waiting. Other processes may share it.
///
/// # Errors
/// `WouldBlock` when another process holds an exclusive lock; otherwise the errors of [`lock`].
pub fn try_lock_shared(file: impl AsFd) -> io::Result<Lock> {
    judged(flock(file, FlockOperation::NonBlockingLockShared))
}

/// Releases a lock that this process holds.
///
/// # Errors
/// Those of [`lock`].
pub fn unlock(file: impl AsFd) -> io::Result<Lock> {
    judged(flock(file, FlockOperation::Unlock))
}

/// Returns the numbers of the processes that hold locks on a file, as far as the kernel tells
/// (`/proc/locks`); for messages.
#[must_use]
pub fn holders(file: &File) -> Vec<u32> {
    let Ok(inode) = file.metadata().map(|stat| stat.ino()) else { return Vec::new() };
    let table = fs::read_to_string("/proc/locks").unwrap_or_default();
    table.lines().filter_map(|line| holder(line, inode)).collect()
}

/// Returns the process in a line of `/proc/locks`, such as
/// `3: FLOCK  ADVISORY  READ 4711 08:02:99 0 EOF`, if it holds a lock on the file with this inode.
/// The device is not compared: that of stat(2)
/// is another one on some file systems.
fn holder(line: &str, inode: u64) -> Option<u32> {
    let mut words = line.split_ascii_whitespace();
    // A process that waits has an arrow in this place.
    let is_lock = words.nth(1) == Some("FLOCK");
    let pid = words.nth(2)?.parse().ok()?;
    let file = words.next()?.rsplit(':').next()?;
    (is_lock && file.parse() == Ok(inode)).then_some(pid)
}

/// Takes an exclusive lock on a file; waits until no other process holds one.
///
/// # Errors
/// The error of flock(2). A file system without locks is not an error.
pub fn lock(file: impl AsFd) -> io::Result<Lock> {
    loop {
        match flock(&file, FlockOperation::LockExclusive) {
            Err(Errno::INTR) => {}
            locked => return judged(locked),
        }
    }
}

fn judged(locked: Result<(), Errno>) -> io::Result<Lock> {
    match locked {
        Ok(()) => Ok(Lock::Held),
        // EOPNOTSUPP is the same number as ENOTSUP.
        Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK) => Ok(Lock::Unsupported),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_system_without_locks_is_no_error() {
        for none in [Errno::NOSYS, Errno::OPNOTSUPP, Errno::NOLCK] {
            assert_eq!(judged(Err(none)).unwrap(), Lock::Unsupported);
        }
        let taken = judged(Err(Errno::WOULDBLOCK)).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::WouldBlock);
        assert!(judged(Err(Errno::BADF)).is_err());
    }

    #[test]
    fn a_shared_lock_belongs_to_several_and_its_holders_are_known() {
        let path = std::env::temp_dir().join(format!("garland-shared-{}", std::process::id()));
        let open = || File::create(&path).unwrap();
        let files = [open(), open(), open()];
        assert_eq!(try_lock_shared(&files[0]).unwrap(), Lock::Held);
        assert_eq!(try_lock_shared(&files[1]).unwrap(), Lock::Held);
        assert_eq!(try_lock(&files[2]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        assert_eq!(holders(&files[2]), [std::process::id(); 2]);
        unlock(&files[0]).unwrap();
        unlock(&files[1]).unwrap();
        assert_eq!(try_lock(&files[2]).unwrap(), Lock::Held);
        assert_eq!(try_lock_shared(&files[0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn who_waits_for_a_lock_or_locks_another_file_does_not_hold_it() {
        let line = "3: FLOCK  ADVISORY  READ 4711 08:02:99 0 EOF";
        assert_eq!(holder(line, 99), Some(4711));
        assert_eq!(holder(line, 9), None);
        assert_eq!(holder("3: -> FLOCK  ADVISORY  WRITE 4711 08:02:99 0 EOF", 99), None);
        assert_eq!(holder("4: POSIX  ADVISORY  WRITE 4711 08:02:99 0 EOF", 99), None);
    }

    #[test]
    fn a_lock_belongs_to_one() {
        let path = std::env::temp_dir().join(format!("garland-lock-{}", std::process::id()));
        let open = || File::create(&path).unwrap();
        let one = open();
        let other = open();
        assert_eq!(try_lock(&one).unwrap(), Lock::Held);
        assert_eq!(try_lock(&other).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(one);
        assert_eq!(try_lock(&other).unwrap(), Lock::Held);
        fs::remove_file(path).unwrap();
    }
}

//! Advisory locks on whole files (flock(2)). A held lock shows that the process that created the
//! file is alive. Some file systems have no locks (Lustre without `-o flock`, some NFS); files
//! there can be written without a lock.

use std::io;
use std::os::fd::AsFd;

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
    fn a_lock_belongs_to_one() {
        let path = std::env::temp_dir().join(format!("garland-lock-{}", std::process::id()));
        let open = || std::fs::File::create(&path).unwrap();
        let (one, other) = (open(), open());
        assert_eq!(try_lock(&one).unwrap(), Lock::Held);
        assert_eq!(try_lock(&other).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(one);
        assert_eq!(try_lock(&other).unwrap(), Lock::Held);
        std::fs::remove_file(path).unwrap();
    }
}

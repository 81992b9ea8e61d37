//! Whether a file is still being written.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// The command that chooses the signal of a lease (fcntl(2)).
const F_SETSIG: libc::c_int = 10;

/// Whether processes have a file open for writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writers {
    /// At least one has.
    Present,
    /// None has.
    Absent,
    /// The kernel does not tell: there are no leases, as on NFS, or the file is another user's.
    Unknown,
}

/// Returns whether a process has `file` open for writing, by trying to take a lease on it
/// (fcntl(2)).
#[must_use]
pub fn of_file(file: &File) -> Writers {
    let fd = file.as_raw_fd();
    // SAFETY: the descriptor is open as long as `file`, and these commands take a number.
    let taken = unsafe {
        // Opening the file while the lease is held sends this signal, which is ignored.
        libc::fcntl(fd, F_SETSIG, libc::SIGURG);
        libc::fcntl(fd, libc::F_SETLEASE, libc::F_RDLCK)
    };
    if taken == 0 {
        // SAFETY: as above.
        unsafe { libc::fcntl(fd, libc::F_SETLEASE, libc::F_UNLCK) };
        return Writers::Absent;
    }
    match io::Error::last_os_error().raw_os_error() {
        Some(libc::EAGAIN) => Writers::Present,
        _ => Writers::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

    use super::*;
    use crate::process;

    fn file(name: &str) -> std::path::PathBuf {
        std::env::temp_dir().join(format!("garland-writers-{name}-{}", std::process::id()))
    }

    #[test]
    fn a_file_has_writers_until_they_close_it() {
        let path = file("own");
        let writer = File::create(&path).unwrap();
        let reader = File::open(&path).unwrap();
        assert_eq!(of_file(&reader), Writers::Present);
        drop(writer);
        assert_eq!(of_file(&reader), Writers::Absent);
        // No lease is left that a writer would have to wait for.
        drop(File::create(&path).unwrap());
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn the_writers_of_another_users_file_are_unknown() {
        if process::user_id() != 0 {
            // Only root can give a file away.
            return;
        }
        let path = file("other");
        let writer = File::create(&path).unwrap();
        std::os::unix::fs::fchown(&writer, Some(12_345), None).unwrap();
        let reader = File::open(&path).unwrap();
        let looked = std::thread::scope(|scope| {
            let look = || {
                let mut sets = capabilities(None).unwrap();
                sets.effective.remove(CapabilitySet::LEASE);
                set_capabilities(None, sets).unwrap();
                of_file(&reader)
            };
            // The right to lease any file is a thread's own: other tests keep it.
            scope.spawn(look).join().unwrap()
        });
        std::fs::remove_file(&path).unwrap();
        assert_eq!(looked, Writers::Unknown);
        drop(writer);
    }
}

//! Whether a file is still being written.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// The command that chooses the signal of a lease (fcntl(2)).
const F_SETSIG: libc::c_int = 10;

/// Returns whether a process has `file` open for writing, by trying to take a lease on it
/// (fcntl(2)). `false` also where leases do not exist, as on NFS, and for files of other users.
#[must_use]
pub fn are_left(file: &File) -> bool {
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
        return false;
    }
    io::Error::last_os_error().raw_os_error() == Some(libc::EAGAIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_writers_until_they_close_it() {
        let path = std::env::temp_dir().join(format!("garland-writers-{}", std::process::id()));
        let writer = File::create(&path).unwrap();
        let reader = File::open(&path).unwrap();
        assert!(are_left(&reader));
        drop(writer);
        assert!(!are_left(&reader));
        // No lease is left that a writer would have to wait for.
        drop(File::create(&path).unwrap());
        std::fs::remove_file(&path).unwrap();
    }
}

//! Closes a file and returns the error: a file system with write-behind reports lost bytes only then. Dropping
//! a file ignores it.

use std::fs::File;
use std::io;
use std::os::fd::IntoRawFd;

/// Closes a file.
///
/// # Errors
/// The error of close(2). The file is closed nevertheless.
pub fn close(file: File) -> io::Result<()> {
    let fd = file.into_raw_fd();
    // SAFETY: the descriptor was owned by the file, which is gone.
    if unsafe { libc::close(fd) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_can_be_closed() {
        close(File::open("/dev/null").unwrap()).unwrap();
    }
}

//! Closing a file and hearing what that says: a file system that writes behind tells only then of bytes
//! that it couldn't keep. Dropping a file ignores that.

use std::fs::File;
use std::io;
use std::os::fd::IntoRawFd;

/// Closes a file.
///
/// # Errors
/// What the system says. The file is closed all the same.
pub fn close(file: File) -> io::Result<()> {
    let fd = file.into_raw_fd();
    // SAFETY: the descriptor was the file's alone, and the file is gone.
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

//! Closes a file and reports the error of close(2). A file system with write-behind may report lost
//! data only then, and dropping a [`File`] ignores the error.

use std::fs::File;
use std::io;
use std::os::fd::IntoRawFd;

/// Closes a file, and reports the error that dropping it would ignore.
///
/// # Errors
/// The error of close(2). The file is closed even then.
pub fn close(file: File) -> io::Result<()> {
    let fd = file.into_raw_fd();
    // SAFETY: `into_raw_fd` has passed the ownership of the descriptor to this function.
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

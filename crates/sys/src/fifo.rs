//! Named pipes of a chosen capacity (fifo(7), `F_SETPIPE_SZ` in fcntl(2)).

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};

/// A named pipe whose capacity stays as it is while this value lives. It counts as a reader that
/// reads nothing, so that the pipe's end still reaches the other readers.
#[derive(Debug)]
pub struct Fifo {
    _reader: File,
}

impl Fifo {
    /// Creates a named pipe at `path`. `capacity` is its capacity in bytes; `None` for that of the
    /// kernel.
    ///
    /// # Errors
    /// When the file cannot be created, or the kernel gives another capacity.
    pub fn create(path: &Path, capacity: Option<u64>) -> io::Result<Self> {
        mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        // Opened for reading without blocking, the pipe needs no writer.
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
        if let Some(bytes) = capacity {
            resize(file.as_raw_fd(), bytes)?;
        }
        Ok(Self { _reader: file })
    }
}

/// Sets the capacity of the pipe `fd` to this number of bytes, a power of 2 of at least 4096.
///
/// # Errors
/// When the kernel refuses, or gives another capacity.
pub fn resize(fd: RawFd, bytes: u64) -> io::Result<()> {
    let size = libc::c_int::try_from(bytes).map_err(io::Error::other)?;
    // SAFETY: F_SETPIPE_SZ takes an integer and touches no memory of this process.
    let given = unsafe { libc::fcntl(fd, libc::F_SETPIPE_SZ, size) };
    match u64::try_from(given) {
        Err(_) => Err(io::Error::last_os_error()),
        Ok(given) if given == bytes => Ok(()),
        Ok(given) => Err(io::Error::other(format!("the kernel gave {given} bytes"))),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_pipe_has_the_capacity_that_was_asked_for() {
        let path = std::env::temp_dir().join(format!("garland-fifo-{}", std::process::id()));
        for (capacity, holds) in [(Some(4096), 4096), (Some(1 << 17), 1 << 17)] {
            let fifo = Fifo::create(&path, capacity).unwrap();
            let mut writer = OpenOptions::new();
            let mut writer = writer.write(true).custom_flags(libc::O_NONBLOCK).open(&path).unwrap();
            let mut written = 0;
            while let Ok(bytes) = writer.write(&[0; 1024]) {
                written += bytes;
            }
            assert_eq!(written, holds);
            drop(fifo);
            std::fs::remove_file(&path).unwrap();
        }
        assert!(Fifo::create(&path, Some(5000)).is_err(), "the kernel rounds up");
        std::fs::remove_file(&path).unwrap();
    }
}

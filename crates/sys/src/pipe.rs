//! What is in a pipe.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd};

/// Returns the number of bytes in the pipe that nobody has read yet. `end` is either of its ends.
///
/// # Errors
/// When the descriptor is no pipe.
pub fn unread(end: impl AsFd) -> io::Result<u64> {
    Ok(rustix::io::ioctl_fionread(end)?)
}

/// Opens another read end of the pipe with this write end. The pipe keeps its bytes as long as one
/// is open, also when all others are closed.
///
/// # Errors
/// When there is no `/proc`, or no descriptor left.
pub fn another_reader(writer: impl AsFd) -> io::Result<File> {
    File::open(format!("/proc/self/fd/{}", writer.as_fd().as_raw_fd()))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn a_pipe_tells_what_is_left_when_both_of_its_first_ends_are_closed() {
        let (mut reader, mut writer) = io::pipe().expect("a pipe");
        writer.write_all(b"abcdef").expect("it fits");
        assert_eq!(unread(&writer).expect("a pipe"), 6);
        let other = another_reader(&writer).expect("another end");
        drop(writer);
        let mut two = [0; 2];
        reader.read_exact(&mut two).expect("it is in the pipe");
        drop(reader);
        assert_eq!(unread(&other).expect("a pipe"), 4);
    }
}

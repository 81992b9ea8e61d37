//! Opens regular files, and nothing else, in directories to which others may write.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use rustix::fs::OFlags;
use rustix::io::Errno;

/// Opens the regular file `path` for reading.
///
/// # Errors
/// When it cannot be opened, or the name is that of a link, a pipe or another file that is not
/// regular.
pub fn open(path: &Path) -> io::Result<File> {
    open_with(OpenOptions::new().read(true), path)
}

/// Opens the regular file `path` as `options` say.
///
/// # Errors
/// As for [`open`].
pub fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    // Opening a pipe would wait for its other end.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = match options.custom_flags(flags.bits().cast_signed()).open(path) {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => {
            return Err(io::Error::other("it is a symbolic link"));
        }
        opened => opened?,
    };
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

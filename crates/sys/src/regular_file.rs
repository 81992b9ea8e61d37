//! Opens regular files, and nothing else, in directories to which others may write.

use std::fs::{File, OpenOptions};
use std::io::{self, Read};
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

/// Reads the regular file `path`, which has at most `max_length` bytes.
///
/// # Errors
/// As for [`open`], and when it is longer or cannot be read.
pub fn read(path: &Path, max_length: u64) -> io::Result<Vec<u8>> {
    read_open(&open(path)?, max_length)
}

/// Reads the rest of an open file, which has at most `max_length` bytes.
///
/// # Errors
/// When it is longer, or cannot be read.
pub(crate) fn read_open(file: &File, max_length: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(max_length + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_length {
        return Err(io::Error::other(format!("it is longer than {max_length} bytes")));
    }
    Ok(bytes)
}

/// Opens the regular file `path` as `options` say.
///
/// # Errors
/// As for [`open`].
pub fn open_with(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let file = open_itself(options, path)?;
    match file.metadata()?.is_file() {
        true => Ok(file),
        false => Err(io::Error::other("it is not a regular file")),
    }
}

/// Opens a file of whatever kind. A link is not followed, and a pipe or a device does nothing.
pub(crate) fn open_itself(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    // Opening a pipe would wait for its other end.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    match options.custom_flags(flags.bits().cast_signed()).open(path) {
        Err(error) if Errno::from_io_error(&error) == Some(Errno::LOOP) => {
            Err(io::Error::other("it is a symbolic link"))
        }
        opened => opened,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use rustix::fs::{CWD, FileType, mknodat};

    use super::*;

    #[test]
    fn only_regular_files_within_the_bound_are_read() {
        let folder = std::env::temp_dir().join(format!("garland-regular-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let fault = |name: &str| read(&folder.join(name), 4).unwrap_err().to_string();
        fs::write(folder.join("short"), "1234").unwrap();
        fs::write(folder.join("long"), "12345").unwrap();
        std::os::unix::fs::symlink("short", folder.join("link")).unwrap();
        mknodat(CWD, folder.join("pipe"), FileType::Fifo, 0o600.into(), 0).unwrap();
        assert_eq!(read(&folder.join("short"), 4).unwrap(), b"1234");
        assert_eq!(fault("long"), "it is longer than 4 bytes");
        assert_eq!(fault("link"), "it is a symbolic link");
        assert_eq!(fault("pipe"), "it is not a regular file");
        assert_eq!(fault("."), "it is not a regular file");
        assert_eq!(
            read(Path::new("/dev/zero"), 4).unwrap_err().to_string(),
            "it is not a regular file"
        );
        fs::remove_dir_all(folder).unwrap();
    }
}

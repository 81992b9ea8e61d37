//! Removes directories with all that is in them, but never what is mounted there: the files of a
//! bind mount are those of another directory.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, fstat, openat, unlinkat};
use rustix::io::Errno;

use crate::mounts;

/// What all directories of one mount of a file system have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ground {
    device: u64,
    /// None on a kernel that does not tell.
    mount: Option<u64>,
}

impl Ground {
    /// Returns the ground of an open directory.
    ///
    /// # Errors
    /// When its status cannot be read.
    pub fn new(folder: impl AsFd) -> io::Result<Self> {
        Ok(Self { device: fstat(&folder)?.st_dev, mount: mounts::id(&folder) })
    }
}

/// Removes the directory `path` and everything in it. Removes what can be removed, also after an
/// error. A symbolic link is removed, and not what it leads to.
///
/// # Errors
/// When something stays: it cannot be removed, or something is mounted there, of which nothing is
/// touched. The first error.
pub fn remove_dir_all(path: &Path) -> io::Result<()> {
    let folder = open(CWD, path.as_os_str())?;
    let emptied = empty(&folder, Ground::new(&folder)?);
    drop(folder);
    emptied.and(unlinkat(CWD, path, AtFlags::REMOVEDIR).map_err(io::Error::from))
}

fn empty(folder: &OwnedFd, ground: Ground) -> io::Result<()> {
    let entries: Vec<_> = Dir::read_from(folder)?.collect::<Result<_, _>>()?;
    let names = entries.iter().map(|entry| entry.file_name().to_bytes());
    let mut done = Ok(());
    for name in names.filter(|name| *name != b"." && *name != b"..") {
        done = done.and(remove(folder, OsStr::from_bytes(name), ground));
    }
    done
}

fn remove(above: &OwnedFd, name: &OsStr, ground: Ground) -> io::Result<()> {
    match unlinkat(above, name, AtFlags::empty()) {
        // EPERM: what POSIX wants for a directory.
        Err(Errno::ISDIR | Errno::PERM) => {}
        Ok(()) | Err(Errno::NOENT) => return Ok(()),
        Err(error) => return Err(error.into()),
    }
    let folder = open(above, name)?;
    if Ground::new(&folder)? != ground {
        return Err(Errno::BUSY.into());
    }
    let emptied = empty(&folder, ground);
    drop(folder);
    emptied.and(unlinkat(above, name, AtFlags::REMOVEDIR).map_err(io::Error::from))
}

fn open(above: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(above, name, flags, Mode::empty())?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_directory_goes_with_all_that_is_in_it_and_links_are_not_followed() {
        let top = std::env::temp_dir().join(format!("garland-removal-{}", std::process::id()));
        fs::create_dir_all(top.join("goes/a/b")).unwrap();
        fs::create_dir_all(top.join("stays")).unwrap();
        fs::write(top.join("goes/a/b/file"), "x").unwrap();
        fs::write(top.join("stays/file"), "x").unwrap();
        symlink("../stays", top.join("goes/link")).unwrap();
        remove_dir_all(&top.join("goes")).unwrap();
        assert!(!top.join("goes").exists() && top.join("stays/file").exists());
        let missing = remove_dir_all(&top.join("goes")).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        symlink("stays", top.join("link")).unwrap();
        assert!(remove_dir_all(&top.join("link")).is_err());
        assert!(top.join("stays/file").exists());
        remove_dir_all(&top).unwrap();
    }
}

//! Removes directories with all that is in them, but never what is mounted there: the files of a
//! bind mount are those of another directory.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, fstat, openat, renameat, unlinkat};
use rustix::io::Errno;

use crate::{mounts, random};

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

/// The number of levels of directories that are open at a time. What lies deeper is moved to the
/// top first: a job may nest more directories than a thread has stack and a process descriptors.
const OPEN_LEVELS: usize = 32;

/// Removes the directory `path` and everything in it. Removes what can be removed, also after an
/// error. A symbolic link is removed, and not what it leads to.
///
/// # Errors
/// When something stays: it cannot be removed, or something is mounted there, of which nothing is
/// touched. The first error.
pub fn remove_dir_all(path: &Path) -> io::Result<()> {
    let top = open(CWD, path.as_os_str())?;
    let ground = Ground::new(&top)?;
    let mut removal = Removal { top, ground, moved: Vec::new() };
    let mut done = removal.empty(None, 0);
    while let Some(name) = removal.moved.pop() {
        done = done.and(removal.remove(None, &name, 0));
    }
    drop(removal);
    done.and(unlinkat(CWD, path, AtFlags::REMOVEDIR).map_err(io::Error::from))
}

/// A directory that is removed with all that is in it.
struct Removal {
    top: OwnedFd,
    ground: Ground,
    /// The names in `top` of directories that were moved there from below.
    moved: Vec<OsString>,
}

impl Removal {
    /// Empties a directory that is `level` levels below the top; none is the top itself.
    fn empty(&mut self, folder: Option<&OwnedFd>, level: usize) -> io::Result<()> {
        let entries = Dir::read_from(folder.unwrap_or(&self.top))?;
        let entries: Vec<_> = entries.collect::<Result<_, _>>()?;
        let names = entries.iter().map(|entry| entry.file_name().to_bytes());
        let mut done = Ok(());
        for name in names.filter(|name| *name != b"." && *name != b"..") {
            done = done.and(self.remove(folder, OsStr::from_bytes(name), level));
        }
        done
    }

    /// Removes an entry of a directory that is `level` levels below the top.
    fn remove(&mut self, above: Option<&OwnedFd>, name: &OsStr, level: usize) -> io::Result<()> {
        let parent = above.unwrap_or(&self.top);
        match unlinkat(parent, name, AtFlags::empty()) {
            // EPERM: what POSIX wants for a directory.
            Err(Errno::ISDIR | Errno::PERM) => {}
            Ok(()) | Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        let folder = open(parent, name)?;
        if Ground::new(&folder)? != self.ground {
            return Err(Errno::BUSY.into());
        }
        if level == OPEN_LEVELS {
            let number = u64::from_le_bytes(random::bytes());
            let new = OsString::from(format!(".garland-deep-{number:016x}"));
            renameat(parent, name, &self.top, &new)?;
            self.moved.push(new);
            return Ok(());
        }
        let emptied = self.empty(Some(&folder), level + 1);
        drop(folder);
        let parent = above.unwrap_or(&self.top);
        emptied.and(unlinkat(parent, name, AtFlags::REMOVEDIR).map_err(io::Error::from))
    }
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

    #[test]
    fn directories_of_any_depth_go() {
        let top = std::env::temp_dir().join(format!("garland-deep-{}", std::process::id()));
        fs::create_dir_all(&top).unwrap();
        let mut folder = open(CWD, top.as_os_str()).unwrap();
        for _ in 0..20_000 {
            rustix::fs::mkdirat(&folder, "d", Mode::RWXU).unwrap();
            rustix::fs::mkdirat(&folder, "e", Mode::RWXU).unwrap();
            folder = open(&folder, OsStr::new("d")).unwrap();
        }
        drop(folder);
        remove_dir_all(&top).unwrap();
        assert!(!top.exists());
    }
}

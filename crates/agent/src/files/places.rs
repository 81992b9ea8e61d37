//! Resolves paths below the agent's root to a directory and a name in it. Symbolic links are not
//! followed: the mount has followed them in its own view.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use garland_sys::confine::{self, Root};
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};
use rustix::io::Errno;

/// The root directory of a mount.
pub struct Places {
    top: OwnedFd,
}

/// A directory that is opened with O_PATH, and a name in it.
pub struct Place<'a> {
    pub folder: OwnedFd,
    pub name: &'a OsStr,
}

impl Places {
    /// Opens the agent's root, or the root of the file system if the agent has none.
    pub fn new(root: &Root) -> std::io::Result<Self> {
        Ok(Self { top: root.top()? })
    }

    /// Resolves `path`. The root itself is the name `.` in the root.
    pub fn find<'a>(&self, path: &'a [u8]) -> Result<Place<'a>, Errno> {
        let (above, name) = match path.iter().rposition(|&byte| byte == b'/') {
            Some(slash) => (&path[..slash], &path[slash + 1..]),
            None if path.is_empty() => (&[][..], &b"."[..]),
            None => (&[][..], path),
        };
        let folder = confine::beneath(&self.top, Path::new(OsStr::from_bytes(above)))?;
        Ok(Place { folder, name: OsStr::from_bytes(name) })
    }
}

impl Place<'_> {
    /// Opens the file with O_PATH, whatever its type; does not follow a symbolic link.
    pub fn itself(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(&self.folder, self.name, flags, Mode::empty())
    }

    /// Opens a regular file with `flags`, which do not create it. Looks at it first: to open a pipe
    /// may take a message out of it, and to open a device may start it.
    ///
    /// # Errors
    /// `NXIO` if it is neither a regular file nor a directory or link, whose own errors they are.
    pub fn open_regular(&self, flags: OFlags) -> Result<OwnedFd, Errno> {
        let itself = self.itself()?;
        match FileType::from_raw_mode(fstat(&itself)?.st_mode) {
            FileType::RegularFile => {}
            FileType::Directory => return Err(Errno::ISDIR),
            FileType::Symlink => return Err(Errno::LOOP),
            _ => return Err(Errno::NXIO),
        }
        let flags = flags | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        openat(ANYWHERE, by_descriptor(&itself), flags, Mode::empty())
    }

    /// Opens the file with `flags`; does not follow a symbolic link, and does not block.
    pub fn open(&self, flags: OFlags, mode: u16) -> Result<OwnedFd, Errno> {
        let never = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        openat(&self.folder, self.name, flags | never, Mode::from_raw_mode(mode.into()))
    }
}

/// Returns a path to the file of an O_PATH descriptor, for system calls that do not accept such
/// descriptors.
pub fn by_descriptor(fd: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(fd))
}

/// The directory argument of system calls whose path argument is absolute.
pub const ANYWHERE: std::os::fd::BorrowedFd<'static> = CWD;

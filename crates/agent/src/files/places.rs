//! Resolves paths below the agent's root to a directory and a name in it. Symbolic links are not
//! followed: the mount has followed them in its own view.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

pub use garland_sys::confine::by_descriptor;
use garland_sys::confine::{self, Root};
use rustix::fs::{CWD, Mode, OFlags, fstat, openat};
use rustix::io::Errno;

/// The bits of a mode that give a program the rights of its file's owner or group.
pub const SET_ID: u16 = 0o6000;

/// The root directory of a mount.
pub struct Places {
    top: OwnedFd,
    set_id: SetId,
}

/// Whether programs that run with the rights of their file's owner or group may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetId {
    /// As the kernel permits it.
    Writable,
    /// Not at all: whoever writes such a file would run as another user here.
    Refused,
}

/// A directory that is opened with O_PATH, and a name in it.
pub struct Place<'a> {
    pub folder: OwnedFd,
    pub name: &'a OsStr,
    set_id: SetId,
}

impl Places {
    /// Opens the agent's root, or the root of the file system if the agent has none.
    pub fn new(root: &Root, set_id: SetId) -> std::io::Result<Self> {
        Ok(Self { top: root.top()?, set_id })
    }

    /// Resolves `path`. The root itself is the name `.` in the root.
    pub fn find<'a>(&self, path: &'a [u8]) -> Result<Place<'a>, Errno> {
        let (above, name) = match path.iter().rposition(|&byte| byte == b'/') {
            Some(slash) => (&path[..slash], &path[slash + 1..]),
            None if path.is_empty() => (&[][..], &b"."[..]),
            None => (&[][..], path),
        };
        let folder = confine::beneath(&self.top, Path::new(OsStr::from_bytes(above)))?;
        Ok(Place { folder, name: OsStr::from_bytes(name), set_id: self.set_id })
    }
}

impl Place<'_> {
    /// Returns whether the other place is in the same directory.
    pub fn is_beside(&self, other: &Self) -> Result<bool, Errno> {
        let own = fstat(&self.folder)?;
        let others = fstat(&other.folder)?;
        Ok(own.st_dev == others.st_dev && own.st_ino == others.st_ino)
    }

    /// Opens the file with O_PATH, whatever its type; does not follow a symbolic link.
    pub fn itself(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(&self.folder, self.name, flags, Mode::empty())
    }

    /// Opens an existing regular file or directory with `flags`; looks at it first.
    ///
    /// # Errors
    /// `NXIO` if it is something else than these or a link, `ACCESS` if it is refused.
    pub fn open_existing(&self, flags: OFlags) -> Result<OwnedFd, Errno> {
        self.open_found(&self.itself()?, flags)
    }

    /// Opens the file `itself` as [`Self::open_existing`] does, which was opened with O_PATH.
    ///
    /// # Errors
    /// Those of [`Self::open_existing`].
    pub fn open_found(&self, itself: &OwnedFd, flags: OFlags) -> Result<OwnedFd, Errno> {
        let writes = flags.intersects(OFlags::WRONLY | OFlags::RDWR | OFlags::TRUNC);
        let is_refused = || Ok(fstat(itself)?.st_mode & u32::from(SET_ID) != 0);
        if writes && self.set_id == SetId::Refused && is_refused()? {
            return Err(Errno::ACCESS);
        }
        let opened = confine::open_found_with(itself, flags);
        opened.map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::NXIO))
    }

    /// Opens a directory, or a file that `flags` create; does not follow a symbolic link.
    pub fn open(&self, flags: OFlags, mode: u16) -> Result<OwnedFd, Errno> {
        let never = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        openat(&self.folder, self.name, flags | never, Mode::from_raw_mode(mode.into()))
    }
}

/// The directory argument of system calls whose path argument is absolute.
pub const ANYWHERE: std::os::fd::BorrowedFd<'static> = CWD;

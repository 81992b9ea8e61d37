//! Where a path leads below the agent's root: a folder and one name in it. No link is followed on the
//! way: the mount has followed them already, by its own view.

use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use garland_sys::confine::{self, Root};
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

/// The top of what a mount sees.
pub struct Places {
    top: OwnedFd,
}

/// A folder that is open only to look names up in it, and a name.
pub struct Place<'a> {
    pub folder: OwnedFd,
    pub name: &'a OsStr,
}

impl Places {
    /// The agent's root; the whole file system where it has none.
    pub fn new(root: &Root) -> std::io::Result<Self> {
        Ok(Self { top: root.top()? })
    }

    /// Where `path` leads; the root itself is `.` in itself.
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
    /// Opens what is there itself, whatever it is, to look at it and no more.
    pub fn itself(&self) -> Result<OwnedFd, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(&self.folder, self.name, flags, Mode::empty())
    }

    /// Opens what is there with `flags`; a link isn't followed, and nothing waits.
    pub fn open(&self, flags: OFlags, mode: u16) -> Result<OwnedFd, Errno> {
        let never = OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        openat(&self.folder, self.name, flags | never, Mode::from_raw_mode(mode.into()))
    }
}

/// The name by which calls that take no such descriptor reach what it stands for.
pub fn by_descriptor(fd: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(fd))
}

/// Where absolute names begin.
pub const ANYWHERE: std::os::fd::BorrowedFd<'static> = CWD;

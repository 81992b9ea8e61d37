//! Owner, attributes, mode and time of what a tree brings.

use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use garland_core::tree::Meta;
use rustix::fs::{
    AtFlags, Gid, Mode, Timespec, Timestamps, UTIME_OMIT, Uid, chownat, fchmod, fchown, fstat,
    futimens, utimensat,
};
use rustix::io::Errno;

use crate::attributes;

const SET_USER: u32 = 0o4000;
const SET_GROUP: u32 = 0o2000;

/// Gives an open file or folder all that it is to have. Its owner stays the agent's user where that
/// one may not give files away, and it doesn't act as somebody else then.
///
/// # Errors
/// When something of it can't be given; the rest is.
pub fn dress(fd: impl AsFd, meta: &Meta) -> io::Result<()> {
    let fd = fd.as_fd();
    // In this order: a new owner takes capabilities and bits of the mode away, a new mode the time
    // of nothing.
    let kept = own(fd, meta.owner)?;
    let attributed = attributes::write(fd, &meta.attributes);
    fchmod(fd, Mode::from_raw_mode(meta.mode & 0o7777 & kept))?;
    futimens(fd, &times(meta))?;
    attributed
}

/// The same for a file that was there before, which may have all or some of it: what it has isn't given
/// again, so that nothing shows that a copy came by.
///
/// # Errors
/// When something of it can't be given; the rest is.
pub fn redress(fd: impl AsFd, meta: &Meta) -> io::Result<()> {
    let fd = fd.as_fd();
    let kept = own(fd, meta.owner)?;
    let has = || attributes::read(fd).is_ok_and(|has| same(&has, &meta.attributes));
    let attributed = if meta.attributes.is_empty() || has() {
        Ok(())
    } else {
        attributes::write(fd, &meta.attributes)
    };
    let (now, mode) = (fstat(fd)?, meta.mode & 0o7777 & kept);
    if now.st_mode & 0o7777 != mode {
        fchmod(fd, Mode::from_raw_mode(mode))?;
    }
    let nanos = u32::try_from(now.st_mtime_nsec).unwrap_or(0);
    if (now.st_mtime, nanos) != meta.modified {
        futimens(fd, &times(meta))?;
    }
    attributed
}

fn same(one: &[(Vec<u8>, Vec<u8>)], other: &[(Vec<u8>, Vec<u8>)]) -> bool {
    one.len() == other.len() && one.iter().all(|attribute| other.contains(attribute))
}

/// The same for a file that was made with its owner and mode, and has no attributes.
///
/// # Errors
/// When it can't have its time.
pub fn dress_born(fd: impl AsFd, meta: &Meta) -> io::Result<()> {
    Ok(futimens(fd, &times(meta))?)
}

/// The same for a symbolic link, which has no mode.
pub fn dress_link(folder: &OwnedFd, name: &OsStr, meta: &Meta) -> io::Result<()> {
    let (user, group) = ids(meta.owner);
    let itself = AtFlags::SYMLINK_NOFOLLOW;
    match chownat(folder, name, Some(user), Some(group), itself) {
        Ok(()) | Err(Errno::PERM | Errno::INVAL | Errno::OPNOTSUPP) => {}
        Err(error) => return Err(error.into()),
    }
    match utimensat(folder, name, &times(meta), itself) {
        // Not every file system knows times of links.
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Gives it its owner, if that may be; says which bits of the mode it may keep.
fn own(fd: BorrowedFd<'_>, owner: (u32, u32)) -> io::Result<u32> {
    let stat = fstat(fd)?;
    if (stat.st_uid, stat.st_gid) == owner {
        return Ok(u32::MAX);
    }
    let (user, group) = ids(owner);
    match fchown(fd, Some(user), Some(group)) {
        Ok(()) => Ok(u32::MAX),
        // Only root may; or the number means nobody here.
        Err(Errno::PERM | Errno::INVAL) => {
            let same_group = stat.st_gid == owner.1 || fchown(fd, None, Some(group)).is_ok();
            let user = if stat.st_uid == owner.0 { 0 } else { SET_USER };
            let group = if same_group { 0 } else { SET_GROUP };
            Ok(!(user | group))
        }
        Err(error) => Err(error.into()),
    }
}

fn ids((user, group): (u32, u32)) -> (Uid, Gid) {
    (Uid::from_raw(user), Gid::from_raw(group))
}

fn times(meta: &Meta) -> Timestamps {
    let (tv_sec, nanos) = meta.modified;
    Timestamps {
        last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
        last_modification: Timespec { tv_sec, tv_nsec: nanos.min(999_999_999).into() },
    }
}

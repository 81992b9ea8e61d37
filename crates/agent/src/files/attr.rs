//! A file's attributes, from statx(2).

use std::ffi::OsStr;
use std::os::fd::AsFd;

use garland_protocol::{Attr, FileKind, Stamp};
use rustix::fs::{AtFlags, FileType, Statx, StatxFlags, StatxTimestamp, statx};
use rustix::io::Errno;

/// Returns the attributes of a name in a directory; does not follow a symbolic link.
pub fn of_name(folder: impl AsFd, name: &OsStr) -> Result<Attr, Errno> {
    let mask = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    statx(folder, name, AtFlags::SYMLINK_NOFOLLOW, mask).map(|stat| translate(&stat))
}

/// Returns the attributes of an open file.
pub fn of_open(fd: impl AsFd) -> Result<Attr, Errno> {
    let mask = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    statx(fd, "", AtFlags::EMPTY_PATH, mask).map(|stat| translate(&stat))
}

fn translate(stat: &Statx) -> Attr {
    let kind = match FileType::from_raw_mode(stat.stx_mode.into()) {
        FileType::Directory => FileKind::Folder,
        FileType::Symlink => FileKind::Link,
        FileType::Fifo => FileKind::Pipe,
        FileType::Socket => FileKind::Socket,
        FileType::CharacterDevice => FileKind::CharDevice,
        FileType::BlockDevice => FileKind::BlockDevice,
        _ => FileKind::File,
    };
    let has_birth = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
    let (major, minor) = (stat.stx_rdev_major, stat.stx_rdev_minor);
    Attr {
        kind,
        mode: stat.stx_mode & 0o7777,
        links: stat.stx_nlink,
        user: stat.stx_uid,
        group: stat.stx_gid,
        // The kernel's encoding in 32 bits.
        number: minor & 0xff | (major & 0xfff) << 8 | (minor & 0xf_ff00) << 12,
        size: stat.stx_size,
        blocks: stat.stx_blocks,
        device: u64::from(stat.stx_dev_major) << 32 | u64::from(stat.stx_dev_minor),
        inode: stat.stx_ino,
        born: if has_birth { stamp(&stat.stx_btime) } else { (0, 0) },
        accessed: stamp(&stat.stx_atime),
        modified: stamp(&stat.stx_mtime),
        changed: stamp(&stat.stx_ctime),
    }
}

fn stamp(time: &StatxTimestamp) -> Stamp {
    (time.tv_sec, time.tv_nsec)
}

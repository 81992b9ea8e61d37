//! A file's attributes, from statx(2), or from fstat(2) where it is missing (Linux before 4.11,
//! and sandboxes that know no newer calls): then without the time of birth.

use std::ffi::OsStr;
use std::os::fd::AsFd;

use garland_protocol::files::{Attr, FileKind, Stamp};
use rustix::fs::{
    AtFlags, FileType, Stat, Statx, StatxFlags, StatxTimestamp, fstat, major, minor, statat, statx,
};
use rustix::io::Errno;

/// Returns the attributes of a name in a directory; does not follow a symbolic link.
pub fn of_name(folder: impl AsFd, name: &OsStr) -> Result<Attr, Errno> {
    let mask = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    match statx(&folder, name, AtFlags::SYMLINK_NOFOLLOW, mask) {
        Err(Errno::NOSYS) => {
            statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map(|stat| translate_old(&stat))
        }
        stat => stat.map(|stat| translate(&stat)),
    }
}

/// Returns the attributes of an open file.
pub fn of_open(fd: impl AsFd) -> Result<Attr, Errno> {
    let mask = StatxFlags::BASIC_STATS | StatxFlags::BTIME;
    match statx(&fd, "", AtFlags::EMPTY_PATH, mask) {
        Err(Errno::NOSYS) => fstat(&fd).map(|stat| translate_old(&stat)),
        stat => stat.map(|stat| translate(&stat)),
    }
}

fn kind(mode: u32) -> FileKind {
    match FileType::from_raw_mode(mode) {
        FileType::Directory => FileKind::Folder,
        FileType::Symlink => FileKind::Link,
        FileType::Fifo => FileKind::Pipe,
        FileType::Socket => FileKind::Socket,
        FileType::CharacterDevice => FileKind::CharDevice,
        FileType::BlockDevice => FileKind::BlockDevice,
        _ => FileKind::File,
    }
}

/// Returns the number of a device in the kernel's encoding in 32 bits.
fn device_number(major: u32, minor: u32) -> u32 {
    minor & 0xff | (major & 0xfff) << 8 | (minor & 0xf_ff00) << 12
}

fn translate(stat: &Statx) -> Attr {
    let has_birth = stat.stx_mask & StatxFlags::BTIME.bits() != 0;
    Attr {
        kind: kind(stat.stx_mode.into()),
        mode: stat.stx_mode & 0o7777,
        links: stat.stx_nlink,
        user: stat.stx_uid,
        group: stat.stx_gid,
        number: device_number(stat.stx_rdev_major, stat.stx_rdev_minor),
        size: stat.stx_size,
        blocks: stat.stx_blocks,
        device: u64::from(stat.stx_dev_major) << 32 | u64::from(stat.stx_dev_minor),
        inode: stat.stx_ino,
        born: if has_birth { stamp(&stat.stx_btime) } else { Stamp::default() },
        accessed: stamp(&stat.stx_atime),
        modified: stamp(&stat.stx_mtime),
        changed: stamp(&stat.stx_ctime),
    }
}

// The widths of the fields differ between architectures.
#[allow(clippy::unnecessary_cast, clippy::cast_lossless)]
fn translate_old(stat: &Stat) -> Attr {
    let mode = stat.st_mode as u32;
    Attr {
        kind: kind(mode),
        mode: (mode & 0o7777) as u16,
        links: u32::try_from(stat.st_nlink).unwrap_or(u32::MAX),
        user: stat.st_uid,
        group: stat.st_gid,
        number: device_number(major(stat.st_rdev), minor(stat.st_rdev)),
        size: stat.st_size.cast_unsigned(),
        blocks: stat.st_blocks.cast_unsigned(),
        device: u64::from(major(stat.st_dev)) << 32 | u64::from(minor(stat.st_dev)),
        inode: stat.st_ino,
        born: Stamp::default(),
        accessed: Stamp { seconds: stat.st_atime, nanos: stat.st_atime_nsec as u32 },
        modified: Stamp { seconds: stat.st_mtime, nanos: stat.st_mtime_nsec as u32 },
        changed: Stamp { seconds: stat.st_ctime, nanos: stat.st_ctime_nsec as u32 },
    }
}

fn stamp(time: &StatxTimestamp) -> Stamp {
    Stamp { seconds: time.tv_sec, nanos: time.tv_nsec }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_statx_only_the_time_of_birth_is_missing() {
        for path in ["/proc/self/exe", "/dev/null", "/", "/proc/self/fd"] {
            let file = std::fs::File::open(path).unwrap();
            let attr = Attr { born: Stamp::default(), ..of_open(&file).unwrap() };
            assert_eq!(translate_old(&fstat(&file).unwrap()), attr, "{path}");
        }
    }
}

//! Stamps, which show whether a file has changed.

use std::fs::File;
use std::io;

use garland_protocol::FileStamp;
use garland_sys::clock;
use rustix::fs::{Stat, fstat, fstatfs};

/// Two changes within one tick of the kernel's clock (10 ms at most) may have one time.
pub const TICK_NS: i128 = 20_000_000;

/// File systems of this machine whose times come from its own clock. On others (NFS, Lustre, FUSE)
/// other machines change files by their own clocks, or attributes may be stale.
const TRUSTED: [i64; 8] = [
    0xef53,      // ext2, ext3, ext4
    0x5846_5342, // XFS
    0x9123_683e, // Btrfs
    0x0102_1994, // tmpfs
    0x794c_7630, // overlayfs
    0x2fc1_2fc1, // ZFS
    0xf2f5_2010, // F2FS
    0xca45_1a4e, // bcachefs
];

/// The present stamp of an open file.
///
/// # Errors
/// When the status of the file cannot be read.
pub fn stamp(file: &File) -> io::Result<FileStamp> {
    Ok(of(&fstat(file)?))
}

fn of(stat: &Stat) -> FileStamp {
    let nanos = |nanos| u32::try_from(nanos).unwrap_or(0);
    FileStamp {
        device: stat.st_dev,
        inode: stat.st_ino,
        length: u64::try_from(stat.st_size).unwrap_or(0),
        modified: (stat.st_mtime, nanos(stat.st_mtime_nsec)),
        changed: (stat.st_ctime, nanos(stat.st_ctime_nsec)),
    }
}

/// Whether the stamps of this file show all changes.
pub fn is_trusted(file: &File) -> bool {
    fstatfs(file).is_ok_and(|system| TRUSTED.contains(&system.f_type))
}

/// Nanoseconds until a change of a file with this stamp would show in it; none if its last change
/// lies in the future.
pub fn unsettled_ns(stamp: &FileStamp) -> Option<u64> {
    unsettled_since_ns(stamp.changed)
}

/// Nanoseconds until a change of a file which was last changed at this time, in seconds and
/// nanoseconds, would show; none if the time lies in the future.
pub fn unsettled_since_ns((seconds, nanos): (i64, u32)) -> Option<u64> {
    let changed = i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    let left = changed + TICK_NS - i128::from(clock::wall_ns());
    (left <= TICK_NS).then(|| u64::try_from(left.max(0)).unwrap_or(0))
}

//! Stamps of files, which differ after any change of the file.

use std::fs::File;
use std::io;

use garland_protocol::copy::FileStamp;
use garland_sys::clock;
use rustix::fs::{Stat, fstat, fstatfs};

/// The magic numbers of local file systems, whose time stamps come from this machine's clock. On
/// other file systems (NFS, Lustre, FUSE) other machines may change files by their own clocks, or
/// attributes may be stale. tmpfs is not among them: what is stored through a mapping there, after
/// it was read through it, changes no time stamp.
const TRUSTED: [i64; 7] = [
    0xef53,      // ext2, ext3, ext4
    0x5846_5342, // XFS
    0x9123_683e, // Btrfs
    0x794c_7630, // overlayfs
    0x2fc1_2fc1, // ZFS
    0xf2f5_2010, // F2FS
    0xca45_1a4e, // bcachefs
];

/// Returns the current stamp of an open file.
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

/// Returns whether the file is on a file system on which every change of a file changes its stamp.
pub fn is_trusted(file: &File) -> bool {
    fstatfs(file).is_ok_and(|system| TRUSTED.contains(&system.f_type))
}

/// Returns how many nanoseconds to wait before any further change of a file with this stamp is
/// certain to change the stamp; none if the file's last change lies in the future.
pub fn unsettled_ns(stamp: &FileStamp) -> Option<u64> {
    unsettled_since_ns(stamp.changed)
}

/// Returns how many nanoseconds to wait before any further change of a file is certain to change
/// its stamp. The argument is the time of the file's last change, in seconds and nanoseconds since
/// 1970. Returns none if that time lies in the future.
pub fn unsettled_since_ns(changed: (i64, u32)) -> Option<u64> {
    let (seconds, nanos) = changed;
    // Two changes within two ticks may have the same time stamp.
    let near = 2 * i128::from(clock::tick_ns());
    let changed = i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
    let left = changed + near - i128::from(clock::wall_ns());
    (left <= near).then(|| u64::try_from(left.max(0)).unwrap_or(0))
}

//! Converts file attributes between the form of the agents' protocol and that of the kernel.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{Errno, FileAttr, FileType, INodeNo, TimeOrNow};
use garland_protocol::files::{Attr, FileKind, Stamp, TimeSet};

/// The time for which the kernel caches names and attributes.
pub const CACHE_TIMEOUT: Duration = Duration::from_secs(1);

/// Converts the attributes of a file with the inode number `number` to the kernel's form.
pub fn to_kernel(number: u64, attr: &Attr) -> FileAttr {
    FileAttr {
        ino: INodeNo(number),
        size: attr.size,
        blocks: attr.blocks,
        atime: time(attr.accessed),
        mtime: time(attr.modified),
        ctime: time(attr.changed),
        crtime: time(attr.born),
        kind: kind(attr.kind),
        // Higher bits would stand for another type.
        perm: attr.mode & 0o7777,
        nlink: attr.links,
        uid: attr.user,
        gid: attr.group,
        rdev: attr.number,
        // Programs that read or write as many bytes per call save round trips to the node.
        blksize: 128 << 10,
        flags: 0,
    }
}

/// Converts a file type to the kernel's form.
pub fn kind(kind: FileKind) -> FileType {
    match kind {
        FileKind::File => FileType::RegularFile,
        FileKind::Folder => FileType::Directory,
        FileKind::Link => FileType::Symlink,
        FileKind::Pipe => FileType::NamedPipe,
        FileKind::Socket => FileType::Socket,
        FileKind::CharDevice => FileType::CharDevice,
        FileKind::BlockDevice => FileType::BlockDevice,
    }
}

/// Returns the attributes of an inode that belongs to the mount itself, not to a node.
pub fn own(kind: FileType, number: u64, mode: u16, size: u64) -> FileAttr {
    let user = garland_sys::process::user_id();
    FileAttr {
        ino: INodeNo(number),
        size,
        blocks: 0,
        atime: UNIX_EPOCH,
        mtime: UNIX_EPOCH,
        ctime: UNIX_EPOCH,
        crtime: UNIX_EPOCH,
        kind,
        perm: mode,
        nlink: 1,
        uid: user,
        gid: rustix::process::getegid().as_raw(),
        rdev: 0,
        blksize: 4096,
        flags: 0,
    }
}

/// Converts a time that a caller sets to the form of the protocol.
pub fn time_set(time: TimeOrNow) -> TimeSet {
    match time {
        TimeOrNow::Now => TimeSet::Now,
        TimeOrNow::SpecificTime(time) => TimeSet::To(stamp(time)),
    }
}

/// Converts the error of a request to the kernel's form. A node that lacks a call stands for
/// itself: at ENOSYS the kernel would make that call to no node any more, and take each fsync for
/// done.
pub fn errno(error: rustix::io::Errno) -> Errno {
    match error {
        rustix::io::Errno::NOSYS => Errno::EOPNOTSUPP,
        error => Errno::from_i32(error.raw_os_error()),
    }
}

fn time(stamp: Stamp) -> SystemTime {
    let whole = Duration::from_secs(stamp.seconds.unsigned_abs());
    let second = match stamp.seconds < 0 {
        true => UNIX_EPOCH.checked_sub(whole),
        false => UNIX_EPOCH.checked_add(whole),
    };
    let nanos = Duration::from_nanos(stamp.nanos.min(999_999_999).into());
    second.and_then(|second| second.checked_add(nanos)).unwrap_or(UNIX_EPOCH)
}

fn stamp(time: SystemTime) -> Stamp {
    let whole = |time: Duration| i64::try_from(time.as_secs()).unwrap_or(i64::MAX);
    match time.duration_since(UNIX_EPOCH) {
        Ok(after) => Stamp { seconds: whole(after), nanos: after.subsec_nanos() },
        // fuser counts the nanoseconds before 1970 backwards, so that they are set separately.
        Err(error) => {
            let before = error.duration();
            Stamp { seconds: -whole(before), nanos: before.subsec_nanos() }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_and_after_1970_survive() {
        for (seconds, nanos) in [(0, 0), (1, 5), (-5, 0), (i64::from(u32::MAX), 7)] {
            let at = Stamp { seconds, nanos };
            assert_eq!(stamp(time(at)), at);
        }
        let last = Stamp { seconds: -1, nanos: 999_999_999 };
        assert_eq!(time(last), UNIX_EPOCH - Duration::from_nanos(1));
    }
}

//! Which mount a file or a path lies on. A path is looked up in the table of mounts, and nothing on
//! its file system is touched: one that hangs would keep whoever asks.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{
    AtFlags, Mode, OFlags, ResolveFlags, StatxAttributes, StatxFlags, fstat, openat, openat2, statx,
};
use rustix::io::Errno;

/// The reason why a name on which a file system is mounted is not opened.
pub const MOUNTED: &str = "another file system is mounted there";

/// Returns the number of the mount that an open file lies on; none if the kernel does not tell. A
/// directory that is bound elsewhere has the device number of its file system, but another mount.
#[must_use]
pub fn id(file: impl AsFd) -> Option<u64> {
    let file = file.as_fd();
    let stat = statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::MNT_ID).ok();
    let told = stat.filter(|stat| stat.stx_mask & StatxFlags::MNT_ID.bits() != 0);
    told.map(|stat| stat.stx_mnt_id).or_else(|| {
        // Before Linux 5.8.
        let told = fs::read(format!("/proc/self/fdinfo/{}", file.as_raw_fd())).ok()?;
        id_in(&told)
    })
}

/// Returns the number in the line `mnt_id:` of `/proc/self/fdinfo/N` (proc(5)).
fn id_in(info: &[u8]) -> Option<u64> {
    let mut lines = info.split(|byte| *byte == b'\n');
    let number = lines.find_map(|line| line.strip_prefix(b"mnt_id:"))?;
    std::str::from_utf8(number).ok()?.trim().parse().ok()
}

/// Returns whether a path without symbolic links lies on a FUSE file system. The kernel does not
/// let a process go that waits for such a one, also if it is killed.
#[must_use]
pub fn is_fuse(path: &Path) -> bool {
    let mounts = fs::read("/proc/self/mountinfo").unwrap_or_default();
    let kind = kind_at(&mounts, path);
    kind.is_some_and(|kind| kind == b"fuse" || kind == b"fuseblk" || kind.starts_with(b"fuse."))
}

/// Opens `name`, a single name in the directory `folder`, as `flags` say, without following a link
/// and without entering another file system that is mounted there.
///
/// # Errors
/// When it cannot be opened; with `EXDEV` if something is mounted there.
pub fn open_unmounted(folder: impl AsFd, name: &OsStr, flags: OFlags) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let inside = ResolveFlags::NO_XDEV | ResolveFlags::NO_MAGICLINKS;
    match openat2(&folder, name, flags, Mode::empty(), inside) {
        // Kernels before 5.6, or a filter of system calls.
        Err(Errno::NOSYS | Errno::PERM) => {
            if is_mount_point(&folder, name)? {
                return Err(Errno::XDEV.into());
            }
            Ok(openat(folder, name, flags, Mode::empty())?)
        }
        opened => Ok(opened?),
    }
}

/// Returns whether something is mounted on `name` in the directory `folder`. The mounted file
/// system is not asked for anything (`AT_STATX_DONT_SYNC`).
///
/// # Errors
/// When there is nothing of that name.
fn is_mount_point(folder: impl AsFd, name: &OsStr) -> io::Result<bool> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
    let found = statx(&folder, name, flags, StatxFlags::empty())?;
    if found.stx_attributes_mask.contains(StatxAttributes::MOUNT_ROOT) {
        return Ok(found.stx_attributes.contains(StatxAttributes::MOUNT_ROOT));
    }
    // Kernels before 5.8 tell by the device, which a bind mount of the same file system shares.
    let device = rustix::fs::makedev(found.stx_dev_major, found.stx_dev_minor);
    Ok(device != fstat(folder)?.st_dev)
}

/// Returns the type of the file system at `path`; `mounts` is the text of `/proc/self/mountinfo`
/// (proc(5)), whose fifth field is the mount point. The type follows a field `-`.
fn kind_at<'a>(mounts: &'a [u8], path: &Path) -> Option<&'a [u8]> {
    let mut found: Option<(usize, &[u8])> = None;
    for line in mounts.split(|byte| *byte == b'\n') {
        let mut fields = line.split(|byte| *byte == b' ');
        let Some(point) = fields.nth(4).map(unescaped) else { continue };
        let Some(kind) = fields.skip_while(|field| *field != b"-").nth(1) else { continue };
        let point = Path::new(OsStr::from_bytes(&point));
        let depth = point.components().count();
        // A later mount at the same point covers the earlier ones.
        if path.starts_with(point) && found.is_none_or(|(deepest, _)| depth >= deepest) {
            found = Some((depth, kind));
        }
    }
    found.map(|(_, kind)| kind)
}

/// Returns a mount point whose blanks and backslashes the kernel has escaped in octal (`\040`).
fn unescaped(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = field;
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match escaped.filter(|_| byte == b'\\') {
            Some(escaped) => {
                bytes.push(escaped);
                rest = &after[3..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sources_tell_the_same_mount() {
        let file = fs::File::open("/proc/self/mountinfo").unwrap();
        let info = fs::read(format!("/proc/self/fdinfo/{}", file.as_raw_fd())).unwrap();
        assert!(id_in(&info).is_some());
        assert_eq!(id(&file), id_in(&info));
        let other = fs::File::open("/sys").unwrap();
        assert_ne!(id(&other), id(&file));
        assert_eq!(id_in(b"pos:\t0\nflags:\t02\n"), None);
    }

    #[test]
    fn the_deepest_and_last_mount_of_a_path_counts() {
        let mounts = b"22 1 254:0 / / rw shared:1 - ext4 /dev/vda rw\n\
            30 22 0:25 / /mnt/a\\040b rw - fuse.sshfs host: rw\n\
            31 22 0:26 / /mnt rw shared:2 master:1 - nfs4 host:/ rw\n\
            32 31 0:27 / /mnt/c rw - fuse x rw\n\
            33 31 0:28 / /mnt/c rw - tmpfs y rw\n";
        let kind = |path: &str| kind_at(mounts, Path::new(path)).map(String::from_utf8_lossy);
        assert_eq!(kind("/srv/x").as_deref(), Some("ext4"));
        assert_eq!(kind("/mnt/a b/x").as_deref(), Some("fuse.sshfs"));
        assert_eq!(kind("/mnt/a").as_deref(), Some("nfs4"));
        assert_eq!(kind("/mnt/c/d").as_deref(), Some("tmpfs"));
        assert_eq!(kind_at(b"odd", Path::new("/")), None);
        assert!(!is_fuse(Path::new("/proc/self")));
    }

    #[test]
    fn a_mount_point_is_not_entered_and_a_directory_is() {
        let proc = fs::File::open("/proc").unwrap();
        let root = fs::File::open("/").unwrap();
        let open = |folder, name| open_unmounted(folder, OsStr::new(name), OFlags::PATH);
        let refused = open(&root, "proc").unwrap_err();
        assert_eq!(Errno::from_io_error(&refused), Some(Errno::XDEV));
        assert!(open(&proc, "sys").is_ok());
        assert!(is_mount_point(&root, OsStr::new("proc")).unwrap());
        assert!(!is_mount_point(&proc, OsStr::new("sys")).unwrap());
    }
}

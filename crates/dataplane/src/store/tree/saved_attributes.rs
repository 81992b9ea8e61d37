//! Remembers properties of a directory in which files are created, to save system calls for each
//! file.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use garland_core::tree::Meta;
use rustix::fs::{fgetxattr, fstat};
use rustix::io::Errno;

/// The properties of a directory that are known so far.
#[derive(Debug, Default)]
pub struct SavedAttributes {
    /// The owner and mode that new files get.
    defaults: OnceLock<Defaults>,
    /// Whether files without a name are known to be unsupported.
    named_only: AtomicBool,
}

/// What determines the owner and mode of files that the agent creates in a directory.
#[derive(Clone, Copy, Debug)]
struct Defaults {
    /// User and group ID.
    owner: (u32, u32),
    /// Whether only the umask restricts the requested mode, since the directory has no default ACL.
    plain: bool,
}

impl SavedAttributes {
    /// Learns the defaults of the directory `folder` from `file`, which was created in it. Only the
    /// first call has an effect.
    pub fn learn(&self, folder: &OwnedFd, file: impl AsFd) {
        if self.defaults.get().is_some() {
            return;
        }
        let Ok(stat) = fstat(file) else { return };
        let list = fgetxattr(folder, "system.posix_acl_default", &mut [0_u8; 0][..]);
        let plain = matches!(list, Err(Errno::NODATA | Errno::OPNOTSUPP));
        let _ = self.defaults.set(Defaults { owner: (stat.st_uid, stat.st_gid), plain });
    }

    /// Returns the mode with which to create a file under this umask so that it has all of `meta`
    /// except the time. Returns none if no mode achieves that, or if the defaults are not known
    /// yet.
    pub fn initial_mode(&self, meta: &Meta, umask: u32) -> Option<u32> {
        let defaults = self.defaults.get()?;
        let mode = meta.mode & 0o7777;
        let whole = mode & 0o777 & !umask == mode && meta.attributes.is_empty();
        (whole && defaults.plain && defaults.owner == meta.owner).then_some(mode)
    }

    /// Returns whether files without a name are supported; true until a failure was recorded.
    pub fn takes_nameless(&self) -> bool {
        !self.named_only.load(Ordering::Relaxed)
    }

    /// Records that files without a name are not supported.
    pub fn refuses_nameless(&self) {
        self.named_only.store(true, Ordering::Relaxed);
    }
}

//! Remembers properties of a directory in which files are created, to save system calls for each
//! file.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use garland_core::tree::Meta;
use rustix::fs::{AtFlags, Dir, fgetxattr, fstat, statat};
use rustix::io::Errno;

/// The properties of a directory that are known so far.
#[derive(Debug, Default)]
pub struct SavedAttributes {
    /// The owner and mode that new files get.
    defaults: OnceLock<Defaults>,
    /// Whether files without a name are known to be unsupported.
    named_only: AtomicBool,
    /// Whether names that differ only in case denote one file, once that is known.
    folds: OnceLock<bool>,
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

    /// Returns the actual name of the file that is found under `name` in `folder`, if this differs
    /// in case because the file system ignores case; none if the actual name is `name`.
    ///
    /// # Errors
    /// When no file is found under `name`, or the directory cannot be read.
    pub fn folded(&self, folder: &OwnedFd, name: &[u8]) -> io::Result<Option<Vec<u8>>> {
        if !self.may_fold(folder, name)? {
            return Ok(None);
        }
        let wanted = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let mut other = None;
        for entry in Dir::read_from(folder)? {
            let entry = entry?;
            let found = entry.file_name().to_bytes();
            if found == name {
                return Ok(None);
            }
            if entry.ino() == wanted.st_ino {
                other = Some(found.to_vec());
            }
        }
        Ok(other)
    }

    /// Returns whether the file system may ignore case in `folder`. `name` is an existing name,
    /// under which this is tested.
    ///
    /// # Errors
    /// When `name` does not exist, or the status of a file cannot be read.
    fn may_fold(&self, folder: &OwnedFd, name: &[u8]) -> io::Result<bool> {
        if let Some(folds) = self.folds.get() {
            return Ok(*folds);
        }
        let swapped = swapped(name);
        if swapped == name {
            // No ASCII letter to test with; other letters may be folded, too.
            return Ok(!name.is_ascii());
        }
        let stat = |name: &[u8]| statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
        // Without such a file nothing can be concluded.
        let one = stat(name)?;
        let folds = match stat(&swapped) {
            Ok(other) => (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino),
            Err(Errno::NOENT) => false,
            Err(error) => return Err(error.into()),
        };
        let _ = self.folds.set(folds);
        Ok(folds)
    }
}

/// Returns the name with the case of its ASCII letters swapped.
fn swapped(name: &[u8]) -> Vec<u8> {
    let swap = |byte: &u8| match byte {
        b'a'..=b'z' => byte.to_ascii_uppercase(),
        other => other.to_ascii_lowercase(),
    };
    name.iter().map(swap).collect()
}

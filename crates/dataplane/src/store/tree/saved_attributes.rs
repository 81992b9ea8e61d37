//! Remembers properties of a directory in which files are created, to save system calls for each
//! file.

use std::fmt;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use garland_core::printable;
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

    /// Returns under which other name the file exists that is found under `name` in `folder`; none
    /// if `name` is exactly its name. A file system that ignores case finds it under several names.
    ///
    /// # Errors
    /// When no file is found under `name`, or the directory cannot be read.
    pub fn folded(&self, folder: &OwnedFd, name: &[u8]) -> io::Result<Option<Folded>> {
        if !self.may_fold(folder, name)? {
            return Ok(None);
        }
        // A listing may lack a name that another process replaces meanwhile.
        const LISTINGS: u32 = 3;
        let mut folded = None;
        for _ in 0..LISTINGS {
            let wanted = statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?;
            match listed(folder, name, wanted.st_ino)? {
                Listed::Exactly => return Ok(None),
                Listed::As(other) => folded = Some(Folded { other }),
            }
        }
        Ok(folded)
    }

    /// Returns whether the file system may ignore case in `folder`. `name` is an existing name,
    /// under which this is tested.
    ///
    /// # Errors
    /// When `name` does not exist, or the status of a file or the directory cannot be read.
    fn may_fold(&self, folder: &OwnedFd, name: &[u8]) -> io::Result<bool> {
        if let Some(folds) = self.folds.get() {
            return Ok(*folds);
        }
        let swapped = swapped(name);
        if swapped == name {
            // No letter to test with; names may still be equal in another way.
            return Ok(!name.is_ascii());
        }
        let stat = |name: &[u8]| statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
        // Without such a file nothing can be concluded.
        let one = stat(name)?;
        let folds = match stat(&swapped) {
            Ok(other) if (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino) => true,
            // Two files, unless the file system numbers the names that it is asked for: many that
            // are in user space (FUSE) do.
            Ok(other) => !matches!(listed(folder, &swapped, other.st_ino)?, Listed::Exactly),
            Err(Errno::NOENT) => false,
            // The other name is none that this file system can have.
            Err(Errno::NAMETOOLONG | Errno::INVAL | Errno::ILSEQ) => return Ok(true),
            Err(error) => return Err(error.into()),
        };
        let _ = self.folds.set(folds);
        Ok(folds)
    }
}

/// A file that exists under another name than the one under which it is found.
#[derive(Debug, PartialEq, Eq)]
pub struct Folded {
    /// Its name in the directory, if that can be told.
    other: Option<Vec<u8>>,
}

impl fmt::Display for Folded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.other {
            Some(other) => {
                let other = printable::name(other);
                write!(f, "the file system ignores case, and {other} exists there")
            }
            None => write!(f, "the file system takes it for another name that exists there"),
        }
    }
}

/// How a file that exists is listed in its directory.
enum Listed {
    /// By the name under which it was found.
    Exactly,
    /// By another name, which is none if it cannot be told.
    As(Option<Vec<u8>>),
}

/// Returns how the file with the number `inode`, which is found under `name`, is listed in
/// `folder`.
fn listed(folder: &OwnedFd, name: &[u8], inode: u64) -> io::Result<Listed> {
    let lower = lower(name);
    let mut of_inode = None;
    let mut alike = None;
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let found = entry.file_name().to_bytes();
        if found == name {
            return Ok(Listed::Exactly);
        }
        if self::lower(found) == lower {
            alike = Some(found.to_vec());
        } else if entry.ino() == inode {
            of_inode = Some(found.to_vec());
        }
    }
    // Some file systems list all files with the same number, or with others than they have.
    Ok(Listed::As(alike.or(of_inode)))
}

fn lower(name: &[u8]) -> Vec<u8> {
    std::str::from_utf8(name)
        .map_or_else(|_| name.to_ascii_lowercase(), |name| name.to_lowercase().into_bytes())
}

/// Returns the name with the case of its letters swapped.
fn swapped(name: &[u8]) -> Vec<u8> {
    let Ok(name) = std::str::from_utf8(name) else {
        return name.iter().map(|&byte| swapped_ascii(byte)).collect();
    };
    let swap = |letter: char| {
        let other = match letter.is_lowercase() {
            true => letter.to_uppercase().to_string(),
            false => letter.to_lowercase().to_string(),
        };
        // The sharp s has two capitals, which no file system takes for it.
        if other.chars().count() == 1 { other } else { letter.to_string() }
    };
    name.chars().map(swap).collect::<String>().into_bytes()
}

fn swapped_ascii(byte: u8) -> u8 {
    if byte.is_ascii_lowercase() { byte.to_ascii_uppercase() } else { byte.to_ascii_lowercase() }
}

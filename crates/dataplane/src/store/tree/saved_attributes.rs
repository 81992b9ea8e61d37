//! What is known of a folder that files appear in: it spares asking for each of them.

use std::cell::{Cell, OnceCell};
use std::io;
use std::os::fd::{AsFd, OwnedFd};

use garland_core::tree::Meta;
use rustix::fs::{AtFlags, Dir, fgetxattr, fstat, statat};
use rustix::io::Errno;

/// A folder's habits, as far as they have shown.
#[derive(Debug, Default)]
pub struct SavedAttributes {
    /// What a new file in it is.
    born: OnceCell<Born>,
    /// Files can't be made in it without a name.
    named_only: Cell<bool>,
    /// It takes names for one that differ in case.
    folds: Cell<Option<bool>>,
}

/// What a file is that the agent makes in a folder.
#[derive(Clone, Copy, Debug)]
struct Born {
    /// The numbers of user and group.
    owner: (u32, u32),
    /// It has the mode that it is made with, but for the agent's umask: the folder gives it none.
    plain: bool,
}

impl SavedAttributes {
    /// Takes a look at the first file that was made in the folder.
    pub fn learn(&self, folder: &OwnedFd, file: impl AsFd) {
        if self.born.get().is_some() {
            return;
        }
        let Ok(stat) = fstat(file) else { return };
        let list = fgetxattr(folder, "system.posix_acl_default", &mut [0_u8; 0][..]);
        let plain = matches!(list, Err(Errno::NODATA | Errno::OPNOTSUPP));
        let _ = self.born.set(Born { owner: (stat.st_uid, stat.st_gid), plain });
    }

    /// The mode to make a file with that is to have all of `meta` but its time by that, under this
    /// umask; none if it wouldn't, or nobody knows yet.
    pub fn mode_at_birth(&self, meta: &Meta, umask: u32) -> Option<u32> {
        let born = self.born.get().filter(|born| born.plain && born.owner == meta.owner)?;
        let mode = meta.mode & 0o7777;
        let whole = mode & 0o777 & !umask == mode && meta.attributes.is_empty();
        (whole && born.plain).then_some(mode)
    }

    /// Whether files can be made without a name, as far as is known.
    pub fn takes_nameless(&self) -> bool {
        !self.named_only.get()
    }

    /// They can't.
    pub fn refuses_nameless(&self) {
        self.named_only.set(true);
    }

    /// The name that is there instead, where something is found by the name `name` in `folder` though
    /// none is written so: a file system that doesn't tell the case of letters.
    ///
    /// # Errors
    /// When nothing is found by that name, or the folder can't be read.
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

    /// Whether the folder may take names for one that aren't.
    ///
    /// # Errors
    /// When `name` isn't there, or nobody can say.
    fn may_fold(&self, folder: &OwnedFd, name: &[u8]) -> io::Result<bool> {
        if let Some(folds) = self.folds.get() {
            return Ok(folds);
        }
        let swapped = swapped(name);
        if swapped == name {
            // It has no letter that tells, and others may fold, too.
            return Ok(!name.is_ascii());
        }
        let stat = |name: &[u8]| statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
        // Where nothing is there by this name nothing has shown.
        let one = stat(name)?;
        let folds = match stat(&swapped) {
            Ok(other) => (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino),
            Err(Errno::NOENT) => false,
            Err(error) => return Err(error.into()),
        };
        self.folds.set(Some(folds));
        Ok(folds)
    }
}

/// The name with its ASCII letters in the other case.
fn swapped(name: &[u8]) -> Vec<u8> {
    let swap = |byte: &u8| match byte {
        b'a'..=b'z' => byte.to_ascii_uppercase(),
        other => other.to_ascii_lowercase(),
    };
    name.iter().map(swap).collect()
}

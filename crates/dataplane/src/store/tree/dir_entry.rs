//! A name in an open directory. No operation here follows a symbolic link out of the tree.

use std::cell::OnceCell;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use garland_core::tree::Meta;
use garland_sys::{lock, storage};
use rustix::fs::{AtFlags, CWD, RenameFlags, linkat, renameat_with, unlinkat};
use rustix::io::Errno;

use super::saved_attributes::SavedAttributes;
use crate::store::file::unreplaceable;
use crate::store::left::partial_name;

/// An entry of a directory: the final name of a file, link or directory, and its hidden name.
pub struct DirEntry<'a> {
    folder: &'a OwnedFd,
    /// Properties of the directory that are known so far.
    saved: &'a SavedAttributes,
    name: &'a OsStr,
    maker: &'a Maker,
    hidden: OnceCell<OsString>,
}

/// Values that are the same for all files of a copy.
#[derive(Debug)]
pub struct Maker {
    /// The copy's tag, part of hidden names.
    pub tag: String,
    /// The umask of the process.
    pub umask: u32,
}

impl<'a> DirEntry<'a> {
    /// Returns the entry `name` in the directory `folder`; `saved` are the properties of that
    /// directory that are known so far.
    pub fn new(
        (folder, saved): (&'a OwnedFd, &'a SavedAttributes),
        name: &'a [u8],
        maker: &'a Maker,
    ) -> Self {
        let name = OsStr::from_bytes(name);
        Self { folder, saved, name, maker, hidden: OnceCell::new() }
    }

    /// Checks that the name does not exist, or is that of a file that may be replaced.
    ///
    /// # Errors
    /// When the existing file must not be replaced, or its status cannot be read.
    pub fn check(&self) -> io::Result<()> {
        match unreplaceable(self.folder(), self.name)? {
            None => Ok(()),
            Some(is) => Err(io::Error::other(format!("{is} and is not replaced"))),
        }
    }

    /// Checks that an existing file may be replaced, and that its name is exactly this one. A file
    /// system that ignores case would otherwise replace a file with another name.
    ///
    /// # Errors
    /// When the existing file must not be replaced, its status cannot be read, or the file has
    /// another name.
    pub fn check_existing(&self) -> io::Result<()> {
        self.check()?;
        self.refuse_folded()
    }

    /// Checks that the name of the existing file is exactly this one, not one that differs in case.
    ///
    /// # Errors
    /// When the file has another name or does not exist, or the directory cannot be read.
    pub fn refuse_folded(&self) -> io::Result<()> {
        match self.saved().folded(self.folder(), self.name.as_bytes())? {
            None => Ok(()),
            Some(other) => {
                let other = String::from_utf8_lossy(&other).into_owned();
                let message = format!("the file system ignores case, and {other} exists there");
                Err(io::Error::other(message))
            }
        }
    }

    /// Returns the directory.
    pub fn folder(&self) -> &OwnedFd {
        self.folder
    }

    /// Returns the properties of the directory that are known so far.
    pub fn saved(&self) -> &SavedAttributes {
        self.saved
    }

    /// Learns the owner and mode of new files in the directory from `file`, which is one of them.
    pub fn learn(&self, file: &File) {
        self.saved().learn(self.folder(), file);
    }

    /// Returns the mode with which to create a file so that it has all of `meta` except the time;
    /// none if no mode achieves that, or if it is not known yet.
    pub fn initial_mode(&self, meta: &Meta) -> Option<u32> {
        self.saved().initial_mode(meta, self.maker.umask)
    }

    /// Returns the name that the file has until it is complete.
    pub fn hidden(&self) -> &OsStr {
        self.hidden.get_or_init(|| partial_name(self.name, &self.maker.tag))
    }

    /// Renames the file from its hidden name to its final name. Replaces an existing file if that
    /// may be replaced.
    pub fn show(&self) -> io::Result<()> {
        let folder = self.folder();
        match renameat_with(folder, self.hidden(), folder, self.name, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(()),
            Err(Errno::EXIST) => self.check_existing()?,
            // The file system does not support NOREPLACE: check before the rename.
            Err(Errno::INVAL | Errno::NOSYS) => match self.refuse_folded() {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => self.check()?,
            },
            Err(error) => return Err(error.into()),
        }
        storage::rename(folder, self.hidden(), self.name)
    }

    /// Gives a file without a name its final name. Replaces an existing file if that may be
    /// replaced.
    pub fn name(&self, file: &File) -> io::Result<()> {
        match link(file, self.folder(), self.name) {
            Ok(()) => return Ok(()),
            Err(Errno::EXIST) => self.check_existing()?,
            Err(error) => return Err(error.into()),
        }
        // Only rename(2) replaces a file, and it needs a name.
        self.hide(file)?;
        storage::rename(self.folder(), self.hidden(), self.name).inspect_err(|_| self.remove())
    }

    /// Gives a file without a name its hidden name. Locks the file first; otherwise another copy
    /// would take it for that of a killed agent and remove it.
    pub fn hide(&self, file: &File) -> io::Result<()> {
        lock::try_lock(file)?;
        Ok(link(file, self.folder(), self.hidden())?)
    }

    /// Removes the hidden name, if it exists.
    pub fn remove(&self) {
        // Fails if the name is gone already, which is usual.
        let _ = unlinkat(self.folder(), self.hidden(), AtFlags::empty());
    }
}

/// Links an open file without a name to `name`. Before Linux 6.10 an unprivileged process can do
/// that only through the file's entry in /proc.
fn link(file: &File, folder: &OwnedFd, name: &OsStr) -> rustix::io::Result<()> {
    match linkat(file, "", folder, name, AtFlags::EMPTY_PATH) {
        Err(Errno::NOENT | Errno::PERM) => {
            let entry = format!("/proc/self/fd/{}", file.as_raw_fd());
            linkat(CWD, entry, folder, name, AtFlags::SYMLINK_FOLLOW)
        }
        linked => linked,
    }
}

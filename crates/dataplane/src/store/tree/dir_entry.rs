//! A name in an open directory. No operation here follows a symbolic link out of the tree.

use std::cell::OnceCell;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use garland_core::tree::Meta;
use garland_protocol::copy::KeptStatus;
use garland_sys::{lock, storage};
use rustix::io::Errno;

use super::directory::Directory;
use super::metadata::Manner;
use super::saved_attributes::SavedAttributes;
use crate::store::file::unreplaceable;
use crate::store::left::partial_name;
use crate::store::replaced::Replaced;

/// An entry of a directory: the final name of a file, link or directory, and its hidden name.
pub struct DirEntry<'a> {
    directory: &'a Directory,
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
    /// What is set of the metadata of entries.
    pub manner: Manner,
    /// Whether files take disk space only as their bytes come.
    pub grows: bool,
}

impl<'a> DirEntry<'a> {
    /// Returns the entry `name` in a directory.
    pub fn new(directory: &'a Directory, name: &'a [u8], maker: &'a Maker) -> Self {
        let name = OsStr::from_bytes(name);
        Self { directory, name, maker, hidden: OnceCell::new() }
    }

    /// Returns whether the file takes disk space only as its bytes come.
    pub fn grows(&self) -> bool {
        self.maker.grows
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
        match self.directory.names.folded(self.folder(), self.name.as_bytes())? {
            None => Ok(()),
            Some(folded) => Err(io::Error::other(folded.to_string())),
        }
    }

    /// Records that the copy has put the entry in place, so that it replaces it under no other name
    /// that the file system takes for this one.
    pub fn note_placed(&self) {
        self.directory.names.note(self.folder(), self.name.as_bytes());
    }

    /// Returns the directory.
    pub fn folder(&self) -> &OwnedFd {
        &self.directory.folder
    }

    /// Returns the properties of the directory that are known so far.
    pub fn saved(&self) -> &SavedAttributes {
        &self.directory.saved
    }

    /// Returns the final name.
    pub fn final_name(&self) -> &OsStr {
        self.name
    }

    /// Returns what is set of the metadata of the entry.
    pub fn manner(&self) -> Manner {
        self.maker.manner
    }

    /// Returns the device number of the directory.
    pub fn disk(&self) -> u64 {
        self.directory.id.0
    }

    /// Learns the owner and mode of new files in the directory from `file`, which is one of them.
    pub fn learn(&self, file: &File) {
        self.saved().learn(self.folder(), file);
    }

    /// Returns the mode with which to create a file so that it has all of `meta` except the time;
    /// none if no mode achieves that, or if it is not known yet.
    pub fn initial_mode(&self, meta: &Meta) -> Option<u32> {
        let KeptStatus { modes, times, owners } = self.maker.manner.keeps;
        let is_known = modes && times && owners;
        is_known.then(|| self.saved().initial_mode(meta, self.maker.umask)).flatten()
    }

    /// Returns the name that the file has until it is complete.
    pub fn hidden(&self) -> &OsStr {
        self.hidden.get_or_init(|| partial_name(self.name, &self.maker.tag))
    }

    /// Renames the file from its hidden name to its final name. Replaces an existing file if that
    /// may be replaced.
    pub fn show(&self) -> io::Result<()> {
        self.rename().inspect(|()| self.note_placed())
    }

    fn rename(&self) -> io::Result<()> {
        let folder = self.folder();
        match storage::rename_new(folder, self.hidden(), self.name) {
            Ok(()) => return Ok(()),
            Err(Errno::EXIST) => self.check_existing()?,
            // The file system does not support NOREPLACE: check before the rename.
            Err(Errno::INVAL | Errno::NOSYS) => match self.refuse_folded() {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => self.check()?,
            },
            Err(error) => return Err(error.into()),
        }
        let _freed_later = Replaced::hold(folder, self.name);
        Ok(storage::rename(folder, self.hidden(), self.name)?)
    }

    /// Gives a file without a name its final name. Replaces an existing file if that may be
    /// replaced. Returns false if the file system gives no names to such files.
    pub fn name(&self, file: &File) -> io::Result<bool> {
        let has_name = match storage::name(file, self.folder(), self.name) {
            Err(Errno::EXIST) => {
                self.check_existing()?;
                // Only rename(2) replaces a file, and it needs a name.
                self.hide(file)? && self.replace().map(|()| true)?
            }
            named => is_named(named)?,
        };
        if has_name {
            self.note_placed();
        }
        Ok(has_name)
    }

    /// Replaces the existing file by that with the hidden name.
    fn replace(&self) -> io::Result<()> {
        let _freed_later = Replaced::hold(self.folder(), self.name);
        let renamed = storage::rename(self.folder(), self.hidden(), self.name);
        Ok(renamed.inspect_err(|_| self.remove())?)
    }

    /// Gives a file without a name its hidden name. Locks the file first; otherwise another copy
    /// would take it for that of a killed agent and remove it. Returns false if the file system
    /// gives no names to such files.
    pub fn hide(&self, file: &File) -> io::Result<bool> {
        lock::try_lock(file)?;
        is_named(storage::name(file, self.folder(), self.hidden()))
    }

    /// Removes the hidden name, if it exists.
    pub fn remove(&self) {
        // Fails if the name is gone already, which is usual.
        let _ = storage::remove(self.folder(), self.hidden());
    }
}

/// Returns whether a file without a name has got one; false if the file system has no links, or a
/// filter refuses them.
fn is_named(named: Result<(), Errno>) -> io::Result<bool> {
    match named {
        Ok(()) => Ok(true),
        // ENOENT: without /proc an unprivileged process of an older kernel has no way.
        Err(
            Errno::PERM
            | Errno::ACCESS
            | Errno::OPNOTSUPP
            | Errno::NOSYS
            | Errno::INVAL
            | Errno::XDEV
            | Errno::NOENT,
        ) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

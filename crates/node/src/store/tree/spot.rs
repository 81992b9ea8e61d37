//! A name in an open folder: nothing done by it can lead elsewhere.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;

use rustix::fs::{AtFlags, renameat, unlinkat};

use crate::store::file::unreplaceable;
use crate::store::partial_name;

/// The place of something that is to appear.
pub struct Spot<'a> {
    folder: &'a OwnedFd,
    name: &'a OsStr,
    hidden: OsString,
}

impl<'a> Spot<'a> {
    /// The place `name` in `folder`; what isn't whole has a hidden name with `tag` in it.
    pub fn new(folder: &'a OwnedFd, name: &'a [u8], tag: &str) -> Self {
        let name = OsStr::from_bytes(name);
        Self { folder, name, hidden: partial_name(name, tag) }
    }

    /// Looks that nothing is there but what a file may replace.
    ///
    /// # Errors
    /// When there is, or nobody can say.
    pub fn look(&self) -> io::Result<()> {
        match unreplaceable(self.folder, self.name)? {
            None => Ok(()),
            Some(is) => Err(io::Error::other(format!("{is}, and isn't replaced"))),
        }
    }

    /// The folder.
    pub fn folder(&self) -> &OwnedFd {
        self.folder
    }

    /// The name that it has until it is whole.
    pub fn hidden(&self) -> &OsStr {
        &self.hidden
    }

    /// Gives it its name.
    pub fn show(&self) -> io::Result<()> {
        Ok(renameat(self.folder, &self.hidden, self.folder, self.name)?)
    }

    /// Removes what has the hidden name.
    pub fn remove(&self) {
        // Mostly it is gone already.
        let _ = unlinkat(self.folder, &self.hidden, AtFlags::empty());
    }
}

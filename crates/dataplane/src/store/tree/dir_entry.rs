//! A name in an open folder: nothing done by it can lead elsewhere.

use std::cell::OnceCell;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;

use garland_core::tree::Meta;
use garland_sys::lock;
use rustix::fs::{AtFlags, CWD, RenameFlags, linkat, renameat, renameat_with, unlinkat};
use rustix::io::Errno;

use crate::store::file::unreplaceable;
use crate::store::partial_name;
use crate::store::tree::saved_attributes::SavedAttributes;

/// A folder, and what is known of it.
#[derive(Clone, Copy)]
pub struct Ground<'a> {
    /// The folder.
    pub folder: &'a OwnedFd,
    /// Its habits.
    pub nature: &'a SavedAttributes,
}

/// The place of something that is to appear.
pub struct DirEntry<'a> {
    ground: Ground<'a>,
    name: &'a OsStr,
    maker: &'a Maker,
    hidden: OnceCell<OsString>,
}

/// Who makes what appears.
#[derive(Debug)]
pub struct Maker {
    /// Is in the hidden names of what isn't whole.
    pub tag: String,
    /// What the process takes off the modes of new files.
    pub umask: u32,
}

impl<'a> DirEntry<'a> {
    /// The place `name` on this ground.
    pub fn new(ground: Ground<'a>, name: &'a [u8], maker: &'a Maker) -> Self {
        Self { ground, name: OsStr::from_bytes(name), maker, hidden: OnceCell::new() }
    }

    /// Looks that nothing is there but what a file may replace.
    ///
    /// # Errors
    /// When there is, or nobody can say.
    pub fn look(&self) -> io::Result<()> {
        match unreplaceable(self.folder(), self.name)? {
            None => Ok(()),
            Some(is) => Err(io::Error::other(format!("{is}, and isn't replaced"))),
        }
    }

    /// The same where something is there, by this name or by one that the file system takes for it:
    /// that would be lost.
    ///
    /// # Errors
    /// When it isn't to be replaced, or nobody can say.
    pub fn look_at_what_is_there(&self) -> io::Result<()> {
        self.look()?;
        self.refuse_folded()
    }

    /// Looks that what is there has this very name.
    ///
    /// # Errors
    /// When it has another one, or nobody can say.
    pub fn refuse_folded(&self) -> io::Result<()> {
        match self.nature().folded(self.folder(), self.name.as_bytes())? {
            None => Ok(()),
            Some(other) => {
                let other = String::from_utf8_lossy(&other).into_owned();
                let message =
                    format!("its file system takes this name for {other}, which is there");
                Err(io::Error::other(message))
            }
        }
    }

    /// The folder.
    pub fn folder(&self) -> &OwnedFd {
        self.ground.folder
    }

    /// What is known of the folder.
    pub fn nature(&self) -> &SavedAttributes {
        self.ground.nature
    }

    /// Takes a look at a file that was made here.
    pub fn learn(&self, file: &File) {
        self.nature().learn(self.folder(), file);
    }

    /// The mode to make a file with, where that gives it all of `meta` but its time.
    pub fn mode_at_birth(&self, meta: &Meta) -> Option<u32> {
        self.nature().mode_at_birth(meta, self.maker.umask)
    }

    /// The name that it has until it is whole.
    pub fn hidden(&self) -> &OsStr {
        self.hidden.get_or_init(|| partial_name(self.name, &self.maker.tag))
    }

    /// Gives what has the hidden name its own.
    pub fn show(&self) -> io::Result<()> {
        let folder = self.folder();
        match renameat_with(folder, self.hidden(), folder, self.name, RenameFlags::NOREPLACE) {
            Ok(()) => return Ok(()),
            Err(Errno::EXIST) => self.look_at_what_is_there()?,
            // Not every file system knows how; then it is looked at in any case.
            Err(Errno::INVAL | Errno::NOSYS) => match self.refuse_folded() {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => self.look()?,
            },
            Err(error) => return Err(error.into()),
        }
        Ok(renameat(folder, self.hidden(), folder, self.name)?)
    }

    /// Gives a file that has none its name.
    pub fn name(&self, file: &File) -> io::Result<()> {
        match link(file, self.folder(), self.name) {
            Ok(()) => return Ok(()),
            Err(Errno::EXIST) => self.look_at_what_is_there()?,
            Err(error) => return Err(error.into()),
        }
        // Only what has a name can replace another.
        self.hide(file)?;
        renameat(self.folder(), self.hidden(), self.folder(), self.name).map_err(|error| {
            self.remove();
            error.into()
        })
    }

    /// Gives a file that has none the hidden name, and locks it before: nobody takes it for what a
    /// killed agent left.
    pub fn hide(&self, file: &File) -> io::Result<()> {
        lock::try_lock(file)?;
        Ok(link(file, self.folder(), self.hidden())?)
    }

    /// Removes what has the hidden name.
    pub fn remove(&self) {
        // Mostly it is gone already.
        let _ = unlinkat(self.folder(), self.hidden(), AtFlags::empty());
    }
}

/// Gives an open file without a name one. Before Linux 6.10 only a privileged process may do so by
/// the descriptor itself, any other by its entry in /proc.
fn link(file: &File, folder: &OwnedFd, name: &OsStr) -> rustix::io::Result<()> {
    match linkat(file, "", folder, name, AtFlags::EMPTY_PATH) {
        Err(Errno::NOENT | Errno::PERM) => {
            let entry = format!("/proc/self/fd/{}", file.as_raw_fd());
            linkat(CWD, entry, folder, name, AtFlags::SYMLINK_FOLLOW)
        }
        linked => linked,
    }
}

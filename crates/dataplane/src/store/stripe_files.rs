//! The files of a stripe: the stripe itself, its manifest, and the older pair that they replace.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use garland_core::plan::ASIDE;
use garland_core::printable;
use garland_sys::storage;
use rustix::fs::{AtFlags, Dir, statat};
use rustix::io::Errno;

use super::directory::OpenDirectory;
use super::file::{FileStore, Metadata, Size};
use super::left::remove_stale;
use super::{Store, StoreError};
use crate::recorder::Collector;

/// The suffix that is appended to the name of a stripe to name its manifest.
pub const MANIFEST: &str = ".toml";

/// The names of a stripe's files, and their directory.
pub struct StripeFiles {
    folder: OwnedFd,
    folder_path: PathBuf,
    /// The part of the stripe's name after the name of the striped file.
    suffix: OsString,
    /// The name of the stripe.
    stripe: OsString,
    /// The name of the manifest.
    manifest: OsString,
    /// The copy's tag, which is part of the names of files that are set aside.
    tag: String,
    /// The metadata of the manifest.
    metadata: Metadata,
    /// Takes a line on each older file that cannot be restored or removed.
    log: fn(&str),
}

/// Which files of the older pair were set aside, that is, linked to further names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aside {
    stripe: bool,
    manifest: bool,
}

impl StripeFiles {
    /// Returns the files of the stripe `file`, whose name ends in `suffix`. `log` takes a line on
    /// each older file that cannot be restored or removed.
    pub fn new(
        file: &FileStore,
        suffix: &str,
        tag: &str,
        log: fn(&str),
    ) -> Result<Self, StoreError> {
        let opened = file.directory();
        let (folder, folder_path) = opened
            .map_err(|error| StoreError::path("open the directory of", file.name(), &error))?;
        let stripe = file.file_name().to_owned();
        let manifest = joined(&[stripe.as_bytes(), MANIFEST.as_bytes()]);
        let metadata = Metadata { keeps_mode: false, times: None, ..file.metadata() };
        let suffix = OsString::from(suffix);
        let tag = tag.to_owned();
        Ok(Self { folder, folder_path, suffix, stripe, manifest, tag, metadata, log })
    }

    /// Writes `bytes` as the manifest under a hidden name, and makes it stable if the stripe is
    /// made stable.
    pub fn prepare(&self, bytes: &[u8], trace: &Collector) -> Result<FileStore, StoreError> {
        let error = |error: io::Error| self.error("write", &self.manifest, &error);
        let folder = self.folder.try_clone().map_err(error)?;
        let name = self.manifest.clone();
        let size = Size::whole(bytes.len() as u64);
        remove_stale(&folder, &name);
        let directory = OpenDirectory::new(folder, self.folder_path.clone());
        let file = FileStore::create_in(directory, name, size, &self.tag, None)?;
        let file = file.with(self.metadata);
        file.write_at(0, bytes).map_err(error)?;
        file.prepare(trace)?;
        Ok(file)
    }

    /// Removes the manifest from its final name, if it exists.
    pub fn remove(&self) -> Result<(), StoreError> {
        self.unlink(&self.manifest)
            .map_err(|error| self.error("remove the old", &self.manifest, &error.into()))
    }

    /// Links the current stripe and manifest, as far as they exist, to further names. After an
    /// error neither has a further name.
    pub fn set_aside(&self) -> Result<Aside, StoreError> {
        let mut aside = Aside { stripe: false, manifest: false };
        let mut keep = || -> io::Result<()> {
            aside.stripe = self.link(&self.stripe, &self.aside_name(&self.stripe))?;
            aside.manifest = self.link(&self.manifest, &self.aside_name(&self.manifest))?;
            self.sync()
        };
        let kept = keep();
        kept.map(|()| aside).map_err(|error| {
            let pair = [(&self.stripe, aside.stripe), (&self.manifest, aside.manifest)];
            for (name, _) in pair.into_iter().filter(|(_, is_aside)| *is_aside) {
                let aside = self.aside_name(name);
                // rename(2) does nothing if both names are links to one file: remove the second.
                let _ = storage::rename(&self.folder, &aside, name);
                let _ = self.unlink(&aside);
            }
            self.error("keep the old", &self.stripe, &error)
        })
    }

    /// Restores the files that were set aside, and removes those that replaced them. Errors are
    /// logged.
    pub fn bring_back(&self, aside: Aside) {
        let pair = [(&self.stripe, aside.stripe), (&self.manifest, aside.manifest)];
        let back = || -> io::Result<()> {
            // Remove the manifest first and restore it last: it must never describe another stripe.
            pair.iter().rev().try_for_each(|(name, _)| self.unlink(name))?;
            for (name, _) in pair.iter().filter(|(_, is_aside)| *is_aside) {
                self.link(&self.aside_name(name), name)?;
            }
            self.sync()?;
            Ok(pair.iter().rev().try_for_each(|(name, _)| self.unlink(&self.aside_name(name)))?)
        };
        if let Err(error) = back() {
            let stripe = self.folder_path.join(&self.stripe);
            let error = garland_sys::error::reason(&error);
            (self.log)(&format!("cannot restore the old {}: {error}", printable::path(&stripe)));
        }
    }

    /// Removes all files of this stripe that copies have set aside, manifests first. Errors are
    /// logged.
    pub fn remove_asides(&self) {
        let Ok(entries) = Dir::read_from(&self.folder) else { return };
        let names = entries.flatten().map(|entry| entry.file_name().to_bytes().to_vec());
        let mut names: Vec<Vec<u8>> = names.filter(|name| self.is_aside(name)).collect();
        names.sort_by_key(|name| !name.ends_with(MANIFEST.as_bytes()));
        for name in names {
            if let Err(error) = self.unlink(OsStr::from_bytes(&name)) {
                let path = self.folder_path.join(OsStr::from_bytes(&name));
                let error = garland_sys::error::reason(&error.into());
                (self.log)(&format!("cannot remove the old {}: {error}", printable::path(&path)));
            }
        }
    }

    /// Returns the name of the striped file.
    fn file_name(&self) -> &[u8] {
        let stripe = self.stripe.as_bytes();
        stripe.strip_suffix(self.suffix.as_bytes()).unwrap_or(stripe)
    }

    /// Returns the name under which the stripe or manifest `name` is set aside.
    fn aside_name(&self, name: &OsStr) -> OsString {
        let file = self.file_name();
        let end = name.as_bytes().strip_prefix(file).unwrap_or_default();
        joined(&[file, ASIDE.as_bytes(), self.tag.as_bytes(), end])
    }

    fn is_aside(&self, name: &[u8]) -> bool {
        let behind = name.strip_prefix(self.file_name());
        let behind = behind.and_then(|rest| rest.strip_prefix(ASIDE.as_bytes()));
        let tag = behind.and_then(|rest| {
            let rest = rest.strip_suffix(MANIFEST.as_bytes()).unwrap_or(rest);
            rest.strip_suffix(self.suffix.as_bytes())
        });
        tag.is_some_and(|tag| tag.len() == self.tag.len() && tag.iter().all(u8::is_ascii_hexdigit))
    }

    /// Links the file `from` to the name `to`, or renames it where links are not supported. Returns
    /// false if `from` does not exist.
    fn link(&self, from: &OsStr, to: &OsStr) -> Result<bool, Errno> {
        let folder = &self.folder;
        if let Err(Errno::NOENT) = statat(folder, from, AtFlags::SYMLINK_NOFOLLOW) {
            return Ok(false);
        }
        match storage::link(folder, from, to) {
            Ok(()) => Ok(true),
            Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK) => {
                storage::rename(folder, from, to).map(|()| true)
            }
            Err(error) => Err(error),
        }
    }

    fn unlink(&self, name: &OsStr) -> Result<(), Errno> {
        match storage::remove(&self.folder, name) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn sync(&self) -> io::Result<()> {
        if self.metadata.fsync {
            storage::sync(&self.folder)?;
        }
        Ok(())
    }

    fn error(&self, operation: &'static str, name: &OsStr, error: &io::Error) -> StoreError {
        StoreError::path(operation, printable::path(self.folder_path.join(name)), error)
    }
}

fn joined(parts: &[&[u8]]) -> OsString {
    OsString::from_vec(parts.concat())
}

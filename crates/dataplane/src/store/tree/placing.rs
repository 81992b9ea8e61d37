//! Puts the entries of a tree in place, one after the other in the order of the stream.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use garland_core::tree::Meta;
use garland_protocol::copy::content_digest;
use garland_sys::error::of_new_entry;
use garland_sys::storage;
use rustix::fs::{AtFlags, fstat, linkat, symlinkat};
use rustix::io::Errno;

use super::dir_entry::{DirEntry, Maker};
use super::directory::{self, Directory};
use super::metadata::{Manner, OtherLists, apply, apply_changes, apply_to_link};
use super::partial::PartialFile;
use super::proofs::Proofs;
use super::sweep::{Sweeper, Swept};
use super::trouble::Troubles;
use crate::attributes;
use crate::store::file::give_access;
use crate::store::unset::Unset;
use crate::store::{access, freeing, left};
use crate::tree::open_file;

/// The maximum number of failed files with further hard links. If there are more, the copy fails.
const FAILED_MAX: usize = 10_000;

/// The failed files that have further hard links later in the stream, by the digests of their
/// paths: a path takes 32 bytes, however long a node makes it.
#[derive(Default)]
pub struct FailedFiles(HashSet<[u8; 32]>);

/// Something that is to be done in a directory, or with it.
pub struct Step {
    pub directory: Arc<Directory>,
    pub act: Act,
}

/// What a step does. Later steps may depend on it.
pub enum Act {
    /// Gives a complete file its final name. `number` is that of its record, `applied` tells
    /// whether it has got its metadata.
    Show { partial: PartialFile, number: u32, applied: io::Result<()> },
    /// Creates a symbolic link.
    Link { name: Vec<u8>, meta: Meta, target: Vec<u8> },
    /// Creates a hard link to the file with the path `first`.
    Name { name: Vec<u8>, first: Vec<Vec<u8>> },
    /// Removes what is not in the tree.
    Sweep(Swept),
    /// Gives the directory its metadata, after everything in it.
    Leave(Meta),
}

/// What became of a further name of a file.
enum Named {
    /// A hard link.
    Linked,
    /// A copy of the file, and whether it got all metadata.
    Copied(io::Result<()>),
}

/// A copy of a file under a hidden name, which is locked as long as it is open.
struct Copied {
    _file: File,
    applied: io::Result<()>,
}

/// Puts entries in place, and collects errors that affect only one entry.
pub struct Placer {
    pub maker: Maker,
    pub top: Arc<Directory>,
    /// Whether a file is made stable before it gets its name.
    pub syncs: bool,
    /// Removes files that are not in the tree, if that was requested.
    pub sweeper: Option<Sweeper>,
    /// The digests of all files, if they are to be read back.
    pub proofs: Option<Proofs>,
    pub troubles: Troubles,
    /// The failed files that have further hard links later in the stream.
    pub failed: FailedFiles,
}

impl FailedFiles {
    /// Records the file at `path`.
    ///
    /// # Errors
    /// When there are too many.
    fn note(&mut self, path: &[u8]) -> io::Result<()> {
        self.0.insert(content_digest(path));
        if self.0.len() > FAILED_MAX {
            let message = format!("more than {FAILED_MAX} files with hard links failed");
            return Err(io::Error::other(message));
        }
        Ok(())
    }

    /// Returns whether the file at `path` has failed.
    fn contain(&self, path: &[u8]) -> bool {
        self.0.contains(&content_digest(path))
    }
}

impl Step {
    /// Returns the entry that the step changes, if it is one: its directory and its name.
    pub fn place(&self) -> Option<(&Directory, &[u8])> {
        match &self.act {
            Act::Show { partial, .. } => Some((&self.directory, &partial.name)),
            Act::Link { name, .. } | Act::Name { name, .. } => Some((&self.directory, name)),
            Act::Leave(_) => Some((self.directory.above.as_deref()?, &self.directory.name)),
            Act::Sweep(_) => None,
        }
    }
}

impl Placer {
    /// Does a step. An error that affects only one entry is recorded.
    ///
    /// # Errors
    /// When an error occurs that affects the rest of the tree, too, such as a full disk.
    pub fn place(&mut self, step: Step) -> io::Result<()> {
        let Step { directory, act } = step;
        match act {
            Act::Show { partial, applied, .. } => self.show(&directory, partial, applied),
            Act::Link { name, meta, target } => {
                let (disk, _) = directory.id;
                let link = || self.link(&directory, &name, &meta, &target);
                match freeing::with_room(disk, link) {
                    Ok(unset) => self.note_unset(&directory, &name, unset.none()),
                    Err(error) => self.note(&directory, &name, &error),
                }
            }
            Act::Name { name, first } => {
                let (disk, _) = directory.id;
                let hard_link = || self.name(&directory, &name, &first);
                let named = match freeing::with_room(disk, hard_link) {
                    // The hidden name is not locked: another copy into the same directory may have
                    // removed it as that of a killed agent.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => hard_link(),
                    named => named,
                };
                match named {
                    Ok(Named::Linked) => Ok(()),
                    Ok(Named::Copied(applied)) => {
                        let told = "it is a copy, since the file system refuses a hard link";
                        self.note_unset(&directory, &name, Err(io::Error::other(told)))?;
                        self.note_unset(&directory, &name, applied)
                    }
                    Err(error) => self.note(&directory, &name, &error),
                }
            }
            Act::Sweep(swept) => {
                let Some(sweeper) = &mut self.sweeper else { return Ok(()) };
                let stays = directory.stays();
                let path = directory.path_of(b"");
                sweeper.sweep(&swept, stays, &directory.folder, &path, &mut self.troubles)
            }
            Act::Leave(meta) => {
                let manner = self.maker.manner;
                let applied = apply_changes(&directory.folder, &meta, manner);
                if !manner.keeps.modes {
                    // Nobody asked for it: where all directories have the same one, that is no
                    // fault.
                    let _ = access::set(&directory.folder, meta.mode);
                }
                match &directory.above {
                    Some(above) => self.note_unset(above, &directory.name, applied),
                    None => self.note_unset(&directory, b".", applied),
                }
            }
        }
    }

    /// Drops a step that is not done: a file loses its hidden name.
    pub fn discard(&self, step: &Step) {
        if let Act::Show { partial, .. } = &step.act {
            partial.remove(&self.entry(&step.directory, &partial.name));
        }
    }

    /// Returns the entry `name` of a directory.
    pub fn entry<'a>(&'a self, directory: &'a Directory, name: &'a [u8]) -> DirEntry<'a> {
        DirEntry::new(directory, name, &self.maker)
    }

    fn show(
        &mut self,
        directory: &Directory,
        mut partial: PartialFile,
        applied: io::Result<()>,
    ) -> io::Result<()> {
        let entry = self.entry(directory, &partial.name);
        if let Err(error) = partial.show(&entry) {
            partial.remove(&entry);
            return self.give_up(directory, &partial.name, partial.linked, &error);
        }
        if let (Some(proofs), Some((length, digest))) = (&mut self.proofs, partial.digest()) {
            proofs.note(&directory.path_of(&partial.name), length, digest)?;
        }
        self.note_unset(directory, &partial.name, applied)
    }

    /// Creates a symbolic link. Returns what of its metadata was refused.
    fn link(
        &self,
        within: &Directory,
        name: &[u8],
        meta: &Meta,
        target: &[u8],
    ) -> io::Result<Unset> {
        let entry = self.entry(within, name);
        entry.check()?;
        symlinkat(target, entry.folder(), entry.hidden()).map_err(|error| match error {
            Errno::NOSYS | Errno::OPNOTSUPP => {
                io::Error::other("the file system has no symbolic links")
            }
            error => of_new_entry(entry.folder(), error),
        })?;
        let applied = apply_to_link(entry.folder(), entry.hidden(), meta, entry.manner().keeps);
        let shown = applied.and_then(|unset| entry.show().map(|()| unset));
        shown.inspect_err(|_| entry.remove())
    }

    fn name(&self, within: &Directory, name: &[u8], first: &[Vec<u8>]) -> io::Result<Named> {
        let (Some((last, above)), false) =
            (first.split_last(), self.failed.contain(&first.join(&b'/')))
        else {
            return Err(io::Error::other("cannot create the hard link: its target is missing"));
        };
        let folder = directory::descend(&self.top.folder, above.iter().map(Vec::as_slice))?;
        let entry = self.entry(within, name);
        entry.check()?;
        let linked =
            linkat(&folder, last.as_slice(), entry.folder(), entry.hidden(), AtFlags::empty());
        let named = match linked {
            Ok(()) => entry.show().map(|()| Named::Linked),
            // What file systems say that have no hard links, or of a file that has too many.
            Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK) => {
                copy(&folder, last, &entry, self.syncs).and_then(|copied| {
                    entry.show()?;
                    Ok(Named::Copied(copied.applied))
                })
            }
            Err(error) => Err(error.into()),
        };
        // rename(2) leaves the hidden name in place if both names are links to one file already.
        entry.remove();
        named
    }

    /// Records that the file `name` cannot be put in place. If it is `linked`, neither can its hard
    /// links that follow in the stream.
    ///
    /// # Errors
    /// When the error affects the rest of the tree, too, or too many files with hard links failed.
    pub fn give_up(
        &mut self,
        directory: &Directory,
        name: &[u8],
        linked: bool,
        error: &io::Error,
    ) -> io::Result<()> {
        if linked {
            self.failed.note(&directory.path_of(name))?;
        }
        self.note(directory, name, error)
    }

    /// Records that the entry `name` is in place without all of its metadata, if `applied` is an
    /// error.
    ///
    /// # Errors
    /// When the error affects the rest of the tree, too.
    pub fn note_unset(
        &mut self,
        directory: &Directory,
        name: &[u8],
        applied: io::Result<()>,
    ) -> io::Result<()> {
        applied.or_else(|error| self.troubles.note(&directory.path_of(name), &error))
    }

    /// Records an error of the entry `name`, so that nothing is removed from its directory.
    ///
    /// # Errors
    /// When the error affects the rest of the tree, too.
    pub fn note(
        &mut self,
        directory: &Directory,
        name: &[u8],
        error: &io::Error,
    ) -> io::Result<()> {
        directory.set_stays();
        self.troubles.note(&directory.path_of(name), error)
    }
}

/// Copies the file `name` in `folder`, with its metadata, to the hidden name of `entry`, and makes
/// the copy stable if it `syncs`.
fn copy(folder: &OwnedFd, name: &[u8], entry: &DirEntry<'_>, syncs: bool) -> io::Result<Copied> {
    let mut from = open_file(folder, name)?;
    let stat = fstat(&from)?;
    let meta = Meta {
        mode: stat.st_mode & 0o7777,
        owner: (stat.st_uid, stat.st_gid),
        modified: attributes::modified_time(&stat),
        attributes: attributes::read(&from)?,
    };
    let mut file = left::create(entry.folder(), entry.hidden())?;
    let copied = io::copy(&mut from, &mut file).and_then(|_| {
        let manner = Manner { lists: OtherLists::Go, ..entry.manner() };
        let mut applied = apply(&file, &meta, manner);
        if !manner.keeps.modes {
            let given = give_access(&file, entry.folder(), entry.final_name(), meta.mode)?;
            applied = applied.and(given.none());
        }
        if syncs {
            storage::sync(&file)?;
        }
        Ok(applied)
    });
    match copied {
        Ok(applied) => Ok(Copied { _file: file, applied }),
        Err(error) => {
            entry.remove();
            Err(error)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_files_are_known_by_their_paths_and_are_not_too_many() {
        let mut failed = FailedFiles::default();
        let path = |number: usize| format!("{number}/{}", "x".repeat(2000)).into_bytes();
        // Twice the same file is one.
        failed.note(&path(0)).unwrap();
        (0..FAILED_MAX).for_each(|number| failed.note(&path(number)).unwrap());
        assert!(failed.contain(&path(7)) && !failed.contain(&path(FAILED_MAX)));
        assert!(!failed.contain(&path(7)[..2000]), "the beginning of a path is another one");
        let more = failed.note(&path(FAILED_MAX)).unwrap_err();
        assert_eq!(more.to_string(), "more than 10000 files with hard links failed");
    }
}

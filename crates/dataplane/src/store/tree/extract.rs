//! Applies the records of a tree's stream.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use garland_core::tree::{Meta, Record};
use garland_sys::{process, storage};
use rustix::fs::{AtFlags, Mode, fstat, linkat, mkdirat, symlinkat};
use rustix::io::Errno;

use super::dir_entry::{DirEntry, Maker};
use super::directory::{self, OWNER};
use super::keep::{Kept, Linked};
use super::metadata::{apply, apply_to_link};
use super::partial::PartialFile;
use super::previous::PreviousTree;
use super::proofs::Proofs;
use super::saved_attributes::SavedAttributes;
use super::sweep::Sweeper;
use super::trouble::Troubles;
use crate::store::left::remove_all_stale;
use crate::tree::open_directory;

/// The maximum number of file systems in `devices`, which are made stable at the end.
const DEVICES: usize = 64;

/// The maximum number of failed files with further hard links. If there are more, the copy fails.
const FAILED: usize = 10_000;

/// Extracts the records of a tree into a directory. The memory that it needs grows with the depth
/// of the tree, not with its size.
pub struct TreeExtractor {
    maker: Maker,
    top: OwnedFd,
    top_saved: SavedAttributes,
    top_meta: Option<Meta>,
    /// The open directories, from the top down to the current one.
    folders: Vec<Inside>,
    /// The number of directories at the end of the current path that are skipped, because the
    /// outermost of them could not be created.
    skipped: usize,
    partial: Option<PartialFile>,
    /// The number of the current record.
    number: u32,
    /// The files of the tree that were in place before the copy.
    old: Option<Arc<PreviousTree>>,
    /// The current file, if it is kept and its bytes are skipped.
    kept: Option<Kept>,
    linked: Linked,
    /// Removes files that are not in the tree, if that was requested.
    sweeper: Option<Sweeper>,
    /// The number of files and directories that were removed.
    removed: Arc<AtomicU64>,
    /// Paths of failed files that have further hard links later in the stream.
    failed: BTreeSet<Vec<u8>>,
    /// An open directory on each file system that was written to, by device number.
    devices: BTreeMap<u64, OwnedFd>,
    /// The digests of all files, if they are to be read back.
    proofs: Option<Proofs>,
    troubles: Troubles,
}

struct Inside {
    folder: OwnedFd,
    saved: SavedAttributes,
    name: Vec<u8>,
    meta: Meta,
}

impl TreeExtractor {
    /// Returns an extractor into the directory `top` that keeps the files of `old`, if they are
    /// unchanged. Hidden names of partial files contain `tag`. If `verify` is set, records the
    /// digests of all files, which [`Self::prove`] compares with the medium. Removes stale partial
    /// files from `top`.
    ///
    /// # Errors
    /// When the file for the digests cannot be created.
    pub fn new(
        top: OwnedFd,
        tag: &str,
        old: Option<Arc<PreviousTree>>,
        verify: bool,
    ) -> io::Result<Self> {
        remove_all_stale(&top);
        let mut extractor = Self {
            maker: Maker { tag: tag.to_owned(), umask: process::umask() },
            top_saved: SavedAttributes::default(),
            top_meta: None,
            folders: Vec::new(),
            skipped: 0,
            partial: None,
            number: 0,
            old,
            kept: None,
            linked: Linked::default(),
            sweeper: None,
            removed: Arc::default(),
            failed: BTreeSet::new(),
            devices: BTreeMap::new(),
            proofs: verify.then(|| Proofs::create(&top, tag)).transpose()?,
            troubles: Troubles::default(),
            top,
        };
        if let Ok(top) = extractor.top.try_clone() {
            extractor.remember(&top);
        }
        Ok(extractor)
    }

    /// Returns the file that is being written, if any: its record number, the file, and the number
    /// of bytes written so far.
    ///
    /// # Errors
    /// When the process has no file descriptors left.
    pub fn partial(&self) -> io::Result<Option<(u32, File, u64)>> {
        let Some(partial) = &self.partial else { return Ok(None) };
        let (file, there) = partial.reader()?;
        Ok(Some((self.number, file, there)))
    }

    /// Returns whether a file is being written, so that the next bytes are needed and not skipped.
    pub fn needs_bytes(&self) -> bool {
        self.partial.is_some()
    }

    /// Sets the number of the record that is applied next.
    pub fn set_record(&mut self, number: u32) {
        self.number = number;
    }

    /// Applies a record. An error that affects only one entry is recorded.
    ///
    /// # Errors
    /// When an error occurs that affects the rest of the tree, too, such as a full disk.
    pub fn apply(&mut self, record: Record) -> io::Result<()> {
        if self.skipped > 0 {
            match record {
                Record::Enter { .. } => self.skipped += 1,
                Record::Leave => self.skipped -= 1,
                _ => {}
            }
            return Ok(());
        }
        record.name().into_iter().for_each(|name| self.keep(name));
        match record {
            Record::Spare(spared) => {
                self.sweeper = Some(Sweeper::new(&spared, Arc::clone(&self.removed)));
            }
            Record::Sweep => self.sweep()?,
            Record::Top(meta) => self.top_meta = Some(meta),
            Record::Enter { name, meta } => match self.enter(&name) {
                Ok(folder) => {
                    let saved = SavedAttributes::default();
                    self.folders.push(Inside { folder, saved, name, meta });
                    self.sweeper.iter_mut().for_each(Sweeper::enter);
                }
                Err(error) => {
                    self.skipped = 1;
                    self.note(&name, &error)?;
                }
            },
            Record::Leave => {
                self.sweeper.iter_mut().for_each(Sweeper::leave);
                if let Some(Inside { folder, name, meta, .. }) = self.folders.pop() {
                    let applied = apply(&folder, &meta);
                    self.note_if(&name, applied)?;
                }
            }
            Record::File { name, meta, linked, .. } if self.keeps(&name, &meta, linked) => {}
            Record::File { name, meta, length, sparse, linked } => {
                let entry = self.entry(&name);
                match PartialFile::create(&entry, &name, meta, length, (sparse, linked)) {
                    Ok(partial) => self.partial = Some(partial.digested(self.proofs.is_some())),
                    Err(error) => self.give_up(&name, linked, &error)?,
                }
            }
            Record::Link { name, meta, target } => {
                let linked = self.link(&name, &meta, &target);
                self.note_if(&name, linked)?;
            }
            Record::Name { name, first } => {
                let named = match self.name(&name, &first) {
                    // The hidden name is not locked: another copy into the same directory may have
                    // removed it as that of a killed agent.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        self.name(&name, &first)
                    }
                    named => named,
                };
                self.note_if(&name, named)?;
            }
            Record::End => {
                if let Some(meta) = self.top_meta.take() {
                    let applied = apply(&self.top, &meta);
                    self.note_if(b".", applied)?;
                }
            }
        }
        Ok(())
    }

    /// Records that `name` in the current directory is part of the tree, so that it is not removed.
    pub fn keep(&mut self, name: &[u8]) {
        if self.skipped == 0 {
            self.sweeper.iter_mut().for_each(|sweeper| sweeper.keep(name));
        }
    }

    /// Returns the counter of removed files and directories.
    pub fn removed(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.removed)
    }

    fn sweep(&mut self) -> io::Result<()> {
        let path = self.path_of(b"");
        let folder = self.folders.last().map_or(&self.top, |inside| &inside.folder);
        let Some(sweeper) = &self.sweeper else { return Ok(()) };
        sweeper.sweep(folder, &path, &mut self.troubles)
    }

    /// Decides whether the file of the current record is in place already and is kept. Returns true
    /// if so. If files are to be read back, all are written: earlier reads may have come from the
    /// page cache.
    fn keeps(&mut self, name: &[u8], meta: &Meta, linked: bool) -> bool {
        let old = self.old.as_ref().filter(|_| self.proofs.is_none());
        let Some(stamp) = old.and_then(|old| old.kept(self.number)) else { return false };
        let mut others = std::mem::take(&mut self.linked);
        let entry = self.entry(name);
        let kept = Kept::find(&entry, name, meta, stamp, (linked, &mut others));
        (self.kept, self.linked) = (kept, others);
        self.kept.is_some()
    }

    /// Writes the next bytes of the current file. Does nothing if the file could not be created or
    /// is kept.
    ///
    /// # Errors
    /// When an error occurs that affects the rest of the tree, too, such as a full disk.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(partial) = &mut self.partial else { return Ok(()) };
        let Err(error) = partial.write(bytes) else { return Ok(()) };
        let (name, linked) = (partial.name.clone(), partial.linked);
        self.abandon();
        self.give_up(&name, linked, &error)
    }

    /// Ends the current file. Gives it its metadata and its final name if it is `whole`, else
    /// removes it.
    ///
    /// # Errors
    /// When an error occurs that affects the rest of the tree, too, such as a full disk.
    pub fn finish(&mut self, whole: bool) -> io::Result<()> {
        if !whole {
            self.abandon();
        }
        if let Some(kept) = self.kept.take() {
            return self.note_if(&kept.name, kept.apply_metadata());
        }
        let Some(mut partial) = self.partial.take() else { return Ok(()) };
        let entry = self.entry(&partial.name);
        let ended = partial.end();
        // A file without all of its metadata is put in place, and reported.
        let applied = partial.apply_metadata();
        let shown = ended.and_then(|()| partial.show(&entry));
        if let Err(error) = shown {
            partial.remove(&entry);
            return self.give_up(&partial.name, partial.linked, &error);
        }
        self.remember_digest(&mut partial)?;
        self.note_if(&partial.name, applied)
    }

    /// Records the digest of a complete file, if files are to be read back.
    fn remember_digest(&mut self, partial: &mut PartialFile) -> io::Result<()> {
        let path = self.path_of(&partial.name);
        let (Some(proofs), Some((length, digest))) = (&mut self.proofs, partial.digest()) else {
            return Ok(());
        };
        proofs.note(&path, length, digest)
    }

    /// Makes all files stable and, if requested, reads them back from the medium. Records an error
    /// for each file that differs.
    ///
    /// # Errors
    /// When the digests cannot be read.
    pub fn prove(&mut self, over: &dyn Fn() -> bool) -> io::Result<()> {
        self.make_stable()?;
        let Some(proofs) = &mut self.proofs else { return Ok(()) };
        proofs.check(&self.top, over, &mut self.troubles)
    }

    /// Removes the file that is being written, if any.
    pub fn abandon(&mut self) {
        self.kept = None;
        if let Some(partial) = self.partial.take() {
            partial.remove(&self.entry(&partial.name));
        }
    }

    /// Makes all files stable. One syncfs(2) per file system takes a fraction of the time of an
    /// fsync(2) for each file.
    ///
    /// # Errors
    /// When a file system cannot be synced.
    pub fn make_stable(&self) -> io::Result<()> {
        self.devices.values().try_for_each(storage::sync_file_system)
    }

    /// Succeeds if all files and directories of the tree are in place.
    ///
    /// # Errors
    /// When there were errors; contains the texts of the first ones, and the number of all.
    pub fn troubles(&self) -> Result<(), String> {
        self.troubles.none()
    }

    /// Returns the entry `name` of the current directory.
    fn entry<'a>(&'a self, name: &'a [u8]) -> DirEntry<'a> {
        let top = (&self.top, &self.top_saved);
        let inside = self.folders.last().map_or(top, |inside| (&inside.folder, &inside.saved));
        DirEntry::new(inside, name, &self.maker)
    }

    fn enter(&mut self, name: &[u8]) -> io::Result<OwnedFd> {
        let entry = self.entry(name);
        let above = entry.folder();
        let is_new = match mkdirat(above, name, Mode::from_raw_mode(OWNER)) {
            Ok(()) => true,
            Err(Errno::EXIST) => {
                entry.refuse_folded()?;
                false
            }
            Err(error) => return Err(error.into()),
        };
        let folder = match open_directory(above, name) {
            Ok(folder) => folder,
            Err(Errno::NOTDIR | Errno::LOOP) => {
                return Err(io::Error::other("it is not a directory and is not replaced by one"));
            }
            Err(error) => return Err(error.into()),
        };
        directory::allow_owner(&folder, &fstat(&folder)?);
        if !is_new {
            remove_all_stale(&folder);
        }
        self.remember(&folder);
        Ok(folder)
    }

    fn link(&self, name: &[u8], meta: &Meta, target: &[u8]) -> io::Result<()> {
        let entry = self.entry(name);
        entry.check()?;
        symlinkat(target, entry.folder(), entry.hidden())?;
        let applied = apply_to_link(entry.folder(), entry.hidden(), meta);
        let shown = entry.show();
        if shown.is_err() {
            entry.remove();
        }
        shown.and(applied)
    }

    fn name(&self, name: &[u8], first: &[Vec<u8>]) -> io::Result<()> {
        let (Some((last, above)), false) =
            (first.split_last(), self.failed.contains(&first.join(&b'/')))
        else {
            return Err(io::Error::other("cannot create the hard link: its target is missing"));
        };
        let folder = directory::descend(&self.top, above.iter().map(Vec::as_slice))?;
        let entry = self.entry(name);
        entry.check()?;
        linkat(&folder, last.as_slice(), entry.folder(), entry.hidden(), AtFlags::empty())?;
        let shown = entry.show();
        // rename(2) leaves the hidden name in place if both names are links to one file already.
        entry.remove();
        shown
    }

    /// Keeps `folder` open, so that its file system can be made stable.
    fn remember(&mut self, folder: &OwnedFd) {
        let Ok(stat) = fstat(folder) else { return };
        if self.devices.len() < DEVICES
            && !self.devices.contains_key(&stat.st_dev)
            && let Ok(folder) = folder.try_clone()
        {
            self.devices.insert(stat.st_dev, folder);
        }
    }

    /// Records that the file `name` cannot be put in place. If it is `linked`, neither can its hard
    /// links that follow in the stream.
    fn give_up(&mut self, name: &[u8], linked: bool, error: &io::Error) -> io::Result<()> {
        if linked {
            let path = self.path_of(name);
            self.failed.insert(path);
            if self.failed.len() > FAILED {
                let message = format!("more than {FAILED} files with hard links failed");
                return Err(io::Error::other(message));
            }
        }
        self.note(name, error)
    }

    fn note_if(&mut self, name: &[u8], done: io::Result<()>) -> io::Result<()> {
        done.or_else(|error| self.note(name, &error))
    }

    fn note(&mut self, name: &[u8], error: &io::Error) -> io::Result<()> {
        let path = self.path_of(name);
        self.sweeper.iter_mut().for_each(Sweeper::trouble);
        self.troubles.note(&path, error)
    }

    /// Returns the path of `name` in the current directory, relative to the top.
    fn path_of(&self, name: &[u8]) -> Vec<u8> {
        let names = self.folders.iter().map(|inside| inside.name.as_slice());
        names.chain([name]).collect::<Vec<_>>().join(&b'/')
    }
}

#[cfg(test)]
mod tests;

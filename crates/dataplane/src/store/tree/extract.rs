//! Applies the records of a tree's stream.

use std::collections::BTreeMap;
use std::io;
use std::ops::RangeInclusive;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use garland_core::tree::{Meta, Record};
use garland_protocol::copy::{Absence, KeptStatus, SweptMounts};
use garland_sys::error::of_new_entry;
use garland_sys::{clock, process, storage};
use rustix::fs::{Mode, fstat, mkdirat};
use rustix::io::Errno;

use super::dir_entry::{DirEntry, Maker};
use super::directory::{self, Directory};
use super::keep::{Kept, Linked};
use super::metadata::{Manner, OtherLists};
use super::partial::PartialFile;
use super::placing::{Act, FailedFiles, Placer, Step};
use super::previous::PreviousTree;
use super::proofs::Proofs;
use super::sweep::Sweeper;
use super::trouble::Troubles;
use super::waiting::Waiting;
use crate::store::access::{self, OWNER};
use crate::store::freeing;
use crate::store::left::remove_all_stale;
use crate::tree::{WrittenFile, open_directory};

/// How long a copy that ends early waits for its complete files to become stable.
const STABLE_TIMEOUT: Duration = Duration::from_secs(2);

/// The maximum number of file systems in `devices`, which are made stable at the end.
const DEVICES: usize = 64;

/// Extracts the records of a tree into a directory. The memory that it needs grows with the depth
/// of the tree, not with its size; the files that wait are bounded.
pub struct TreeExtractor {
    top_meta: Option<Meta>,
    /// The open directories, from the top down to the current one, with their metadata.
    folders: Vec<(Arc<Directory>, Meta)>,
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
    /// The number of files and directories that were removed.
    removed: Arc<AtomicU64>,
    removes_max: u64,
    swept: SweptMounts,
    /// An open directory on each file system that was written to, by device number.
    devices: BTreeMap<u64, Arc<OwnedFd>>,
    /// Complete files, and what follows them, if files are to be stable before they appear.
    waiting: Option<Waiting>,
    placer: Placer,
}

impl TreeExtractor {
    /// Returns an extractor into the directory `top` that keeps the files of `old`, if they are
    /// unchanged. Hidden names of partial files contain `tag`. If `verify` is set, records the
    /// digests of all files, which [`Self::prove`] compares with the medium. Files wait in
    /// `waiting`, if there is one, until they are stable. Removes stale partial files from `top`.
    ///
    /// # Errors
    /// When there is no descriptor left.
    pub fn new(
        top: OwnedFd,
        tag: &str,
        old: Option<Arc<PreviousTree>>,
        verify: bool,
        waiting: Option<Waiting>,
    ) -> io::Result<Self> {
        remove_all_stale(&top);
        let proofs = verify.then(|| Proofs::new(&top, tag)).transpose()?;
        let stat = fstat(&top)?;
        let placer = Placer {
            maker: Maker {
                tag: tag.to_owned(),
                umask: process::umask(),
                manner: OtherLists::Stay.into(),
                grows: false,
            },
            troubles: Troubles::new(&top)?,
            top: Arc::new(Directory::new(top, &stat, b"", None)),
            syncs: waiting.is_some(),
            sweeper: None,
            proofs,
            failed: FailedFiles::default(),
        };
        let mut extractor = Self {
            top_meta: None,
            folders: Vec::new(),
            skipped: 0,
            partial: None,
            number: 0,
            old,
            kept: None,
            linked: Linked::default(),
            removed: Arc::default(),
            removes_max: u64::MAX,
            swept: SweptMounts::All,
            devices: BTreeMap::new(),
            waiting,
            placer,
        };
        extractor.remember(&Arc::clone(&extractor.placer.top));
        Ok(extractor)
    }

    /// Sets what becomes of access control lists that only the destination has; they stay unless
    /// this is called.
    pub fn with_other_lists(mut self, lists: OtherLists) -> Self {
        self.placer.maker.manner.lists = lists;
        self
    }

    /// Sets what entries keep of the status of their sources; all unless this is called.
    pub fn keeping(mut self, keeps: KeptStatus) -> Self {
        self.placer.maker.manner.keeps = keeps;
        self
    }

    /// Sets the maximum number of files and directories that are removed; there is none unless this
    /// is called.
    pub fn removing_at_most(mut self, removes_max: u64) -> Self {
        self.removes_max = removes_max;
        self
    }

    /// Sets from which directories something is removed; from all unless this is called.
    pub fn sweeping(mut self, swept: SweptMounts) -> Self {
        self.swept = swept;
        self
    }

    /// Sets the counter of removed files and directories, which the maximum is for.
    pub fn count_in(&mut self, removed: &Arc<AtomicU64>) {
        self.removed = Arc::clone(removed);
    }

    /// Sets whether files take disk space only as their bytes come.
    pub fn with_growing_files(mut self, grows: bool) -> Self {
        self.placer.maker.grows = grows;
        self
    }

    /// Returns the files of the records `numbers` that do not have their final names yet: the one
    /// that is being written, and those that wait.
    pub fn written(&self, numbers: &RangeInclusive<u32>) -> Vec<WrittenFile> {
        let partial = self.partial.as_ref().map(|partial| partial.reader(self.number));
        let waiting = self.waiting.as_ref().map(|waiting| waiting.files(numbers));
        waiting.into_iter().flatten().chain(partial).collect()
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
        // Also while files that are kept go by.
        self.advance()?;
        record.name().into_iter().for_each(|name| self.keep(name));
        match record {
            Record::Spare(spared) => {
                let sweeper = Sweeper::new(&spared, Arc::clone(&self.removed), self.removes_max);
                let top = &self.placer.top.folder;
                self.placer.sweeper = Some(sweeper.sweeping(self.swept, top));
            }
            Record::Sweep => {
                let swept = self.placer.sweeper.as_mut().map(Sweeper::complete);
                swept.map_or(Ok(()), |swept| self.act(Act::Sweep(swept)))?;
            }
            Record::Top(meta) => self.top_meta = Some(self.open_top(meta)?),
            Record::Enter { name, meta } => {
                self.make_way(&name)?;
                match self.enter(&name, meta) {
                    Ok((directory, meta)) => {
                        let sweeper = self.placer.sweeper.iter_mut();
                        sweeper.for_each(|sweeper| sweeper.enter(Some(&directory.folder)));
                        self.folders.push((directory, meta));
                    }
                    Err(error) => {
                        self.skipped = 1;
                        self.note(&name, &error)?;
                    }
                }
            }
            Record::Leave => {
                self.placer.sweeper.iter_mut().for_each(Sweeper::leave);
                if let Some((directory, meta)) = self.folders.pop() {
                    self.put(Step { directory, act: Act::Leave(meta) })?;
                }
            }
            Record::File { name, meta, linked, .. } if self.keeps(&name, &meta, linked) => {}
            Record::File { name, meta, length, sparse, linked } => {
                self.make_way(&name)?;
                let create = |extractor: &mut Self| {
                    let entry = extractor.entry(&name);
                    let meta = meta.clone();
                    PartialFile::create(&entry, &name, meta, length, sparse, linked)
                };
                match self.with_room(create) {
                    Ok(partial) => {
                        let partial = partial.digested(self.placer.proofs.is_some());
                        self.partial = Some(partial.synced(self.waiting.is_some()));
                    }
                    Err(error) => self.give_up(&name, linked, &error)?,
                }
            }
            Record::Kept { .. } => {}
            Record::Link { name, meta, target } => self.act(Act::Link { name, meta, target })?,
            Record::Name { name, first } => self.act(Act::Name { name, first })?,
            Record::End => {
                if let Some(meta) = self.top_meta.take() {
                    let directory = Arc::clone(&self.placer.top);
                    self.put(Step { directory, act: Act::Leave(meta) })?;
                }
            }
        }
        Ok(())
    }

    /// Records that `name` in the current directory is part of the tree, so that it is not removed.
    pub fn keep(&mut self, name: &[u8]) {
        if self.skipped == 0 {
            self.placer.sweeper.iter_mut().for_each(|sweeper| sweeper.keep(name));
        }
    }

    /// Returns the counter of removed files and directories.
    pub fn removed(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.removed)
    }

    fn act(&mut self, act: Act) -> io::Result<()> {
        let directory = Arc::clone(self.current());
        self.put(Step { directory, act })
    }

    /// Does a step, or lets it wait: for the file that it shows to be stable, or for the steps
    /// before it.
    fn put(&mut self, step: Step) -> io::Result<()> {
        let is_file = matches!(step.act, Act::Show { .. });
        match &mut self.waiting {
            Some(waiting) if is_file || !waiting.is_empty() => waiting.push(step),
            _ => return self.placer.place(step),
        }
        self.advance()
    }

    /// Puts everything in place that waits.
    ///
    /// # Errors
    /// When it cannot be made stable, or an error occurs that affects the rest of the tree, too.
    /// Nothing waits then: files that are not in place are removed.
    pub fn settle(&mut self) -> io::Result<()> {
        while self.waiting.as_ref().is_some_and(|waiting| !waiting.is_empty()) {
            self.turn(true)?;
        }
        Ok(())
    }

    /// Does what is due: puts stable steps in place, and makes a complete batch stable.
    fn advance(&mut self) -> io::Result<()> {
        let Some(waiting) = &self.waiting else { return Ok(()) };
        let is_complete = waiting.is_complete();
        if is_complete || waiting.has_become_stable() { self.turn(is_complete) } else { Ok(()) }
    }

    /// Puts the steps in place whose data is stable, and, if asked for, begins to make that of the
    /// next ones stable.
    fn turn(&mut self, begins: bool) -> io::Result<()> {
        let turned = self.place_stable(begins);
        if turned.is_err() {
            self.discard_waiting();
        }
        turned
    }

    fn place_stable(&mut self, begins: bool) -> io::Result<()> {
        let Some(waiting) = &mut self.waiting else { return Ok(()) };
        let mut steps = waiting.take_stable()?.into_iter();
        // The disk is busy with the next batch while this one gets its names.
        let begun = match begins && !waiting.is_empty() {
            true => waiting.begin_sync(self.devices.values().cloned().collect()),
            false => Ok(()),
        };
        let placed = steps.try_for_each(|step| self.placer.place(step));
        // After an error for all.
        steps.for_each(|step| self.placer.discard(&step));
        placed.and(begun)
    }

    fn discard_waiting(&mut self) {
        let steps = self.waiting.as_mut().map(Waiting::take_all);
        steps.into_iter().flatten().for_each(|step| self.placer.discard(&step));
    }

    /// Puts what waits in place, if it has to be there before the entry `name` of the current
    /// directory is created: an entry of that name, or one that needs the same hidden name.
    fn make_way(&mut self, name: &[u8]) -> io::Result<()> {
        let waits = self.waiting.as_ref().is_some_and(|waiting| waiting.has(self.current(), name));
        if waits { self.settle() } else { Ok(()) }
    }

    /// Does `work` again if the disk is full or too many files are open, as long as that may
    /// change: what waits is put in place, which removes the files that it replaces and closes its
    /// own, and what was removed is awaited.
    fn with_room<T>(&mut self, mut work: impl FnMut(&mut Self) -> io::Result<T>) -> io::Result<T> {
        let (disk, _) = self.current().id;
        let done = freeing::with_room(disk, || work(self));
        let waits = self.waiting.as_ref().is_some_and(|waiting| !waiting.is_empty());
        if done.as_ref().is_err_and(freeing::is_full) && waits && self.settle().is_ok() {
            return freeing::with_room(disk, || work(self));
        }
        done
    }

    /// Decides whether the file of the current record is in place already and is kept. Returns true
    /// if so. If files are to be read back, all are written: earlier reads may have come from the
    /// page cache.
    fn keeps(&mut self, name: &[u8], meta: &Meta, linked: bool) -> bool {
        let old = self.old.as_ref().filter(|_| self.placer.proofs.is_none());
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
        let written = self.with_room(|extractor| match &mut extractor.partial {
            Some(partial) => partial.write(bytes),
            None => Ok(()),
        });
        let (Some(partial), Err(error)) = (&self.partial, written) else { return Ok(()) };
        let name = partial.name.clone();
        let linked = partial.linked;
        self.drop_partial();
        self.give_up(&name, linked, &error)
    }

    /// Writes the next `length` bytes of the current file, which are zeros.
    ///
    /// # Errors
    /// Those of [`Self::write`].
    pub fn write_zeros(&mut self, length: u64) -> io::Result<()> {
        static ZEROS: [u8; 64 << 10] = [0; 64 << 10];
        if self.partial.as_mut().is_some_and(|partial| partial.skip_zeros(length)) {
            return Ok(());
        }
        let mut left = length;
        while left > 0 {
            let step = left.min(ZEROS.len() as u64);
            self.write(&ZEROS[..step as usize])?;
            left -= step;
        }
        Ok(())
    }

    /// Ends the current file. Gives it its metadata and, as soon as it is stable, its final name if
    /// it is `whole`, else removes it.
    ///
    /// # Errors
    /// When an error occurs that affects the rest of the tree, too, such as a full disk.
    pub fn finish(&mut self, whole: bool) -> io::Result<()> {
        if !whole {
            self.drop_partial();
        }
        if let Some(kept) = self.kept.take() {
            let applied = kept.apply_metadata(self.kept_status());
            return self.placer.note_unset(&Arc::clone(self.current()), &kept.name, applied);
        }
        let Some(partial) = self.partial.take() else { return Ok(()) };
        if let Err(error) = partial.end() {
            partial.remove(&self.entry(&partial.name));
            return self.give_up(&partial.name, partial.linked, &error);
        }
        let applied = partial.apply_metadata(&self.entry(&partial.name));
        self.act(Act::Show { partial, number: self.number, applied })
    }

    /// Makes all files stable and, if requested, reads them back from the medium. Records an error
    /// for each file that differs.
    ///
    /// # Errors
    /// When the digests cannot be read.
    pub fn prove(&mut self, over: &dyn Fn() -> bool) -> io::Result<()> {
        self.settle()?;
        self.make_stable()?;
        let Placer { proofs, top, troubles, .. } = &mut self.placer;
        let Some(proofs) = proofs else { return Ok(()) };
        proofs.check(&top.folder, over, troubles)
    }

    /// Ends early: puts complete files in place, so that the next copy can keep them, and removes
    /// the file that is being written. If they are not stable soon, they are removed, too: the disk
    /// may hang.
    pub fn abandon(&mut self) {
        self.drop_partial();
        let deadline = clock::after(STABLE_TIMEOUT);
        while self.waiting.as_ref().is_some_and(|it| !it.is_empty() && it.is_stable_by(deadline)) {
            if self.turn(true).is_err() {
                break;
            }
        }
        self.discard();
    }

    /// Removes all files that do not have their final names yet.
    pub fn discard(&mut self) {
        self.drop_partial();
        self.discard_waiting();
    }

    fn drop_partial(&mut self) {
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
        self.placer.troubles.none()
    }

    /// Returns the files and directories that could not be put in place.
    pub fn absence(&self) -> &Absence {
        self.placer.troubles.absence()
    }

    fn current(&self) -> &Arc<Directory> {
        self.folders.last().map_or(&self.placer.top, |(directory, _)| directory)
    }

    /// Returns the entry `name` of the current directory.
    fn entry<'a>(&'a self, name: &'a [u8]) -> DirEntry<'a> {
        self.placer.entry(self.current(), name)
    }

    /// Lets this user make entries in the top directory, which is one of the tree's. Returns what
    /// it gets of `meta` at the end. It is there: if modes are not kept, it keeps its own.
    fn open_top(&self, mut meta: Meta) -> io::Result<Meta> {
        let folder = &self.placer.top.folder;
        let stat = fstat(folder)?;
        if !self.kept_status().modes {
            meta.mode = stat.st_mode & 0o7777;
        }
        directory::allow_owner(folder, &stat);
        Ok(meta)
    }

    fn kept_status(&self) -> KeptStatus {
        let Manner { keeps, .. } = self.placer.maker.manner;
        keeps
    }

    /// Makes the directory `name` in the current one, unless it is there, and opens it. Returns
    /// what it gets of `meta` at the end: if modes are not kept, the mode that it has, or with
    /// which mkdir(1) would leave it.
    fn enter(&mut self, name: &[u8], mut meta: Meta) -> io::Result<(Arc<Directory>, Meta)> {
        let entry = self.entry(name);
        let above = entry.folder();
        let (disk, _) = self.current().id;
        let make = || {
            mkdirat(above, name, Mode::from_raw_mode(OWNER))
                .map_err(|error| of_new_entry(above, error))
        };
        let is_new = match freeing::with_room(disk, make) {
            Ok(()) => true,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                entry.refuse_folded()?;
                false
            }
            Err(error) => return Err(error),
        };
        let folder = match open_directory(above, name) {
            Ok(folder) => folder,
            Err(Errno::NOTDIR | Errno::LOOP) => {
                return Err(io::Error::other("it is not a directory and is not replaced by one"));
            }
            Err(error) => return Err(error.into()),
        };
        let stat = fstat(&folder)?;
        entry.note_placed();
        match (self.kept_status().modes, is_new) {
            (true, _) => {}
            (false, true) => {
                meta.mode &= access::new_file_mask(above) & access::PERMISSIONS;
                meta.mode |= stat.st_mode & access::SET_GROUP_ID;
            }
            (false, false) => meta.mode = stat.st_mode & 0o7777,
        }
        directory::allow_owner(&folder, &stat);
        if !is_new {
            remove_all_stale(&folder);
        }
        let above = Arc::clone(self.current());
        let needs_names = !above.saved.takes_nameless() && above.id.0 == stat.st_dev;
        let directory = Arc::new(Directory::new(folder, &stat, name, Some(above)));
        if needs_names {
            directory.saved.refuses_nameless();
        }
        self.remember(&directory);
        Ok((directory, meta))
    }

    /// Keeps an open directory of each file system, so that it can be made stable.
    fn remember(&mut self, directory: &Directory) {
        let (device, _) = directory.id;
        if self.devices.len() < DEVICES
            && !self.devices.contains_key(&device)
            && let Ok(folder) = directory.folder.try_clone()
        {
            self.devices.insert(device, Arc::new(folder));
        }
    }

    fn give_up(&mut self, name: &[u8], linked: bool, error: &io::Error) -> io::Result<()> {
        self.placer.give_up(&Arc::clone(self.current()), name, linked, error)
    }

    fn note(&mut self, name: &[u8], error: &io::Error) -> io::Result<()> {
        self.placer.note(&Arc::clone(self.current()), name, error)
    }
}

#[cfg(test)]
mod tests;

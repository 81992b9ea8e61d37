//! Obeying the records of a tree's stream.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use garland_core::tree::{Meta, Record};
use garland_sys::process;
use rustix::fs::{
    AtFlags, Mode, OFlags, fchmod, fstat, linkat, mkdirat, openat, symlinkat, syncfs,
};
use rustix::io::Errno;

use super::keep::{Kept, Linked};
use super::proofs::Proofs;
use super::sweep::Sweeper;
use super::trouble::Troubles;
use crate::store::left::remove_all_stale;
use crate::store::tree::dir_entry::{DirEntry, Ground, Maker};
use crate::store::tree::metadata::{dress, dress_link};
use crate::store::tree::partial::PartialFile;
use crate::store::tree::previous::PreviousTree;
use crate::store::tree::saved_attributes::SavedAttributes;

/// How a folder is opened: never by a link.
pub const FOLDER: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// What the owner must be allowed to put things into a folder.
pub const OWN: u32 = 0o700;

/// File systems that are remembered, to be made stable.
const DEVICES: usize = 64;

/// Files that aren't there though other names of theirs follow: so many are remembered.
const FAILED: usize = 10_000;

/// A tree on its way into a folder. Its memory doesn't grow with the tree but with its depth.
pub struct TreeExtractor {
    maker: Maker,
    top: OwnedFd,
    top_nature: SavedAttributes,
    top_meta: Option<Meta>,
    /// The folders that the stream is in.
    folders: Vec<Inside>,
    /// So many folders that the stream is in aren't there, since the first of them couldn't be.
    skipped: usize,
    growing: Option<PartialFile>,
    /// The number of the record that came last.
    number: u32,
    /// What was there of the tree before it came.
    old: Option<Arc<PreviousTree>>,
    /// The file that is there already and stays, while its bytes would come.
    kept: Option<Kept>,
    linked: Linked,
    /// What removes what isn't in the tree, if that is to be done.
    sweeper: Option<Sweeper>,
    /// How much that was.
    removed: Arc<AtomicU64>,
    /// Paths of files that aren't there though other names of theirs follow.
    failed: BTreeSet<Vec<u8>>,
    /// A folder on each file system that something was put on.
    devices: BTreeMap<u64, OwnedFd>,
    /// What the files were when they came, if they are to be read back.
    proofs: Option<Proofs>,
    troubles: Troubles,
}

struct Inside {
    folder: OwnedFd,
    nature: SavedAttributes,
    name: Vec<u8>,
    meta: Meta,
}

impl TreeExtractor {
    /// Puts a tree into the folder `top`; what isn't whole has a hidden name with `tag` in it.
    pub fn new(top: OwnedFd, tag: &str) -> Self {
        remove_all_stale(&top);
        let mut settler = Self {
            maker: Maker { tag: tag.to_owned(), umask: process::umask() },
            top,
            top_nature: SavedAttributes::default(),
            top_meta: None,
            folders: Vec::new(),
            skipped: 0,
            growing: None,
            number: 0,
            old: None,
            kept: None,
            linked: Linked::default(),
            sweeper: None,
            removed: Arc::default(),
            failed: BTreeSet::new(),
            devices: BTreeMap::new(),
            proofs: None,
            troubles: Troubles::default(),
        };
        if let Ok(top) = settler.top.try_clone() {
            settler.remember(&top);
        }
        settler
    }

    /// The same, where all files are to be read back.
    ///
    /// # Errors
    /// When there is no room for what must be noted of them.
    pub fn proving(self) -> io::Result<Self> {
        let proofs = Some(Proofs::create(&self.top, &self.maker.tag)?);
        Ok(Self { proofs, ..self })
    }

    /// The same, where some of the tree was there before it came.
    pub fn over(self, old: Arc<PreviousTree>) -> Self {
        Self { old: Some(old), ..self }
    }

    /// The file whose bytes must come next, where it isn't one that stays: its record's number, itself,
    /// and how much of it has come.
    ///
    /// # Errors
    /// When the process has no descriptors left.
    pub fn growing(&self) -> io::Result<Option<(u32, File, u64)>> {
        let Some(growing) = &self.growing else { return Ok(None) };
        let (file, there) = growing.reader()?;
        Ok(Some((self.number, file, there)))
    }

    /// Whether bytes of a file are needed, and not only passed over.
    pub fn needs_bytes(&self) -> bool {
        self.growing.is_some()
    }

    /// The next record is the one of that number.
    pub fn come_to(&mut self, number: u32) {
        self.number = number;
    }

    /// Does what a record says.
    ///
    /// # Errors
    /// When nothing that follows could be done either.
    pub fn obey(&mut self, record: Record) -> io::Result<()> {
        if self.skipped > 0 {
            match record {
                Record::Enter { .. } => self.skipped += 1,
                Record::Leave => self.skipped -= 1,
                _ => {}
            }
            return Ok(());
        }
        record.name().into_iter().for_each(|name| self.brought(name));
        match record {
            Record::Spare(spared) => {
                self.sweeper = Some(Sweeper::new(&spared, Arc::clone(&self.removed)));
            }
            Record::Sweep => self.sweep()?,
            Record::Top(meta) => self.top_meta = Some(meta),
            Record::Enter { name, meta } => match self.enter(&name) {
                Ok(folder) => {
                    let nature = SavedAttributes::default();
                    self.folders.push(Inside { folder, nature, name, meta });
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
                    let dressed = dress(&folder, &meta);
                    self.note_if(&name, dressed)?;
                }
            }
            Record::File { name, meta, linked, .. } if self.keeps(&name, &meta, linked) => {}
            Record::File { name, meta, length, sparse, linked } => {
                let spot = DirEntry::new(self.ground(), &name, &self.maker);
                match PartialFile::create(&spot, &name, meta, length, (sparse, linked)) {
                    Ok(growing) if self.proofs.is_some() => {
                        self.growing = Some(growing.digested());
                    }
                    Ok(growing) => self.growing = Some(growing),
                    Err(error) => self.give_up(&name, linked, &error)?,
                }
            }
            Record::Link { name, meta, target } => {
                let linked = self.link(&name, &meta, &target);
                self.note_if(&name, linked)?;
            }
            Record::Name { name, first } => {
                let named = match self.name(&name, &first) {
                    // Another copy into the same folder may take a hidden name that isn't locked
                    // for what a killed agent left.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        self.name(&name, &first)
                    }
                    named => named,
                };
                self.note_if(&name, named)?;
            }
            Record::End => {
                if let Some(meta) = self.top_meta.take() {
                    let dressed = dress(&self.top, &meta);
                    self.note_if(b".", dressed)?;
                }
            }
        }
        Ok(())
    }

    /// What has this name in the present folder is the stream's.
    pub fn brought(&mut self, name: &[u8]) {
        if self.skipped == 0 {
            self.sweeper.iter_mut().for_each(|sweeper| sweeper.brought(name));
        }
    }

    /// How many names were removed, now and later.
    pub fn removed(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.removed)
    }

    fn sweep(&mut self) -> io::Result<()> {
        let path = self.path_of(b"");
        let folder = self.folders.last().map_or(&self.top, |inside| &inside.folder);
        let Some(sweeper) = &self.sweeper else { return Ok(()) };
        sweeper.sweep(folder, &path, &mut self.troubles)
    }

    /// Whether the file that begins is there already, and stays. Files that are to be read back are
    /// written: what has been read before proves nothing of their medium.
    fn keeps(&mut self, name: &[u8], meta: &Meta, linked: bool) -> bool {
        let old = self.old.as_ref().filter(|_| self.proofs.is_none());
        let Some(stamp) = old.and_then(|old| old.kept(self.number)) else { return false };
        let mut others = std::mem::take(&mut self.linked);
        let spot = DirEntry::new(self.ground(), name, &self.maker);
        let kept = Kept::find(&spot, name, meta, stamp, (linked, &mut others));
        (self.kept, self.linked) = (kept, others);
        self.kept.is_some()
    }

    /// Takes bytes of the file that began last, if it could be begun.
    ///
    /// # Errors
    /// When nothing that follows could be done either.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(growing) = &mut self.growing else { return Ok(()) };
        let Err(error) = growing.write(bytes) else { return Ok(()) };
        let (name, linked) = (growing.name.clone(), growing.linked);
        self.abandon();
        self.give_up(&name, linked, &error)
    }

    /// That file is over, and appears if it is whole.
    ///
    /// # Errors
    /// When nothing that follows could be done either.
    pub fn finish(&mut self, whole: bool) -> io::Result<()> {
        if !whole {
            self.abandon();
        }
        if let Some(kept) = self.kept.take() {
            return self.note_if(&kept.name, kept.dress());
        }
        let Some(mut growing) = self.growing.take() else { return Ok(()) };
        let spot = DirEntry::new(self.ground(), &growing.name, &self.maker);
        let ended = growing.end();
        // What it lacks besides its bytes is told, but no reason to do without it.
        let dressed = growing.dress();
        let shown = ended.and_then(|()| growing.show(&spot));
        if let Err(error) = shown {
            growing.remove(&spot);
            return self.give_up(&growing.name, growing.linked, &error);
        }
        self.remember_digest(&mut growing)?;
        self.note_if(&growing.name, dressed)
    }

    /// Notes what a file was when it came, if it is to be read back.
    fn remember_digest(&mut self, growing: &mut PartialFile) -> io::Result<()> {
        let path = self.path_of(&growing.name);
        let (Some(proofs), Some((length, digest))) = (&mut self.proofs, growing.digest()) else {
            return Ok(());
        };
        proofs.note(&path, length, digest)
    }

    /// Makes all stable and reads every file back from its medium, if that is to be done; what isn't
    /// as it came is among the troubles.
    ///
    /// # Errors
    /// When nobody can say.
    pub fn prove(&mut self, over: &dyn Fn() -> bool) -> io::Result<()> {
        self.make_stable()?;
        let Some(proofs) = &mut self.proofs else { return Ok(()) };
        proofs.check(&self.top, over, &mut self.troubles)
    }

    /// Removes what isn't whole.
    pub fn abandon(&mut self) {
        self.kept = None;
        if let Some(growing) = self.growing.take() {
            growing.remove(&DirEntry::new(self.ground(), &growing.name, &self.maker));
        }
    }

    /// Makes all that was put anywhere stable: a file system at a time, since that takes a fraction
    /// of what it would take file by file.
    ///
    /// # Errors
    /// When a file system can't.
    pub fn make_stable(&self) -> io::Result<()> {
        self.devices.values().try_for_each(|folder| Ok(syncfs(folder)?))
    }

    /// All is there.
    ///
    /// # Errors
    /// What isn't.
    pub fn troubles(&self) -> Result<(), String> {
        self.troubles.none()
    }

    fn ground(&self) -> Ground<'_> {
        let top = Ground { folder: &self.top, nature: &self.top_nature };
        self.folders
            .last()
            .map_or(top, |inside| Ground { folder: &inside.folder, nature: &inside.nature })
    }

    fn enter(&mut self, name: &[u8]) -> io::Result<OwnedFd> {
        let spot = DirEntry::new(self.ground(), name, &self.maker);
        let above = spot.folder();
        let is_new = match mkdirat(above, name, Mode::from_raw_mode(OWN)) {
            Ok(()) => true,
            Err(Errno::EXIST) => {
                spot.refuse_folded()?;
                false
            }
            Err(error) => return Err(error.into()),
        };
        let folder = match openat(above, name, FOLDER, Mode::empty()) {
            Ok(folder) => folder,
            Err(Errno::NOTDIR | Errno::LOOP) => {
                return Err(io::Error::other("it is no folder, and isn't replaced by one"));
            }
            Err(error) => return Err(error.into()),
        };
        let mode = fstat(&folder)?.st_mode & 0o7777;
        if mode & OWN != OWN {
            // Only its owner can; anybody else will see what comes of it.
            let _ = fchmod(&folder, Mode::from_raw_mode(mode | OWN));
        }
        if !is_new {
            remove_all_stale(&folder);
        }
        self.remember(&folder);
        Ok(folder)
    }

    fn link(&self, name: &[u8], meta: &Meta, target: &[u8]) -> io::Result<()> {
        let spot = DirEntry::new(self.ground(), name, &self.maker);
        spot.look()?;
        symlinkat(target, spot.folder(), spot.hidden())?;
        let dressed = dress_link(spot.folder(), spot.hidden(), meta);
        let shown = spot.show();
        if shown.is_err() {
            spot.remove();
        }
        shown.and(dressed)
    }

    fn name(&self, name: &[u8], first: &[Vec<u8>]) -> io::Result<()> {
        let (Some((last, above)), false) =
            (first.split_last(), self.failed.contains(&first.join(&b'/')))
        else {
            return Err(io::Error::other("the file that this is a name of isn't there"));
        };
        let mut folder = self.top.try_clone()?;
        for name in above {
            folder = openat(&folder, name.as_slice(), FOLDER, Mode::empty())?;
        }
        let spot = DirEntry::new(self.ground(), name, &self.maker);
        spot.look()?;
        linkat(&folder, last.as_slice(), spot.folder(), spot.hidden(), AtFlags::empty())?;
        let shown = spot.show();
        // It is still there if both were names of one file already: rename(2).
        spot.remove();
        shown
    }

    /// Remembers the file system that `folder` is on.
    fn remember(&mut self, folder: &OwnedFd) {
        let Ok(stat) = fstat(folder) else { return };
        if self.devices.len() < DEVICES
            && !self.devices.contains_key(&stat.st_dev)
            && let Ok(folder) = folder.try_clone()
        {
            self.devices.insert(stat.st_dev, folder);
        }
    }

    /// A file won't be there, nor will its other names.
    fn give_up(&mut self, name: &[u8], linked: bool, error: &io::Error) -> io::Result<()> {
        if linked {
            let path = self.path_of(name);
            self.failed.insert(path);
            if self.failed.len() > FAILED {
                let message = format!("more than {FAILED} files with several names failed");
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

    /// The path from the top of what has this name in the present folder.
    fn path_of(&self, name: &[u8]) -> Vec<u8> {
        let names = self.folders.iter().map(|inside| inside.name.as_slice());
        names.chain([name]).collect::<Vec<_>>().join(&b'/')
    }
}

#[cfg(test)]
mod tests;

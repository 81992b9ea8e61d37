//! A tree as the source of a copy. Its stream is generated from the files while it is read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use garland_core::index_set::IndexSet;
use garland_core::plan::Layout;
use garland_core::printable;
use garland_core::tree::{GOOD, Record, VOID};
use garland_protocol::copy::{Absence, Fingerprint, TreeOutline, WINDOW_MAX};
use garland_sys::error::reason;
use garland_sys::holes::data_after;
use garland_sys::process;
use garland_sys::sync::Mutex;
use rustix::fs::{Stat, fstat};

use super::asked::Sources;
use super::catalogue::{catalogue, outline};
use super::chosen::Chosen;
use super::index::{Body, Index, Stamp};
use super::left_out::{LeftOut, sum_absence};
use super::making::{Bodies, make};
use super::objects::{ObjectFile, Objects, Unread, tree_of};
use super::place::{Opener, Place, names_to, path_of, record_of};
use super::remainder::Remainder;
use super::scan::{Scan, ScanError, ScanOptions, Tally};
use super::walk::{scan, scan_chosen, scan_entry};
use crate::pace::{self, Pace};
use crate::source::{Content, FeedError};

/// The maximum number of bytes of blocks that are kept because a later block was requested before
/// them.
const EARLY: usize = 64 << 20;

/// Files and directories of this machine as one source: a stream that is generated while it is
/// read.
pub struct TreeSource {
    index: Index,
    places: Vec<Place>,
    tally: Tally,
    /// The number of entries that were left out because nodes have them.
    unchanged: u64,
    /// Whether all entries were left out.
    is_bare: bool,
    /// The files that the scan left out.
    left_out: Vec<LeftOut>,
    /// Directories in which nodes remove nothing although removal was requested.
    unswept: Vec<PathBuf>,
    /// For each file that could not be read or has changed, by its record number, the reason.
    failed: Mutex<BTreeMap<u32, String>>,
    first: Mutex<FirstTime>,
    /// For each record of a file that was read, the fingerprint of the bytes of the first reading.
    fingerprints: Mutex<Vec<u64>>,
    /// Whether a block was found to differ from an earlier reading.
    has_changed: AtomicBool,
    /// Opens files to look for holes in them, beside the reading.
    seeker: Mutex<Opener>,
    disk: Option<Arc<Pace>>,
    /// The contents of the files, if they are objects; then there are no places.
    objects: Option<Arc<dyn Objects>>,
    /// Why the store of the objects could not be read, if so.
    broken: OnceLock<String>,
}

/// The state of the first reading of the stream. All blocks are read in order, since the end mark
/// of a file depends on all bytes of the file.
#[derive(Default)]
struct FirstTime {
    /// The layout of the copy. With another one the first reading starts over, since the blocks
    /// differ.
    layout: Layout,
    /// The index of the next block to be read.
    next: u64,
    /// Blocks that had to be read because a later one was requested first, by their indexes.
    early: BTreeMap<u64, Vec<u8>>,
    open: Opener,
    file: FileRead,
}

/// The file that the first reading is in.
#[derive(Default)]
struct FileRead {
    number: u32,
    /// The fingerprint of the bytes that were read so far.
    fingerprint: Fingerprint,
}

impl FileRead {
    /// Adds bytes of the file of record `number`.
    fn add(&mut self, number: u32, offset: u64, bytes: &[u8]) {
        self.of(number).add(offset, bytes);
    }

    /// Returns the fingerprint of the file of record `number`, whose bytes follow those of the
    /// files before it.
    fn of(&mut self, number: u32) -> &mut Fingerprint {
        if self.number != number {
            *self = Self { number, fingerprint: Fingerprint::default() };
        }
        &mut self.fingerprint
    }
}

impl TreeSource {
    /// Scans all `sources`. If the path of a source ends in a slash, only the content of that
    /// directory is copied; any other source is copied under its own name.
    ///
    /// # Errors
    /// When a source does not exist, cannot be opened or is of a kind that cannot be copied, when
    /// two sources have the same name, when the tree has more entries than fit into its records,
    /// or when the user interrupts the scan.
    pub fn open(
        sources: &[impl AsRef<Path>],
        options: &ScanOptions<'_>,
    ) -> Result<Self, ScanError> {
        scan(sources, options).map(Self::new)
    }

    /// Scans the entry of the open directory `folder` that has the last name of `path`, without
    /// other file systems that are mounted in it. `path` is its path in messages.
    ///
    /// # Errors
    /// As for [`open`](Self::open), and when the entry is a mount point.
    pub fn open_entry(
        folder: OwnedFd,
        path: &Path,
        options: &ScanOptions<'_>,
    ) -> Result<Self, ScanError> {
        scan_entry(folder, path, options).map(Self::new)
    }

    /// Scans what was found at several paths: everything in it, or, if `files_only` is set, only
    /// files and those to which symbolic links lead.
    ///
    /// # Errors
    /// When a directory cannot be opened, there are too many entries, or the user interrupts the
    /// scan.
    pub fn open_found(
        sources: Sources,
        files_only: bool,
        options: &ScanOptions<'_>,
    ) -> Result<Self, ScanError> {
        sources.scan(files_only, options).map(Self::new)
    }

    /// Scans the entries `chosen` of the directory `source`, which keep their paths in it.
    ///
    /// # Errors
    /// When the directory cannot be opened, there are too many entries, or the user interrupts the
    /// scan. A chosen entry that does not exist is left out, which is no error.
    pub fn open_chosen(
        source: &Path,
        chosen: &Chosen,
        options: &ScanOptions<'_>,
    ) -> Result<Self, ScanError> {
        scan_chosen(source, chosen, options).map(Self::new)
    }

    fn new(scan: Scan) -> Self {
        let Scan { index, places, left_out, unswept, tally } = scan;
        Self {
            index,
            places,
            tally,
            unchanged: 0,
            is_bare: false,
            left_out,
            unswept,
            failed: Mutex::default(),
            first: Mutex::default(),
            fingerprints: Mutex::default(),
            has_changed: AtomicBool::new(false),
            seeker: Mutex::default(),
            disk: None,
            objects: None,
            broken: OnceLock::new(),
        }
    }

    /// Makes a tree of the objects `files`, whose contents are `objects`; objects of one directory
    /// follow each other. All of it goes into the directory `top`, or, if that is empty, to the top
    /// of the tree. Files and directories belong to the user and group of this process.
    pub fn of_objects<'a>(
        files: impl Iterator<Item = ObjectFile<'a>> + Clone,
        objects: Arc<dyn Objects>,
        top: &[u8],
        options: &ScanOptions<'_>,
    ) -> Self {
        let group = process::group_ids().first().copied();
        let owner = (process::user_id(), group.unwrap_or_default());
        let scan = tree_of(files, top, owner, options);
        Self { objects: Some(objects), ..Self::new(scan) }
    }

    /// Returns whether the files are objects of a store, each of which should be read only once.
    pub fn is_of_objects(&self) -> bool {
        self.objects.is_some()
    }

    /// Makes all reads go to the emulated disk that the copies of a node share, if there is one.
    #[must_use]
    pub fn on_disk(self, disk: Option<&Arc<Pace>>) -> Self {
        Self { disk: disk.cloned(), ..self }
    }

    /// Returns the tree without the entries of the records `unchanged`, which all nodes have.
    ///
    /// # Errors
    /// When a directory cannot be opened a second time.
    pub fn without(&self, unchanged: &IndexSet) -> io::Result<Self> {
        let left = Remainder::new(&self.index, unchanged).ok_or(io::ErrorKind::InvalidData)?;
        let place = |place: &Place| {
            let first = left.numbers.get(place.first as usize).copied();
            Ok(Place {
                folder: place.folder.try_clone()?,
                is_file: place.is_file,
                path: place.path.clone(),
                first: first.unwrap_or(left.index.len()),
                mounts: place.mounts,
            })
        };
        Ok(Self {
            places: self.places.iter().map(place).collect::<io::Result<_>>()?,
            index: left.index,
            tally: self.tally,
            unchanged: self.unchanged + left.unchanged,
            is_bare: left.is_bare,
            left_out: self.left_out.clone(),
            unswept: self.unswept.clone(),
            failed: Mutex::default(),
            first: Mutex::default(),
            fingerprints: Mutex::default(),
            has_changed: AtomicBool::new(false),
            seeker: Mutex::default(),
            disk: self.disk.clone(),
            objects: self.objects.clone(),
            broken: OnceLock::new(),
        })
    }

    /// After a copy that ended since a block differed from an earlier reading, returns the tree
    /// without the files that have changed since the scan, which count as not copied, and without
    /// their hard links. Nodes keep what they have of these. Returns none if no block differed.
    ///
    /// # Errors
    /// When a directory cannot be opened a second time.
    pub fn without_changed(&self) -> io::Result<Option<Self>> {
        if !self.has_changed.load(Ordering::Relaxed) || self.objects.is_some() {
            return Ok(None);
        }
        let mut open = Opener::default();
        let mut changed = IndexSet::new(self.index.len().into());
        let mut left_out = self.left_out.clone();
        for number in 0..self.index.len() {
            let why = match self.index.body(number) {
                Body::File(stamp) => match open.stat(&self.places, &self.index, number) {
                    Ok(stat) if Stamp::from_stat(&stat) == stamp => continue,
                    Ok(_) if self.is_same_again(&mut open, number, stamp) => continue,
                    Ok(_) => CHANGED.to_owned(),
                    Err(error) => format!("cannot read it: {}", reason(&error)),
                },
                Body::NameOf(first) if changed.contains(first.into()) => OF_FAILED.to_owned(),
                Body::NameOf(_) | Body::None => continue,
            };
            changed.insert(number.into());
            left_out.push(LeftOut::failed(&path_of(&self.places, &self.index, number), why));
        }
        Ok(Some(Self { left_out, unchanged: self.unchanged, ..self.without(&changed)? }))
    }

    /// Returns whether all entries were left out because nodes have them.
    pub fn is_bare(&self) -> bool {
        self.is_bare
    }

    /// Returns the number of entries that were left out because nodes have them.
    pub fn unchanged(&self) -> u64 {
        self.unchanged
    }

    /// Returns the numbers of files, directories and links of the whole tree.
    pub fn tally(&self) -> Tally {
        self.tally
    }

    /// Returns the directories in which nodes remove nothing although removal was requested, since
    /// not everything in them is copied.
    pub fn unswept(&self) -> &[PathBuf] {
        &self.unswept
    }

    /// Returns the outline that is sent before the catalogue; none if two top-level entries have
    /// the same name.
    pub fn outline(&self) -> Option<TreeOutline> {
        outline(&self.index)
    }

    /// Returns the catalogue in compressed parcels; none if it cannot be compressed.
    pub fn catalogue(&self) -> Option<Vec<Vec<u8>>> {
        catalogue(&self.index)
    }

    /// Calls `visit` with the number and the path of each entry. Paths are relative to the
    /// destination; those of directories end in a slash.
    pub fn for_each_path(&self, mut visit: impl FnMut(u32, &[u8])) {
        // The path of the current directory, and the lengths of those above it.
        let mut path = Vec::new();
        let mut above = Vec::new();
        for number in 0..self.index.len() {
            let Some(record) = record_of(&self.index, number) else { return };
            if matches!(record, Record::Leave) {
                path.truncate(above.pop().unwrap_or_default());
            }
            let Some(name) = record.name() else { continue };
            let length = path.len();
            path.extend_from_slice(name);
            if matches!(record, Record::Enter { .. }) {
                path.push(b'/');
                above.push(length);
                visit(number, &path);
            } else {
                visit(number, &path);
                path.truncate(length);
            }
        }
    }

    /// Returns the files that are not copied, as far as this is known before the end of the copy.
    pub fn left_out(&self) -> Vec<LeftOut> {
        let failed = self.failed.lock();
        let path = |number| match self.objects {
            Some(_) => names_to(&self.index, number).join(&b'/'),
            None => path_of(&self.places, &self.index, number),
        };
        let mut all = self.left_out.clone();
        all.extend(failed.iter().map(|(at, why)| LeftOut::failed(&path(*at), why.clone())));
        if !failed.is_empty() {
            let numbers = (0..self.index.len()).filter(|number| {
                matches!(self.index.body(*number), Body::NameOf(first) if failed.contains_key(&first))
            });
            all.extend(numbers.map(|at| LeftOut::failed(&path(at), OF_FAILED.to_owned())));
        }
        all
    }

    fn file<'a>(&self, open: &'a mut Opener, number: u32) -> io::Result<&'a File> {
        open.file(&self.places, &self.index, number)
    }

    fn fail(&self, number: u32, reason: String) {
        self.failed.lock().entry(number).or_insert(reason);
    }

    /// Fills `bytes` with the bytes of a block of the stream. In the `first` reading, checks each
    /// file at its end mark; otherwise the files have been checked before.
    fn make(
        &self,
        open: &mut Opener,
        layout: Layout,
        index: u64,
        bytes: &mut [u8],
        first: Option<&mut FileRead>,
    ) {
        let length = bytes.len();
        let mut given = BodyReader { source: self, open, first };
        pace::on(self.disk.as_deref(), length, || {
            // Errors have been recorded already; the bytes are zeros.
            let _ = make(&self.index, &mut given, layout.offset(index), bytes);
        });
    }

    /// Fills `bytes` with the bytes at `offset` of a file. If that fails, fills them with zeros and
    /// records that the file has failed.
    fn read_file(&self, open: &mut Opener, number: u32, offset: u64, bytes: &mut [u8]) {
        if let Some(objects) = &self.objects {
            return self.read_object(objects.as_ref(), number, offset, bytes);
        }
        let read = open.read(&self.places, &self.index, number, offset, bytes);
        if let Err(error) = read {
            bytes.fill(0);
            let short = error.kind() == io::ErrorKind::UnexpectedEof;
            let why = if short {
                CHANGED.to_owned()
            } else {
                format!("cannot read it: {}", reason(&error))
            };
            self.fail(number, why);
        }
    }

    /// Fills `bytes` with the bytes at `offset` of an object, as [`Self::read_file`] does with a
    /// file.
    fn read_object(&self, objects: &dyn Objects, number: u32, offset: u64, bytes: &mut [u8]) {
        objects.begin(&mut || {
            let stamps = (0..self.index.len()).filter_map(|number| match self.index.body(number) {
                Body::File(stamp) => Some(stamp.object()),
                Body::None | Body::NameOf(_) => None,
            });
            stamps.collect()
        });
        let Body::File(stamp) = self.index.body(number) else { return };
        match objects.read(stamp.object(), offset, bytes) {
            Ok(()) => return,
            Err(Unread::Object(reason)) => self.fail(number, reason),
            Err(Unread::Store(reason)) => drop(self.broken.set(reason)),
        }
        bytes.fill(0);
    }

    /// Fails if the store of the objects could not be read.
    fn unbroken(&self) -> Result<(), FeedError> {
        self.broken.get().map_or(Ok(()), |reason| Err(FeedError::Broken(reason.clone())))
    }

    /// Checks, after all bytes of a file were read, that the file is unchanged; otherwise records
    /// that it has failed.
    fn judge(&self, open: &mut Opener, number: u32, stamp: Stamp, fingerprint: Fingerprint) {
        if self.objects.is_some() {
            // Each part was read from the version that was listed.
            return;
        }
        self.remember(number, fingerprint);
        let now = self.file(open, number).and_then(|file| Ok(fstat(file)?));
        match now {
            Ok(stat) if Stamp::from_stat(&stat) == stamp => self.look_behind(open, number, &stat),
            Ok(stat) if self.is_same_again(open, number, stamp) => {
                self.look_behind(open, number, &stat);
            }
            Ok(_) => self.fail(number, CHANGED.to_owned()),
            Err(error) => self.fail(number, format!("cannot read it: {}", reason(&error))),
        }
        open.close_file();
    }

    fn remember(&self, number: u32, fingerprint: Fingerprint) {
        let mut all = self.fingerprints.lock();
        let at = number as usize;
        if all.len() <= at {
            all.resize(at + 1, 0);
        }
        all[at] = fingerprint.folded();
    }

    /// Returns whether a file with another stamp still has the bytes of the first reading: touch,
    /// chmod, mv and ln of a file change no byte of it. Reads it again.
    fn is_same_again(&self, open: &mut Opener, number: u32, stamp: Stamp) -> bool {
        if stamp.length() > REREAD_MAX {
            return false;
        }
        let Some(wanted) = self.fingerprints.lock().get(number as usize).copied() else {
            return false;
        };
        let Ok(file) = self.file(open, number) else { return false };
        for _ in 0..READINGS_MAX {
            let Ok(before) = fstat(file) else { return false };
            let before = Stamp::from_stat(&before);
            let is_same = before.is_of_same_file(&stamp)
                && fingerprint_of(file, stamp.length()).is_ok_and(|it| it.folded() == wanted);
            if !is_same {
                return false;
            }
            if fstat(file).is_ok_and(|stat| Stamp::from_stat(&stat) == before) {
                return true;
            }
        }
        false
    }

    /// Records that a file has failed if it has content although its length is 0, like those in
    /// /proc.
    fn look_behind(&self, open: &mut Opener, number: u32, stat: &Stat) {
        let has = |file: &File| file.read_at(&mut [0], 0).is_ok_and(|got| got > 0);
        if stat.st_size == 0 && self.file(open, number).is_ok_and(has) {
            self.fail(number, EMPTY.to_owned());
        }
    }
}

const CHANGED: &str = "it changed while it was copied";
const OF_FAILED: &str = "it is a hard link to a file that could not be copied";
const EMPTY: &str = "it has content although its length is 0, like files in /proc";

/// The length in bytes up to which a file that was touched is read again in the middle of a copy.
/// All other readers wait meanwhile, and a wait that lasts for a minute would end the copy.
const REREAD_MAX: u64 = 64 << 20;

/// The number of readings after which a file counts as changed whose stamp changes all the time.
const READINGS_MAX: u32 = 3;

/// The number of bytes of a file that are read at a time to compare it.
const PIECE: usize = 256 << 10;

/// Reads the first `length` bytes of a file, except holes.
fn fingerprint_of(file: &File, length: u64) -> io::Result<Fingerprint> {
    let mut fingerprint = Fingerprint::default();
    let mut piece = vec![0; PIECE];
    let mut at = data_after(file, 0);
    while at < length {
        let left = usize::try_from(length - at).unwrap_or(PIECE).min(PIECE);
        file.read_exact_at(&mut piece[..left], at)?;
        fingerprint.add(at, &piece[..left]);
        at = data_after(file, at + left as u64);
    }
    Ok(fingerprint)
}

/// The files of a tree as its source reads them.
struct BodyReader<'a> {
    source: &'a TreeSource,
    open: &'a mut Opener,
    /// Where the first reading is; none for a later one.
    first: Option<&'a mut FileRead>,
}

impl Bodies for BodyReader<'_> {
    fn is_void(&mut self, body: Body) -> bool {
        matches!(body, Body::NameOf(first) if self.source.failed.lock().contains_key(&first))
    }

    fn read(&mut self, number: u32, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.source.read_file(self.open, number, offset, bytes);
        if let Some(first) = self.first.as_deref_mut().filter(|_| self.source.objects.is_none()) {
            first.add(number, offset, bytes);
        }
        Ok(())
    }

    fn mark(&mut self, number: u32, stamp: Stamp) -> u8 {
        if let Some(first) = self.first.as_deref_mut() {
            let fingerprint = *first.of(number);
            self.source.judge(self.open, number, stamp, fingerprint);
        }
        if self.source.failed.lock().contains_key(&number) { VOID } else { GOOD }
    }
}

/// The files of a tree as a sample reads them: what cannot be read is no fault of the copy, which
/// reads it itself and then names it.
struct SampledBodies<'a> {
    source: &'a TreeSource,
    open: Opener,
}

impl Bodies for SampledBodies<'_> {
    fn is_void(&mut self, _body: Body) -> bool {
        false
    }

    fn read(&mut self, number: u32, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        if self.source.objects.is_some() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        self.open.read(&self.source.places, &self.source.index, number, offset, bytes)
    }

    fn mark(&mut self, _number: u32, _stamp: Stamp) -> u8 {
        GOOD
    }
}

impl Content for TreeSource {
    fn read(&self, layout: Layout, index: u64, bytes: &mut [u8]) -> Result<(), FeedError> {
        let mut locked = self.first.lock();
        if locked.layout != layout {
            *locked = FirstTime { layout, ..FirstTime::default() };
        }
        if let Some(early) = locked.early.remove(&index) {
            bytes.copy_from_slice(&early);
            return Ok(());
        }
        if index < locked.next {
            drop(locked);
            self.make(&mut Opener::default(), layout, index, bytes, None);
            return self.unbroken();
        }
        // Its fields are borrowed one by one.
        let first = &mut *locked;
        while first.next < index {
            let between = first.next;
            let holes = self.holes(layout, between);
            if holes > 0 {
                // Nobody reads these; the end mark, which depends on all bytes, comes behind them.
                first.next = (between + holes).min(index);
                continue;
            }
            let mut block = vec![0; layout.block_length(between) as usize];
            self.make(&mut first.open, layout, between, &mut block, Some(&mut first.file));
            first.next += 1;
            // Blocks beyond the limit are read once more.
            if (first.early.len() + 1).saturating_mul(layout.block_size as usize) <= EARLY {
                first.early.insert(between, block);
            }
        }
        self.make(&mut first.open, layout, index, bytes, Some(&mut first.file));
        first.next = index + 1;
        self.unbroken()
    }

    fn sample(&self, layout: Layout, index: u64, bytes: &mut [u8]) -> Result<(), FeedError> {
        let mut given = SampledBodies { source: self, open: Opener::default() };
        let length = bytes.len();
        pace::on(self.disk.as_deref(), length, || {
            make(&self.index, &mut given, layout.offset(index), bytes)
        })
        .map_err(|error| FeedError::Read(self.name(), reason(&error)))
    }

    fn holes(&self, layout: Layout, index: u64) -> u64 {
        let at = layout.offset(index);
        let number = self.index.find(at);
        let (Body::File(stamp), None) = (self.index.body(number), &self.objects) else { return 0 };
        let (begin, _) = self.index.span(number);
        let body = begin + self.index.bytes(number).len() as u64;
        let end = |index| layout.offset(index) + u64::from(layout.block_length(index));
        let is_whole_block_inside = at >= body && end(index) <= body + stamp.length();
        let Some(Record::File { sparse: true, .. }) =
            is_whole_block_inside.then(|| record_of(&self.index, number)).flatten()
        else {
            return 0;
        };
        let mut seeker = self.seeker.lock();
        let Ok(file) = self.file(&mut seeker, number) else { return 0 };
        let data = data_after(file, at - body).min(stamp.length());
        let near = (index..layout.blocks()).take(WINDOW_MAX);
        near.take_while(|&index| end(index) <= body + data).count() as u64
    }

    fn length(&self) -> u64 {
        self.index.length()
    }

    fn name(&self) -> String {
        "the tree".to_owned()
    }

    /// Returns the path of the first file in the block that has changed; if there is none, the name
    /// of the tree.
    fn changed(&self, layout: Layout, index: u64) -> String {
        self.has_changed.store(true, Ordering::Relaxed);
        if self.objects.is_some() {
            return self.name();
        }
        let begin = layout.offset(index);
        let length = u64::from(layout.block_length(index));
        let mut open = Opener::default();
        let mut changed = (self.index.find(begin)..self.index.len())
            .take_while(|number| self.index.span(*number).0 < begin + length)
            .filter(|number| match self.index.body(*number) {
                Body::File(stamp) => self
                    .file(&mut open, *number)
                    .and_then(|file| Ok(fstat(file)?))
                    .map_or(true, |stat| Stamp::from_stat(&stat) != stamp),
                Body::None | Body::NameOf(_) => false,
            });
        let path = |number| path_of(&self.places, &self.index, number);
        let name = |number| printable::name(&path(number));
        changed.next().map_or_else(|| self.name(), name)
    }

    fn absence(&self) -> Option<Absence> {
        Some(sum_absence(&self.left_out()))
    }

    /// Returns true: a file that has changed fails separately, and does not make the whole copy
    /// fail.
    fn is_unchanged(&self) -> bool {
        true
    }

    fn device(&self) -> Option<u64> {
        self.places.first().and_then(|place| fstat(&place.folder).ok()).map(|stat| stat.st_dev)
    }
}

#[cfg(test)]
mod tests;

//! Reads the files of a tree that are already at its destination, as parts of the tree's stream.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use garland_core::index_set::IndexSet;
use garland_core::plan::Layout;
use garland_core::tree::Record;
use garland_protocol::copy::{TimeWindow, TreeOutline, content_digest};
use rustix::fs::{AtFlags, FileType, Stat, statat};

use super::holding::KnownDigests;
use super::stamp::unsettled_since_ns;
use crate::attributes::modified_time;
use crate::pace::{self, Pace};
use crate::tree::{Body, Gathered, Index, Mounts, Opener, Place, Reading, Stamp, make, record_of};

/// The memory limit in bytes for the index of a tree. If the index of a tree needs more, all blocks
/// of the tree are sent.
pub const MEMORY: u64 = 20 << 20;

/// A tree whose catalogue is being received, and its destination.
pub struct Coming {
    folder: OwnedFd,
    gathered: Gathered,
}

/// The files of a tree that are in place at its destination.
pub struct FoundTree {
    /// The records of the stream, and the stamps of the files.
    pub index: Index,
    /// The digests of those blocks of the stream that can be generated here and were read.
    pub digests: KnownDigests,
    /// Blocks that can be generated here and were not read: the files in them have the length and
    /// modification time of the source.
    trusted: IndexSet,
}

impl FoundTree {
    /// Returns whether block `index` can be generated here, if its digest is `digest`.
    pub fn has(&self, index: u64, digest: &[u8; 32]) -> bool {
        self.trusted.contains(index) || self.digests.has(index, digest)
    }

    /// Returns the root digest; none if the digest of any block is unknown.
    pub fn root(&self) -> Option<[u8; 32]> {
        self.digests.root()
    }
}

impl Coming {
    /// Returns a tree without a catalogue, whose destination is `folder`. Returns none if `folder`
    /// has no top-level entry of the tree.
    pub fn new(folder: OwnedFd, outline: &TreeOutline) -> Option<Self> {
        let is_there = has_some(&folder, outline);
        is_there.then(|| Self { folder, gathered: Gathered::new(outline) })
    }

    /// Adds a parcel of the catalogue. Returns false if it is invalid.
    pub fn take(&mut self, parcel: &[u8]) -> bool {
        self.gathered.take(parcel)
    }

    /// Reads the files that are in place, from the emulated `disk` if given. If `trusts` is given,
    /// files with the length and, within this window, the modification time of the source are not
    /// read. Calls `progress`
    /// after every block. Returns none if the catalogue is invalid, or if `stop` is set.
    pub fn read(
        self,
        layout: Layout,
        trusts: Option<TimeWindow>,
        disk: Option<&Pace>,
        progress: impl Fn(),
        stop: &AtomicBool,
    ) -> Option<FoundTree> {
        let index = self.gathered.index(layout.length)?;
        let places = [Place {
            folder: self.folder,
            path: Vec::new(),
            first: 0,
            mounts: Mounts::Entered,
            is_file: false,
        }];
        let equal = trusts.map(|_| IndexSet::new(index.len().into()));
        let window = trusts.unwrap_or_default();
        let mut own = Own { index, places, opener: Opener::default(), looked: 0, equal, window };
        let mut trusted = IndexSet::new(layout.blocks());
        let mut buffer = vec![0; layout.block_size as usize];
        let mut digests = Vec::new();
        for block in 0..layout.blocks() {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            let bytes = &mut buffer[..layout.block_length(block) as usize];
            let at = layout.offset(block);
            let length = bytes.len();
            let end = at + length as u64;
            let has = own.has(at, end);
            if has && own.is_equal(at, end) {
                trusted.insert(block);
            }
            let is_read = has && !trusted.contains(block);
            let is_here = is_read && pace::on(disk, length, || own.read(at, bytes));
            digests.push(is_here.then(|| content_digest(bytes)));
            progress();
        }
        Some(FoundTree { index: own.index, digests: KnownDigests(digests), trusted })
    }
}

/// Returns whether `folder` has a top-level entry of the tree.
pub fn has_some(folder: &OwnedFd, outline: &TreeOutline) -> bool {
    let is_there = |name: &Vec<u8>| {
        let single = !name.is_empty() && !name.contains(&b'/') && name != b"..";
        single && statat(folder, name.as_slice(), AtFlags::SYMLINK_NOFOLLOW).is_ok()
    };
    outline.names.iter().take(TreeOutline::NAMES_MAX).any(is_there)
}

struct Own {
    index: Index,
    places: [Place; 1],
    opener: Opener,
    /// The number of the first record that has not been examined.
    looked: u32,
    /// The records of files with the length and modification time of the source; none if files are
    /// compared by their bytes only.
    equal: Option<IndexSet>,
    /// Which modification times count as equal.
    window: TimeWindow,
}

impl Own {
    /// Examines the files whose bytes lie between the offsets `at` and `end` of the stream. Returns
    /// whether all of them are in place; otherwise the block cannot be generated.
    fn has(&mut self, at: u64, end: u64) -> bool {
        let mut all = true;
        let mut number = self.index.find(at);
        while number < self.index.len() && self.index.span(number).0 < end {
            if number >= self.looked {
                self.look(number);
                self.looked = number + 1;
            }
            all &= !self.lacks(number, at, end);
            number += 1;
        }
        all
    }

    /// Returns whether the files whose bytes lie between the offsets `at` and `end` of the stream
    /// need not be read, because they have the length and modification time of the source.
    fn is_equal(&self, at: u64, end: u64) -> bool {
        let Some(equal) = &self.equal else { return false };
        let numbers = self.index.find(at)..self.index.len();
        let mut inside = numbers.take_while(|number| self.index.span(*number).0 < end);
        inside.all(|number| equal.contains(number.into()) || !self.is_between(number, at, end))
    }

    /// Fills `bytes` with the stream's bytes at the offset `at`. Returns whether the files could be
    /// read.
    fn read(&mut self, at: u64, bytes: &mut [u8]) -> bool {
        let opener = std::mem::take(&mut self.opener);
        let mut reading = Reading::new(&self.index, &self.places, opener);
        let made = make(&self.index, &mut reading, at, bytes).is_ok();
        let Reading { mut opener, failed, .. } = reading;
        opener.close_file();
        self.opener = opener;
        if let Some(number) = failed {
            self.index.unsee(number);
        }
        made
    }

    /// Returns whether the file of record `number` is not in place although some of its bytes lie
    /// between the offsets `at` and `end` of the stream.
    fn lacks(&self, number: u32, at: u64, end: u64) -> bool {
        let Body::File(stamp) = self.index.body(number) else { return false };
        !stamp.is_seen() && self.is_between(number, at, end)
    }

    /// Returns whether record `number` is one of a file some of whose bytes lie between the offsets
    /// `at` and `end` of the stream.
    fn is_between(&self, number: u32, at: u64, end: u64) -> bool {
        let (begin, behind) = self.index.span(number);
        let body = begin + self.index.bytes(number).len() as u64;
        matches!(self.index.body(number), Body::File(_)) && body < end && at < behind
    }

    /// Checks whether the file of record `number` exists with the recorded length, and if so
    /// records its stamp. If the file was changed just now, waits until a further change would
    /// change the stamp. A file that changes meanwhile, or whose change time lies in the future,
    /// counts as missing.
    fn look(&mut self, number: u32) {
        let Body::File(wanted) = self.index.body(number) else { return };
        let mut stat = || self.opener.stat(&self.places, &self.index, number);
        let is_it = |stat: &Stat| {
            let plain = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
            plain && Stamp::from_stat(stat).length() == wanted.length()
        };
        let Some(first) = stat().ok().filter(is_it) else { return };
        let nanos = u32::try_from(first.st_ctime_nsec).unwrap_or(0);
        match unsettled_since_ns((first.st_ctime, nanos)) {
            Some(0) => {}
            Some(wait) => {
                garland_sys::threads::sleep(Duration::from_nanos(wait));
                let same = |now: Stat| Stamp::from_stat(&now) == Stamp::from_stat(&first);
                if !stat().is_ok_and(same) {
                    return;
                }
            }
            None => return,
        }
        self.index.see(number, Stamp::from_stat(&first));
        if let Some(equal) = &mut self.equal
            && let Some(Record::File { meta, .. }) = record_of(&self.index, number)
            && self.window.covers(modified_time(&first), meta.modified)
        {
            equal.insert(number.into());
        }
    }
}

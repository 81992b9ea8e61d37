//! What is at the destination of a tree that is to come: its files, read as the stream has them.

use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use garland_core::plan::Layout;
use garland_protocol::{TreeOutline, content_digest, root_digest};
use rustix::fs::{AtFlags, FileType, Stat, statat};

use super::stamp::unsettled_since_ns;
use crate::pace::Pace;
use crate::tree::{Body, Gathered, Index, Opener, Place, Reading, Stamp, make};

/// Bytes of memory for what is known of a tree's files, at most; larger trees are sent whole.
pub const MEMORY: u64 = 20 << 20;

/// A tree whose catalogue comes.
pub struct Coming {
    folder: OwnedFd,
    gathered: Gathered,
}

/// What is there of a tree.
pub struct FoundTree {
    /// The stream's records, and what the files here are.
    pub index: Index,
    /// The digests of the stream's blocks, as far as they can be made here.
    pub digests: Vec<Option<[u8; 32]>>,
}

impl Coming {
    /// One into `folder`, if there is something of it.
    pub fn new(folder: OwnedFd, outline: &TreeOutline) -> Option<Self> {
        let is_there = |name: &Vec<u8>| {
            let single = !name.is_empty() && !name.contains(&b'/') && name != b"..";
            single && statat(&folder, name.as_slice(), AtFlags::SYMLINK_NOFOLLOW).is_ok()
        };
        let some = outline.names.iter().take(TreeOutline::NAMES_MAX).any(is_there);
        some.then(|| Self { folder, gathered: Gathered::new(outline) })
    }

    /// Takes a parcel of its catalogue; says whether it can be one.
    pub fn take(&mut self, parcel: &[u8]) -> bool {
        self.gathered.take(parcel)
    }

    /// Reads what is there of its stream; `progress` is told of every block. None where what came is
    /// no catalogue, or `stop` says so.
    pub fn read(
        self,
        layout: Layout,
        disk: Option<&Pace>,
        progress: impl Fn(),
        stop: &AtomicBool,
    ) -> Option<FoundTree> {
        let index = self.gathered.index(layout.length)?;
        let places = [Place { folder: self.folder, path: Vec::new(), first: 0 }];
        let mut own = Own { index, places, opener: Opener::default(), looked: 0 };
        let mut buffer = vec![0; layout.block_size as usize];
        let mut digests = Vec::new();
        for block in 0..layout.blocks() {
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            let bytes = &mut buffer[..layout.block_length(block) as usize];
            let (at, length) = (layout.offset(block), bytes.len());
            let is_here = own.has(at, at + length as u64)
                && match disk {
                    Some(disk) => disk.pass(length, || own.read(at, bytes)),
                    None => own.read(at, bytes),
                };
            digests.push(is_here.then(|| content_digest(bytes)));
            progress();
        }
        Some(FoundTree { index: own.index, digests })
    }
}

impl FoundTree {
    /// The digest that stands for the whole stream, if all of it is here.
    pub fn root(&self) -> Option<[u8; 32]> {
        let digests: Option<Vec<[u8; 32]>> = self.digests.iter().copied().collect();
        digests.map(|digests| root_digest(&digests))
    }

    /// Whether block `index` is this one.
    pub fn has(&self, index: u64, digest: &[u8; 32]) -> bool {
        let own = usize::try_from(index).ok().and_then(|at| self.digests.get(at));
        own.is_some_and(|own| own.as_ref() == Some(digest))
    }
}

/// The files that are here.
struct Own {
    index: Index,
    places: [Place; 1],
    opener: Opener,
    /// The records before this one have been looked at.
    looked: u32,
}

impl Own {
    /// Whether all files in the stream's bytes from `at` to `end` are here. Of one that isn't, nothing
    /// need be read.
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

    /// Makes the stream's bytes from `at` on; says whether the files could be read.
    fn read(&mut self, at: u64, bytes: &mut [u8]) -> bool {
        let opener = std::mem::take(&mut self.opener);
        let mut reading = Reading::new(&self.index, &self.places, opener);
        let made = make(&self.index, &mut reading, at, bytes).is_ok();
        let Reading { opener, failed, .. } = reading;
        self.opener = opener;
        if let Some(number) = failed {
            self.index.unsee(number);
        }
        made
    }

    /// Whether the stream's bytes from `at` to `end` have some of a file that isn't here.
    fn lacks(&self, number: u32, at: u64, end: u64) -> bool {
        let Body::File(stamp) = self.index.body(number) else { return false };
        let (begin, behind) = self.index.span(number);
        let body = begin + self.index.bytes(number).len() as u64;
        !stamp.is_seen() && body < end && at < behind
    }

    /// Notes what the file of record `number` is here, if it is one of its length. What has been changed
    /// just now could be changed once more without showing it.
    fn look(&mut self, number: u32) {
        let Body::File(wanted) = self.index.body(number) else { return };
        let mut stat = || self.opener.stat(&self.places, &self.index, number);
        let is_it = |stat: &Stat| {
            let plain = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
            plain && Stamp::of(stat).length() == wanted.length()
        };
        let Some(first) = stat().ok().filter(is_it) else { return };
        let nanos = u32::try_from(first.st_ctime_nsec).unwrap_or(0);
        match unsettled_since_ns((first.st_ctime, nanos)) {
            Some(0) => {}
            Some(wait) => {
                std::thread::sleep(Duration::from_nanos(wait));
                let same = |now: Stat| Stamp::of(&now) == Stamp::of(&first);
                if !stat().is_ok_and(same) {
                    return;
                }
            }
            None => return,
        }
        self.index.see(number, Stamp::of(&first));
    }
}

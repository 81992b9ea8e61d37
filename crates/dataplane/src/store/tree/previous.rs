//! The files of a tree that were in place before the copy. Blocks of the stream can be generated
//! from them, and some of them are kept.

use std::io;
use std::ops::RangeInclusive;
use std::os::fd::OwnedFd;

use garland_core::index_set::IndexSet;
use garland_core::plan::Layout;
use garland_core::tree::GOOD;
use garland_sys::sync::Mutex;

use crate::tree::{Body, Index, Mounts, Opener, Place, Reading, Stamp, WrittenFile, make};

/// The files of a tree that were in place before the copy.
pub struct PreviousTree {
    index: Index,
    /// The blocks of the stream that can be generated from the files.
    present: IndexSet,
    layout: Layout,
    /// The directory that contains the tree, once [`Self::below`] has set it.
    places: Vec<Place>,
    opener: Mutex<Opener>,
}

impl PreviousTree {
    /// Returns the files that `index` describes; the blocks `present` of the stream can be
    /// generated from them.
    pub fn new(index: Index, present: IndexSet, layout: Layout) -> Self {
        Self { index, present, layout, places: Vec::new(), opener: Mutex::default() }
    }

    /// Sets the directory that contains the tree.
    pub fn below(self, folder: OwnedFd) -> Self {
        Self {
            places: vec![Place {
                folder,
                path: Vec::new(),
                first: 0,
                mounts: Mounts::Entered,
                is_file: false,
            }],
            ..self
        }
    }

    /// Returns the stamp of the file of record `number`. Returns none if the file is not in place,
    /// or if some of its bytes lie in blocks that are not present and must be sent.
    pub fn kept(&self, number: u32) -> Option<Stamp> {
        let Body::File(stamp) = (number < self.index.len()).then(|| self.index.body(number))?
        else {
            return None;
        };
        let (begin, end) = self.index.span(number);
        let body = begin + self.index.bytes(number).len() as u64;
        let block = |at: u64| at / u64::from(self.layout.block_size);
        let all = (block(body)..=block(end - 1)).all(|index| self.present.contains(index));
        (all && stamp.is_seen()).then_some(stamp)
    }

    /// Returns at most `most` bytes of the stream, from the offset `at` to the end of the record or
    /// end mark there. `at` must not lie in the contents of a file.
    pub fn record_bytes(&self, at: u64, most: u64) -> &[u8] {
        let number = self.index.find(at);
        let (begin, _) = self.index.span(number);
        let record = self.index.bytes(number);
        let inside = usize::try_from(at - begin).unwrap_or(usize::MAX);
        let rest = record.get(inside..).filter(|rest| !rest.is_empty()).unwrap_or(&[GOOD]);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        &rest[..rest.len().min(most)]
    }

    /// Returns the numbers of the records in `length` bytes of the stream from the offset `at` on.
    pub fn records(&self, at: u64, length: usize) -> RangeInclusive<u32> {
        let last = at + (length as u64).saturating_sub(1);
        self.index.find(at)..=self.index.find(last)
    }

    /// Reads the stream's bytes at the offset `at`. `written` are the files without their final
    /// names.
    ///
    /// # Errors
    /// When a file is missing.
    pub fn read(&self, written: &[WrittenFile], at: u64, bytes: &mut [u8]) -> io::Result<()> {
        let opener = std::mem::take(&mut *self.opener.lock());
        let mut reading = Reading::new(&self.index, &self.places, opener);
        reading.written = written;
        let made = make(&self.index, &mut reading, at, bytes);
        reading.opener.close_file();
        *self.opener.lock() = reading.opener;
        made
    }
}

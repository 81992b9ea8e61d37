//! What a folder had of a tree before it came: which blocks of the stream can be made of it, and which
//! files stay as they are.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Mutex, PoisonError};

use garland_core::plan::{BlockSet, Layout};
use garland_core::tree::GOOD;

use crate::tree::{Body, Index, Opener, Place, Reading, Stamp, make};

/// The files of a stream that are there already.
pub struct PreviousTree {
    index: Index,
    /// The blocks that are made of them.
    brought: BlockSet,
    layout: Layout,
    /// The folder that they are below, once that is known.
    places: Vec<Place>,
    opener: Mutex<Opener>,
}

impl PreviousTree {
    /// Files that are what `index` says of them, of which the blocks `brought` can be made.
    pub fn new(index: Index, brought: BlockSet, layout: Layout) -> Self {
        Self { index, brought, layout, places: Vec::new(), opener: Mutex::default() }
    }

    /// The same, below `folder`.
    pub fn below(self, folder: OwnedFd) -> Self {
        Self { places: vec![Place { folder, path: Vec::new(), first: 0 }], ..self }
    }

    /// What the file of record `number` was when it was read, if nothing of it is sent: all that
    /// stands behind the record lies in blocks that are brought.
    pub fn kept(&self, number: u32) -> Option<Stamp> {
        let Body::File(stamp) = (number < self.index.len()).then(|| self.index.body(number))?
        else {
            return None;
        };
        let (begin, end) = self.index.span(number);
        let body = begin + self.index.bytes(number).len() as u64;
        let block = |at: u64| at / u64::from(self.layout.block_size);
        let all = (block(body)..=block(end - 1)).all(|index| self.brought.contains(index));
        (all && stamp.is_seen()).then_some(stamp)
    }

    /// The stream's bytes from `at` on, as far as they belong to one record or are a mark; `at` is
    /// inside no file.
    pub fn words(&self, at: u64, most: u64) -> &[u8] {
        let number = self.index.find(at);
        let (begin, _) = self.index.span(number);
        let record = self.index.bytes(number);
        let inside = usize::try_from(at - begin).unwrap_or(usize::MAX);
        let rest = record.get(inside..).filter(|rest| !rest.is_empty()).unwrap_or(&[GOOD]);
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        &rest[..rest.len().min(most)]
    }

    /// Reads the stream's bytes from `at` on, where the file of this number has so many bytes and no
    /// name yet.
    ///
    /// # Errors
    /// When a file isn't there.
    pub fn read(
        &self,
        growing: Option<&(u32, File, u64)>,
        at: u64,
        bytes: &mut [u8],
    ) -> io::Result<()> {
        let kept = || self.opener.lock().unwrap_or_else(PoisonError::into_inner);
        let opener = std::mem::take(&mut *kept());
        let mut reading = Reading::new(&self.index, &self.places, opener);
        reading.growing = growing.map(|(number, file, there)| (*number, file, *there));
        let made = make(&self.index, &mut reading, at, bytes);
        *kept() = reading.opener;
        made
    }
}

//! An open directory of a node: the entries that are here, and what to do for a reader.

use parking_lot::{Mutex, MutexGuard};
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use fuser::{ReplyDirectory, ReplyDirectoryPlus};
use garland_protocol::{Answer, Entry};
use garland_sys::clock;
use rustix::io::Errno;

use super::attr::errno;
use super::inode::Inode;
use crate::peer::Reply;

/// When fewer entries than this are left, the node is asked for more.
const FEW: usize = 256;

/// The number of read entries that are kept, for readers that seek back.
const BACK: usize = 1024;

/// The age in nanoseconds of a listing that is not read again from its start.
const OLD_NS: u64 = 1_000_000_000;

/// The number of offsets before the first entry: those of `.` and `..`.
const DOTS: u64 = 2;

/// An open directory.
pub struct OpenFolder {
    /// The directory.
    pub inode: Arc<Inode>,
    state: Mutex<Listing>,
}

/// The entries of an open directory that are here.
#[derive(Default)]
pub struct Listing {
    /// The index of the first entry that is here.
    base: u64,
    entries: VecDeque<Entry>,
    /// The connection and the handle of the listing, if there are more entries.
    more: Option<(u64, u64)>,
    is_asked: bool,
    waiting: Vec<Want>,
    failed: Option<Errno>,
    began_ns: u64,
}

/// A request for the entries from an offset on.
pub enum Want {
    /// With names and kinds.
    Plain(u64, ReplyDirectory),
    /// With attributes.
    Plus(u64, ReplyDirectoryPlus),
}

/// What to do for a reader.
pub enum Step {
    /// Reply with the entries that are here.
    Give(Want),
    /// Ask the node for further entries; the reader waits.
    GoOn,
    /// Begin a new listing; the reader waits.
    Anew(Want),
    /// Wait for entries that were requested.
    Wait,
    /// Reply with an error.
    Refuse(Want, Errno),
}

impl OpenFolder {
    /// A directory that was opened, with the node's first reply.
    ///
    /// # Errors
    /// When the node refused to list it.
    pub fn new(inode: Arc<Inode>, outcome: Result<Reply, Errno>) -> Result<Self, Errno> {
        let mut listing = Listing::default();
        listing.take(outcome)?;
        Ok(Self { inode, state: Mutex::new(listing) })
    }

    /// The entries.
    pub fn listing(&self) -> MutexGuard<'_, Listing> {
        self.state.lock()
    }
}

impl Listing {
    /// What to do for a reader.
    pub fn step(&mut self, want: Want) -> Step {
        let offset = want.offset();
        let age_ns = clock::now_ns().saturating_sub(self.began_ns);
        let is_anew = offset == 0 && age_ns > OLD_NS;
        if (is_anew || offset.saturating_sub(DOTS) < self.base) && !self.is_asked {
            return Step::Anew(want);
        }
        let at = offset.saturating_sub(DOTS).saturating_sub(self.base) as usize;
        if at >= self.entries.len()
            && self.failed.is_none()
            && (self.is_asked || self.more.is_some())
        {
            self.waiting.push(want);
            return if self.is_asked { Step::Wait } else { Step::GoOn };
        }
        match self.failed {
            Some(error) => Step::Refuse(want, error),
            None => Step::Give(want),
        }
    }

    /// Drops old entries after a reader got those before offset `given`; returns whether to ask for more.
    pub fn gave(&mut self, given: u64) -> bool {
        let done = given.saturating_sub(DOTS).saturating_sub(self.base) as usize;
        if done > BACK {
            let drop_first = (done - BACK).min(self.entries.len());
            self.entries.drain(..drop_first);
            self.base += drop_first as u64;
        }
        let left = (self.base + self.entries.len() as u64 + DOTS).saturating_sub(given);
        left < FEW as u64 && self.more.is_some() && !self.is_asked
    }

    /// Starts over for `want`; returns the connection and the handle of the old listing.
    pub fn begin_anew(&mut self, want: Want) -> Option<(u64, u64)> {
        let old = self.more.take();
        *self = Self { waiting: vec![want], is_asked: true, ..Self::default() };
        old
    }

    /// The connection and the handle to ask for more entries, which are under way from now on.
    pub fn ask_for_more(&mut self) -> Option<(u64, u64)> {
        let more = self.more.take()?;
        self.is_asked = true;
        Some(more)
    }

    /// The connection and the handle of the listing, which is to be closed.
    pub fn close(&mut self) -> Option<(u64, u64)> {
        self.more.take()
    }

    /// Takes further entries; returns the requests that waited for them.
    pub fn answered(&mut self, outcome: Result<Reply, Errno>) -> Vec<Want> {
        self.is_asked = false;
        if let Err(error) = self.take(outcome) {
            self.failed = Some(error);
        }
        std::mem::take(&mut self.waiting)
    }

    fn take(&mut self, outcome: Result<Reply, Errno>) -> Result<(), Errno> {
        let Reply { answer, epoch, .. } = outcome?;
        let Answer::Listed { more, entries } = answer else { return Err(Errno::IO) };
        if self.began_ns == 0 {
            self.began_ns = clock::now_ns();
        }
        self.more = more.map(|handle| (epoch, handle));
        self.entries.extend(entries);
        Ok(())
    }

    /// The name at an offset and its entry; `.` and `..` have none.
    pub fn at(&self, offset: u64) -> Option<(&OsStr, Option<&Entry>)> {
        match offset {
            0 => Some((OsStr::new("."), None)),
            1 => Some((OsStr::new(".."), None)),
            _ => {
                let at = usize::try_from((offset - DOTS).checked_sub(self.base)?).ok()?;
                let entry = self.entries.get(at)?;
                Some((OsStr::from_bytes(&entry.name), Some(entry)))
            }
        }
    }
}

impl Want {
    /// The offset of the first entry that is wanted.
    pub fn offset(&self) -> u64 {
        match self {
            Self::Plain(offset, _) | Self::Plus(offset, _) => *offset,
        }
    }

    /// Replies with an error.
    pub fn refuse(self, error: Errno) {
        match self {
            Self::Plain(_, reply) => reply.error(errno(error)),
            Self::Plus(_, reply) => reply.error(errno(error)),
        }
    }
}

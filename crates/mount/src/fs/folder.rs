//! An open directory of a node: stores the entries that have arrived, and decides how to serve a
//! reader.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;

use fuser::{ReplyDirectory, ReplyDirectoryPlus};
use garland_protocol::files::{Answer, Entry};
use garland_sys::clock;
use garland_sys::sync::{Mutex, MutexGuard};
use rustix::io::Errno;

use super::attr::errno;
use super::inode::Inode;
use crate::peer::Reply;

/// The number of unread entries below which the node is asked for more.
const FEW: usize = 256;

/// The number of read entries that are kept for readers that seek back.
const BACK: usize = 1024;

/// The age in nanoseconds above which a listing is requested again when a reader starts over.
const OLD_NS: u64 = 1_000_000_000;

/// The number of offsets before the first entry, which belong to `.` and `..`.
const DOTS: u64 = 2;

/// The maximum length of a name in bytes in a reply to the kernel (`FUSE_NAME_MAX`); some file
/// systems have names that are longer than those of paths.
const NAME_MAX: usize = 1024;

/// A directory that was opened through the mount.
pub struct OpenFolder {
    /// The inode of the directory.
    pub inode: Arc<Inode>,
    state: Mutex<Listing>,
}

/// The entries of an open directory that have arrived and were not dropped.
#[derive(Default)]
pub struct Listing {
    /// The index in the directory of the first entry in `entries`.
    base: u64,
    entries: VecDeque<Entry>,
    /// The epoch of the connection and the node's handle to request more entries; `None` if there
    /// are no more, or they are already requested.
    more: Option<(u64, u64)>,
    is_asked: bool,
    waiting: Vec<Want>,
    failed: Option<Errno>,
    began_ns: u64,
}

/// A reader's request for the entries from an offset on.
pub enum Want {
    /// Names and types only (readdir).
    Plain(u64, ReplyDirectory),
    /// Names and attributes (readdirplus).
    Plus(u64, ReplyDirectoryPlus),
}

/// The next step to serve a reader.
pub enum Step {
    /// Reply with the entries that are available.
    Give(Want),
    /// Request more entries from the node; the reader waits for them.
    GoOn,
    /// Request a new listing from the node; the reader waits for it.
    Anew(Want),
    /// Do nothing: the entries were requested, and the reader waits for them.
    Wait,
    /// Reply with this error.
    Refuse(Want, Errno),
}

impl OpenFolder {
    /// Creates an open directory from the node's first reply.
    ///
    /// # Errors
    /// The error by which the node refused to list the directory.
    pub fn new(inode: Arc<Inode>, outcome: Result<Reply, Errno>) -> Result<Self, Errno> {
        let mut listing = Listing::default();
        listing.take(outcome)?;
        Ok(Self { inode, state: Mutex::new(listing) })
    }

    /// Locks and returns the entries.
    pub fn listing(&self) -> MutexGuard<'_, Listing> {
        self.state.lock()
    }
}

impl Listing {
    /// Returns the next step to serve a reader, which `has_waited` for entries if they have just
    /// arrived, or failed to. A request that must wait for entries is stored.
    pub fn step(&mut self, want: Want, has_waited: bool) -> Step {
        if has_waited && let Some(error) = self.failed {
            return Step::Refuse(want, error);
        }
        let offset = want.offset();
        let age_ns = clock::now_ns().saturating_sub(self.began_ns);
        // Not for what was requested for this reader, however long that took: it would go on so.
        let is_anew = offset == 0 && age_ns > OLD_NS && !has_waited;
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

    /// Drops old entries after a reader received the entries before the offset `given`. Returns
    /// whether to request more entries.
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

    /// Drops the listing, so that `want` waits for a new one. Returns the epoch of the connection
    /// and the handle of the old listing if it must be closed.
    pub fn begin_anew(&mut self, want: Want) -> Option<(u64, u64)> {
        let old = self.more.take();
        *self = Self { waiting: vec![want], is_asked: true, ..Self::default() };
        old
    }

    /// Marks more entries as requested. Returns the epoch of the connection and the handle for the
    /// request; `None` if there are no more entries, or they are already requested.
    pub fn ask_for_more(&mut self) -> Option<(u64, u64)> {
        let more = self.more.take()?;
        self.is_asked = true;
        Some(more)
    }

    /// Returns the epoch of the connection and the handle of the listing if it must be closed.
    pub fn close(&mut self) -> Option<(u64, u64)> {
        self.more.take()
    }

    /// Stores the entries of a reply. Returns the requests that waited for them.
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
        if !entries.iter().all(|entry| is_name(&entry.name)) {
            return Err(Errno::IO);
        }
        // A reader would wait for the next part, and for the one after it, forever.
        if more.is_some() && entries.is_empty() {
            return Err(Errno::IO);
        }
        if self.began_ns == 0 {
            self.began_ns = clock::now_ns();
        }
        self.more = more.map(|handle| (epoch, handle));
        self.entries.extend(entries);
        Ok(())
    }

    /// Returns the name and the entry at an offset; `None` if none is available there. `.` and `..`
    /// have a name but no entry.
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

/// Whether an agent may list `name`: it leads to no other directory, and the kernel takes it.
fn is_name(name: &[u8]) -> bool {
    let is_one = !name.iter().any(|byte| matches!(byte, 0 | b'/'));
    is_one && (1..=NAME_MAX).contains(&name.len()) && name != b"." && name != b".."
}

impl Want {
    /// Returns the offset of the first requested entry.
    pub fn offset(&self) -> u64 {
        match self {
            Self::Plain(offset, _) | Self::Plus(offset, _) => *offset,
        }
    }

    /// Answers the request with an error.
    pub fn refuse(self, error: Errno) {
        match self {
            Self::Plain(_, reply) => reply.error(errno(error)),
            Self::Plus(_, reply) => reply.error(errno(error)),
        }
    }
}

#[cfg(test)]
mod tests;

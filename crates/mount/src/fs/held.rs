//! What was done to a new file and is not sent yet: its first bytes and its attributes, which go to
//! the node in one request when the file is closed. So a small file costs one round trip after it
//! was created, however many calls fill it.

use std::time::Duration;

use garland_protocol::files::{Attr, Changes, TimeSet};
use garland_protocol::wire::FRAME_HEAD;
use garland_sys::clock;

use super::attr::CACHE_TIMEOUT;
use crate::peer::room;

/// The maximum number of bytes held of one file. A longer file is a stream, which is not held.
const MAX_HELD_BYTES: usize = 64 << 10;

/// The bits of a mode that the node may refuse to set without an error: set-user-id and
/// set-group-id.
const SET_ID: u16 = 0o6000;

/// A new file, with the first bytes and the attributes that its node does not have yet.
pub struct Held<T> {
    /// The open file that created it.
    owner: T,
    /// The attributes, as they will be after the changes.
    attr: Attr,
    /// The bytes of the file from its beginning on, behind space for the header of a frame.
    data: Vec<u8>,
    changes: Changes,
    since_ns: u64,
}

impl<T: Clone + PartialEq> Held<T> {
    /// Begins to hold what is done to a file that `owner` has just created with these attributes.
    pub fn new(owner: &T, attr: Attr) -> Self {
        let data = room(0);
        let changes = Changes::default();
        Self { owner: owner.clone(), attr, data, changes, since_ns: clock::now_ns() }
    }

    /// Adds bytes that `owner` writes at the offset `at`. Returns whether they are held; if not,
    /// they must be sent after what is held.
    pub fn put(&mut self, owner: &T, at: u64, bytes: &[u8]) -> bool {
        let follows = at == self.end() && *owner == self.owner;
        // A write after the times were set changes the times.
        let is_late = self.changes.accessed.is_some() || self.changes.modified.is_some();
        if !follows || is_late || self.data.len() - FRAME_HEAD + bytes.len() > MAX_HELD_BYTES {
            return false;
        }
        self.data.extend_from_slice(bytes);
        true
    }

    /// Adds changes of attributes, and returns the attributes afterwards. Returns `None`, and adds
    /// nothing, if a node could refuse the changes to the file's owner, or only the node knows the
    /// attributes afterwards; and if they take permissions away, which is not put off.
    pub fn change(&mut self, changes: &Changes) -> Option<Attr> {
        let Changes { mode, user, group, size, accessed, modified, only: _ } = changes;
        let keeps = |new: &Option<u32>, old| new.is_none_or(|new| new == old || new == u32::MAX);
        let is_set = |time: &Option<TimeSet>| !matches!(time, Some(TimeSet::Now));
        let is_sure = keeps(user, self.attr.user)
            && keeps(group, self.attr.group)
            && size.is_none()
            && mode.is_none_or(|mode| mode & SET_ID == 0 && self.attr.mode & !mode == 0)
            && is_set(accessed)
            && is_set(modified);
        if !is_sure {
            return None;
        }
        if let Some(mode) = *mode {
            (self.attr.mode, self.changes.mode) = (mode, Some(mode));
        }
        if let Some(TimeSet::To(time)) = *accessed {
            (self.attr.accessed, self.changes.accessed) = (time, *accessed);
        }
        if let Some(TimeSet::To(time)) = *modified {
            (self.attr.modified, self.changes.modified) = (time, *modified);
        }
        self.attr.size = self.end();
        Some(self.attr)
    }

    /// Returns the length of the file in bytes.
    pub fn end(&self) -> u64 {
        (self.data.len() - FRAME_HEAD) as u64
    }

    /// Returns for how many nanoseconds the file is held.
    pub fn age_ns(&self) -> u64 {
        clock::now_ns().saturating_sub(self.since_ns)
    }

    /// Returns what is to be sent: the bytes, behind space for the header of a frame, and the
    /// changes to make once they are written. `None` if there is nothing to send.
    pub fn into_parts(self) -> Option<(T, Vec<u8>, Option<Changes>)> {
        let changes = Some(self.changes).filter(|changes| *changes != Changes::default());
        let is_empty = self.data.len() == FRAME_HEAD && changes.is_none();
        (!is_empty).then_some((self.owner, self.data, changes))
    }
}

/// Returns how long the kernel may cache attributes of a node: not at all unless `is_current`.
pub fn validity(is_current: bool) -> Duration {
    if is_current { CACHE_TIMEOUT } else { Duration::ZERO }
}

#[cfg(test)]
mod tests;

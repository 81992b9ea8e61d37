//! The write-behind of a file: the written bytes that the node has not acknowledged. It decides
//! what may be sent. Nothing here blocks or sends.
//!
//! Consecutive writes are joined. The first write is sent at once. Writes that arrive while a write
//! is in flight are sent together, at most a piece at a time. So small writes do not cost a round
//! trip each, and no timer is needed. A write waits while an overlapping write is in flight, since
//! the node may execute writes in any order.

use std::collections::VecDeque;

use garland_protocol::files::{Changes, PIECE};
use garland_protocol::wire::FRAME_HEAD;

use crate::peer::room;

/// The maximum number of bytes that one request writes.
const FULL: usize = PIECE as usize;

/// Consecutive written bytes that wait to be sent.
#[derive(Debug)]
struct Extent<T> {
    number: u64,
    owner: T,
    offset: u64,
    /// The bytes to write, behind space for the header of a frame.
    data: Vec<u8>,
    /// Whether the bytes are appended to the file.
    append: bool,
    /// Attributes to change once the bytes are written.
    changes: Option<Changes>,
}

impl<T> Extent<T> {
    fn is_alone(&self) -> bool {
        self.append || self.changes.is_some()
    }
}

/// A write that the node has not answered.
#[derive(Debug)]
struct InFlight {
    number: u64,
    /// Its start offset and end offset in the file; an append has none, and ends at 0.
    range: (u64, u64),
    /// Whether no other write may be in flight beside it: the end of an append is unknown, and a
    /// later write must not come before the changes.
    is_alone: bool,
}

/// A write that is to be sent now.
#[derive(Debug)]
pub struct Flight<T> {
    /// The number of the write, which [`Behind::land`] takes.
    pub number: u64,
    /// The open file through which the bytes were written.
    pub owner: T,
    /// The offset in the file; without meaning for an append.
    pub offset: u64,
    /// The bytes to write, behind space for the header of a frame.
    pub data: Vec<u8>,
    /// Attributes to change once the bytes are written.
    pub changes: Option<Changes>,
}

/// The write-behind of one file: bytes that were written and are not acknowledged by its node.
#[derive(Debug)]
pub struct Behind<T> {
    waiting: VecDeque<Extent<T>>,
    flying: Vec<InFlight>,
    /// The number of the last write; they are numbered as they are put.
    last: u64,
}

impl<T> Default for Behind<T> {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), flying: Vec::new(), last: 0 }
    }
}

impl<T: Clone + PartialEq> Behind<T> {
    /// Adds bytes that `owner` wrote at `offset`; with `append`, bytes to append to the file.
    pub fn put(&mut self, owner: &T, offset: u64, bytes: &[u8], append: bool) {
        if let Some(back) = self.waiting.back_mut() {
            let length = back.data.len() - FRAME_HEAD;
            let follows = back.append && append || back.offset + length as u64 == offset;
            let same = back.owner == *owner && back.append == append && back.changes.is_none();
            if follows && same && length + bytes.len() <= FULL {
                return back.data.extend_from_slice(bytes);
            }
        }
        let mut data = room(bytes.len());
        data.extend_from_slice(bytes);
        let owner = owner.clone();
        self.last += 1;
        let number = self.last;
        self.waiting.push_back(Extent { number, owner, offset, data, append, changes: None });
    }

    /// Adds the first bytes of a file, behind space for the header of a frame, and attributes to
    /// change once the bytes are written.
    pub fn put_first(&mut self, owner: T, data: Vec<u8>, changes: Option<Changes>) {
        self.last += 1;
        let number = self.last;
        self.waiting.push_back(Extent { number, owner, offset: 0, data, append: false, changes });
    }

    /// Returns the next write that may be sent now, if any. With `hurry`, a caller waits for all
    /// writes, so that incomplete pieces are sent, too.
    pub fn take(&mut self, hurry: bool) -> Option<Flight<T>> {
        let front = self.waiting.front()?;
        let length = front.data.len() - FRAME_HEAD;
        let end = front.offset + length as u64;
        let is_alone = front.is_alone();
        let is_beside = |other: &InFlight| {
            let (from, to) = other.range;
            !(is_alone || other.is_alone) && (end <= from || to <= front.offset)
        };
        let is_free = self.flying.iter().all(is_beside);
        let is_time = hurry || self.flying.is_empty() || self.waiting.len() > 1 || length >= FULL;
        if !(is_free && is_time) {
            return None;
        }
        let Extent { number, owner, offset, data, append, changes } = self.waiting.pop_front()?;
        let range = if append { (0, 0) } else { (offset, end) };
        self.flying.push(InFlight { number, range, is_alone });
        Some(Flight { number, owner, offset, data, changes })
    }

    /// Removes the write with this number from those in flight, since the node has answered it.
    pub fn land(&mut self, number: u64) {
        self.flying.retain(|flying| flying.number != number);
    }

    /// Returns the number of the last write.
    pub fn last(&self) -> u64 {
        self.last
    }

    /// Returns the number up to which the node has answered all writes.
    pub fn settled(&self) -> u64 {
        let waiting = self.waiting.front().map(|extent| extent.number);
        let flying = self.flying.iter().map(|flying| flying.number);
        flying.chain(waiting).min().map_or(self.last, |first| first - 1)
    }

    /// Returns whether the node has answered all writes.
    pub fn is_settled(&self) -> bool {
        self.waiting.is_empty() && self.flying.is_empty()
    }

    /// Returns whether a write is unacknowledged beside which none may be in flight: an append, or
    /// one with a change of attributes.
    pub fn has_alone(&self) -> bool {
        self.waiting.iter().any(Extent::is_alone) || self.flying.iter().any(|one| one.is_alone)
    }

    /// Returns the highest end offset of all unacknowledged writes that are not appends.
    pub fn end(&self) -> Option<u64> {
        let waiting = self.waiting.iter().filter(|extent| !extent.append);
        let waiting = waiting.map(|extent| extent.offset + (extent.data.len() - FRAME_HEAD) as u64);
        let flying = self.flying.iter().map(|flying| flying.range.1);
        waiting.chain(flying).max().filter(|end| *end > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn took(behind: &mut Behind<u8>, hurry: bool) -> Option<(u64, u64, usize)> {
        let flight = behind.take(hurry)?;
        Some((flight.number, flight.offset, flight.data.len() - FRAME_HEAD))
    }

    #[test]
    fn the_first_goes_at_once_and_the_rest_together() {
        let mut behind = Behind::default();
        behind.put(&1, 0, b"ab", false);
        assert_eq!(took(&mut behind, false), Some((1, 0, 2)));
        behind.put(&1, 2, b"cd", false);
        behind.put(&1, 4, b"e", false);
        assert_eq!(took(&mut behind, false), None, "it may still grow");
        assert_eq!(behind.end(), Some(5));
        behind.land(1);
        assert_eq!(took(&mut behind, false), Some((2, 2, 3)));
        behind.put(&1, 5, b"f", false);
        assert_eq!(took(&mut behind, true), Some((3, 5, 1)), "somebody waits");
        behind.land(3);
        assert!(!behind.is_settled());
        behind.land(2);
        assert!(behind.is_settled());
        assert_eq!(behind.end(), None);
    }

    #[test]
    fn full_pieces_fly_side_by_side() {
        let mut behind = Behind::default();
        let bytes = vec![7; FULL];
        for piece in 0..3 {
            behind.put(&1, piece * FULL as u64, &bytes, false);
        }
        let all: Vec<_> = std::iter::from_fn(|| took(&mut behind, false)).collect();
        assert_eq!(all.len(), 3);
    }

    #[test]
    fn what_overlaps_waits() {
        let mut behind = Behind::default();
        behind.put(&1, 0, b"old", false);
        assert!(took(&mut behind, false).is_some());
        behind.put(&1, 1, b"new", false);
        behind.put(&1, 9, b"far", false);
        assert_eq!(took(&mut behind, true), None, "it would have to overtake");
        behind.land(1);
        assert_eq!(took(&mut behind, true), Some((2, 1, 3)));
        assert_eq!(took(&mut behind, true), Some((3, 9, 3)));
    }

    #[test]
    fn appends_and_owners_are_kept_apart() {
        let mut behind = Behind::default();
        behind.put(&1, 0, b"a", true);
        assert!(took(&mut behind, false).is_some());
        behind.put(&1, 0, b"b", true);
        behind.put(&2, 0, b"c", true);
        assert_eq!(took(&mut behind, true), None, "appends go one by one");
        assert_eq!(behind.end(), None);
        behind.land(1);
        assert_eq!(took(&mut behind, true), Some((2, 0, 1)));
    }

    #[test]
    fn nothing_is_in_flight_beside_a_change_of_attributes() {
        let mut behind = Behind::default();
        let mut first = room(3);
        first.extend_from_slice(b"abc");
        behind.put_first(1, first, Some(Changes { mode: Some(0o600), ..Changes::default() }));
        behind.put(&1, 3, b"d", false);
        assert_eq!(took(&mut behind, true), Some((1, 0, 3)));
        assert_eq!(took(&mut behind, true), None, "it would come before the change");
        assert_eq!(behind.end(), Some(4));
        behind.land(1);
        assert_eq!(took(&mut behind, true), Some((2, 3, 1)));
    }
}

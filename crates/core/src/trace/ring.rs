//! A thread's spans in a buffer of fixed size: after its creation it needs no allocation and no
//! lock.

use super::condense::condense;
use super::record::{Lost, Span};

/// The minimum capacity in spans, and the maximum number of [`Lost`] sums.
const MIN_SPANS: usize = 64;

/// The maximum number of blocks of a copy, and so of a span.
const MAX_BLOCKS: u32 = 1 << 24;

/// The spans of one thread, approximately sorted by start time. When the buffer is full,
/// neighbouring spans are merged ([`condense`]); if that is not enough, spans are discarded and
/// only their sums are kept.
#[derive(Clone, Debug)]
pub struct Ring {
    spans: Vec<Span>,
    room: usize,
    /// The current maximum number of blocks of a merged span.
    most: u32,
    /// Whether stages without blocks are merged like all others; otherwise they are merged last.
    even: bool,
    lost: Vec<Lost>,
}

impl Ring {
    /// Returns an empty ring with a capacity of `room` spans, at least 64.
    pub fn new(room: usize) -> Self {
        let room = room.max(MIN_SPANS);
        // Reserve the room for discarded spans as well: they are of few kinds.
        let lost = Vec::with_capacity(MIN_SPANS);
        Self { spans: Vec::with_capacity(room), room, most: 1, even: false, lost }
    }

    /// Returns a ring for operations other than copies, in which all stages are merged alike.
    pub fn even(room: usize) -> Self {
        Self { even: true, ..Self::new(room) }
    }

    /// Adds a span. If the buffer is full, neighbouring spans are merged first.
    pub fn push(&mut self, span: Span) {
        if self.spans.len() >= self.room {
            self.make_room(self.room * 3 / 4);
        }
        self.spans.push(span);
    }

    /// Returns the number of spans.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Returns whether there are no spans.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Reduces the ring to at most `room` spans; returns these, and the sums of discarded ones.
    #[must_use]
    pub fn into_parts(mut self, room: usize) -> (Vec<Span>, Vec<Lost>) {
        if self.spans.len() > room {
            self.make_room(room);
        }
        (self.spans, self.lost)
    }

    fn make_room(&mut self, enough: usize) {
        for all in [self.even, true] {
            let mut most = self.most;
            while self.spans.len() > enough && most <= MAX_BLOCKS {
                condense(&mut self.spans, most, all);
                if self.spans.len() > enough {
                    most *= 2;
                }
            }
            if self.spans.len() <= enough {
                self.most = most;
                return;
            }
        }
        let surplus = self.spans.len() - enough;
        let spans = &mut self.spans;
        let lost = &mut self.lost;
        spans.drain(..surplus).for_each(|span| lose(lost, &span));
    }
}

fn lose(lost: &mut Vec<Lost>, span: &Span) {
    let Span { stage, lane, peer, .. } = *span;
    let same = |kept: &Lost| (kept.stage, kept.lane, kept.peer) == (stage, lane, peer);
    let at = match lost.iter().position(same) {
        Some(at) => at,
        None if lost.len() < MIN_SPANS => {
            lost.push(Lost { stage, lane, peer, count: 0, busy_ns: 0, bytes: 0 });
            lost.len() - 1
        }
        // There is no room for another peer: add its sums to those of another peer of the same
        // stage, or to the first sums.
        None => lost.iter().position(|kept| kept.stage == stage).unwrap_or(0),
    };
    let kept = &mut lost[at];
    kept.count = kept.count.saturating_add(u64::from(span.count));
    kept.busy_ns = kept.busy_ns.saturating_add(span.busy_ns);
    kept.bytes = kept.bytes.saturating_add(span.bytes);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trace::{NONE, Stage};

    fn span(stage: Stage, peer: u16, at: u64) -> Span {
        Span {
            stage,
            lane: 0,
            peer,
            thread: 1,
            begin_ns: at * 1000,
            end_ns: at * 1000 + 700,
            busy_ns: 700,
            bytes: 3,
            block: 0,
            count: 1,
            operation: 0,
        }
    }

    #[test]
    fn a_long_copy_is_merged_evenly() {
        let mut ring = Ring::new(100);
        for at in 0..10_000 {
            ring.push(span(Stage::Read, NONE, 2 * at));
            ring.push(span(Stage::Seal, NONE, 2 * at + 1));
        }
        let (spans, lost) = ring.into_parts(100);
        assert!(spans.len() <= 100 && spans.len() > 40, "{}", spans.len());
        assert!(lost.is_empty());
        assert_eq!(spans.iter().map(|span| span.count).sum::<u32>(), 20_000);
        let largest = spans.iter().map(|span| span.count).max().unwrap();
        let small = spans.iter().filter(|span| span.count * 4 < largest).count();
        assert!(small <= 50, "{small} of {} are much finer than the rest", spans.len());
    }

    #[test]
    fn what_cannot_be_merged_is_kept_by_its_sums() {
        let mut ring = Ring::new(64);
        (0..1000).for_each(|at| ring.push(span(Stage::Dial, u16::try_from(at).unwrap(), at)));
        let (spans, lost) = ring.into_parts(64);
        let count = spans.iter().map(|span| u64::from(span.count)).sum::<u64>();
        assert_eq!(count + lost.iter().map(|lost| lost.count).sum::<u64>(), 1000);
        assert!(spans.len() <= 64 && lost.len() <= 64);
    }

    proptest! {
        #[test]
        fn the_room_holds_and_sums_stay(stages in proptest::collection::vec((0..18_u8, 0..20_u16), 0..600), room in 64..128_usize, end in 1..128_usize) {
            let mut ring = Ring::new(room);
            for (at, &(stage, peer)) in (0..).zip(&stages) {
                ring.push(span(Stage::of_number(stage).unwrap(), peer, at));
                prop_assert!(ring.spans.len() <= room && ring.spans.capacity() < 2 * room);
            }
            let (spans, lost) = ring.into_parts(end);
            prop_assert!(spans.len() <= end);
            prop_assert!(spans.is_sorted_by_key(|span| span.begin_ns));
            let (busy, bytes) = spans.iter().fold((0, 0), |(busy, bytes), span| (busy + span.busy_ns, bytes + span.bytes));
            let (busy, bytes) = lost.iter().fold((busy, bytes), |(busy, bytes), lost| (busy + lost.busy_ns, bytes + lost.bytes));
            prop_assert_eq!((busy, bytes), (700 * stages.len() as u64, 3 * stages.len() as u64));
        }
    }
}

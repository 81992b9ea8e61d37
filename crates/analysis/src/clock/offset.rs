//! The offset of one node's clock from the head's over the whole run.

use super::piece::{Bound, Piece, Trip, pieces};

/// A moment on the head's clock with its error bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// Nanoseconds of the head's clock.
    pub ns: i64,
    /// The error bound of `ns` in nanoseconds.
    pub error_ns: u64,
}

/// A step of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The readings of the node's clock before and after the step.
    pub between: (i64, i64),
    /// The size of the step in nanoseconds: the middle of the possible interval.
    pub by_ns: i64,
    /// The error bound of `by_ns` in nanoseconds.
    pub error_ns: u64,
}

/// The offset of a node's clock over time.
#[derive(Clone, Debug)]
pub(super) struct Offset {
    /// The pieces in the order of the node's readings; at least one.
    pieces: Vec<Piece>,
}

/// An offset that is not known to within this many nanoseconds (an hour) counts as unknown.
const USELESS_NS: i64 = 3_600_000_000_000;

impl Offset {
    /// Computes the offset from round trips in any order; `None` if they do not bound it to less
    /// than an hour.
    pub fn from_trips(mut trips: Vec<Trip>) -> Option<Self> {
        trips.sort_by_key(|trip| trip[0].order);
        let offset = Self { pieces: pieces(&trips) };
        let middle = trips.get(trips.len() / 2)?[0].at;
        let (low, high) = offset.offsets(middle)?;
        (high.saturating_sub(low) < USELESS_NS).then_some(offset)
    }

    /// Adds a bound to the piece that it belongs to; returns whether it is consistent with the
    /// piece's other bounds. A bound between two pieces is ignored.
    pub fn tighten(&mut self, bound: &Bound) -> bool {
        let within = |piece: &Piece| (piece.from..=piece.until).contains(&bound.at);
        if let [only] = &mut self.pieces[..] {
            return only.tighten(bound);
        }
        // A bound between two pieces could belong to either, so it is ignored.
        self.pieces.iter_mut().find(|piece| within(piece)).is_none_or(|p| p.tighten(bound))
    }

    /// Returns the minimum and maximum offset when the node's clock shows `at`.
    pub fn offsets(&self, at: i64) -> Option<(i64, i64)> {
        let after = self.pieces.iter().position(|piece| at <= piece.until);
        let after = after.unwrap_or(self.pieces.len().checked_sub(1)?);
        let next = &self.pieces[after];
        let (low, high) = next.offsets(at);
        let before = after.checked_sub(1).filter(|_| at < next.from);
        Some(before.map_or((low, high), |before| {
            // Between two pieces it is unknown which one the clock follows.
            let (other_low, other_high) = self.pieces[before].offsets(at);
            (low.min(other_low), high.max(other_high))
        }))
    }

    /// Returns the head's time when the node's clock shows `at`.
    pub fn to_head(&self, at: i64) -> Option<Moment> {
        let (low, high) = self.offsets(at)?;
        let (offset, error_ns) = middle(low, high);
        Some(Moment { ns: at - offset, error_ns })
    }

    /// Returns the minimum and maximum difference between the rates of the node's clock and the
    /// head's, as a fraction, in the longest piece.
    pub fn rates(&self) -> Option<(f64, f64)> {
        let longest = self.pieces.iter().max_by_key(|piece| piece.until - piece.from)?;
        Some(longest.rates())
    }

    /// Returns the steps of the clock, between pieces of unequal offset.
    pub fn steps(&self) -> Vec<Step> {
        let step = |pair: &[Piece]| {
            let between = (pair[0].until, pair[1].from);
            let (low, high) = pair[0].offsets(between.0);
            let (next_low, next_high) = pair[1].offsets(between.1);
            let apart = next_low > high || next_high < low;
            let (by_ns, error_ns) = middle(next_low - high, next_high - low);
            apart.then_some(Step { between, by_ns, error_ns })
        };
        self.pieces.windows(2).filter_map(step).collect()
    }
}

/// Returns the middle of an interval, and the distance from the middle to the ends.
fn middle(low: i64, high: i64) -> (i64, u64) {
    let half = (high - low) / 2;
    (low + half, u64::try_from(high - low - half).unwrap_or(0))
}

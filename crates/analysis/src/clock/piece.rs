//! A period in which the offset of a clock follows one line.

use super::exchange::Exchange;
use super::region::{Region, Side};

/// A bound from a round trip or a message: at the reading `at` of the node's clock, its offset from
/// the head's clock is on `side` of `offset` nanoseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bound {
    /// The value by which bounds are sorted: the reading, at this event, of the clock with the
    /// smaller node index, which is assumed to run evenly.
    pub order: i64,
    pub at: i64,
    pub offset: i64,
    pub side: Side,
}

/// The offset of a node's clock from the head's while it follows one line.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// The readings of the node's clock at the first bound of this piece (`from`) and at the last
    /// (`until`).
    pub from: i64,
    pub until: i64,
    /// A value subtracted from every offset, to keep numbers small.
    base: i64,
    /// The reading of the node's clock that is second 0 of `region`.
    origin: i64,
    region: Region,
}

/// The two bounds of a round trip: of its request and of its reply.
pub(super) type Trip = [Bound; 2];

/// Returns the bounds that a round trip sets to the offset of one clock from another; the first
/// clock is that of the smaller node index. Readings of the first clock order the bounds. Each
/// bound is at a reading of the second clock if `at_other`, else of the first.
pub(super) fn trip(exchange: &Exchange, at_other: bool) -> Trip {
    let Exchange { from, to, sent, received, answered, back } = *exchange;
    let readings = if from < to {
        [(sent, received, Side::Below), (back, answered, Side::Above)]
    } else {
        [(received, sent, Side::Above), (answered, back, Side::Below)]
    };
    readings.map(|(first, other, side)| {
        let at = if at_other { other } else { first };
        Bound { order: first, at, offset: other - first, side }
    })
}

/// Divides the sorted round trips of one clock into as few pieces as possible.
pub(super) fn pieces(trips: &[Trip]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for trip in trips {
        let longer = pieces.last().and_then(|piece| piece.extended(trip));
        match (longer, pieces.last_mut()) {
            (Some(longer), Some(last)) => *last = longer,
            _ => pieces.extend(Piece::begin(&trip[0]).extended(trip)),
        }
    }
    pieces
}

impl Piece {
    fn begin(bound: &Bound) -> Self {
        let at = bound.at;
        let base = bound.offset;
        Self { from: at, until: at, base, origin: at, region: Region::whole() }
    }

    /// Returns the piece extended by the next round trip, if it is consistent.
    fn extended(&self, trip: &Trip) -> Option<Self> {
        let mut longer = self.clone();
        for bound in trip {
            if !longer.tighten(bound) {
                return None;
            }
            longer.from = longer.from.min(bound.at);
            longer.until = longer.until.max(bound.at);
        }
        Some(longer)
    }

    /// Adds a bound that belongs to this piece; returns whether it is consistent.
    pub fn tighten(&mut self, bound: &Bound) -> bool {
        let offset = bound.offset.saturating_sub(self.base) as f64;
        match self.region.clip(self.seconds(bound.at), offset, bound.side) {
            Some(region) => {
                self.region = region;
                true
            }
            None => false,
        }
    }

    /// Returns the minimum and maximum offset when the node's clock shows `at`.
    pub fn offsets(&self, at: i64) -> (i64, i64) {
        let (low, high) = self.region.interval(self.seconds(at));
        (self.base.saturating_add(low.floor() as i64), self.base.saturating_add(high.ceil() as i64))
    }

    /// Returns the minimum and maximum difference between the rates of the node's clock and the
    /// head's, as a fraction.
    pub fn rates(&self) -> (f64, f64) {
        let (low, high) = self.region.rates();
        (low / 1e9, high / 1e9)
    }

    fn seconds(&self, at: i64) -> f64 {
        at.saturating_sub(self.origin) as f64 / 1e9
    }
}

//! Loops of three clocks. Their offsets must add up to zero.

use std::collections::BTreeMap;

use super::exchange::Exchange;
use super::offset::Offset;
use super::piece::{Trip, trip};

/// Three nodes whose clock offsets, measured pair by pair, do not add up to zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closure {
    /// The indices of the nodes.
    pub nodes: [usize; 3],
    /// The smallest absolute value that the sum of the three offsets can have, in nanoseconds.
    pub miss_ns: u64,
}

/// The offset of a pair's second clock from its first, and the reading of the first clock in the
/// middle of the measurements.
struct Pair {
    offset: Offset,
    middle: i64,
}

/// Returns all loops of three probed pairs that do not close.
pub(super) fn open_loops(exchanges: &[Exchange]) -> Vec<Closure> {
    let by_nodes = pairs(exchanges);
    let mut open = Vec::new();
    for &(a, b) in by_nodes.keys() {
        let thirds = by_nodes.range((b, 0)..=(b, usize::MAX)).map(|(&(_, c), _)| c);
        for c in thirds.filter(|&c| by_nodes.contains_key(&(a, c))) {
            if let Some(miss_ns) = miss(&by_nodes[&(a, b)], &by_nodes[&(b, c)], &by_nodes[&(a, c)])
            {
                open.push(Closure { nodes: [a, b, c], miss_ns });
            }
        }
    }
    open
}

/// Returns the smallest absolute value, in nanoseconds, that the sum of the offsets b - a, c - b
/// and a - c can have; `None` if the sum can be zero.
fn miss(ab: &Pair, bc: &Pair, ac: &Pair) -> Option<u64> {
    let (ab_low, ab_high) = ab.offset.offsets(ac.middle)?;
    // The approximate reading of b's clock when a's clock shows `ac.middle`: rates change little
    // within an offset's error.
    let at_b = ac.middle + ab_low + (ab_high - ab_low) / 2;
    let (bc_low, bc_high) = bc.offset.offsets(at_b)?;
    let (ac_low, ac_high) = ac.offset.offsets(ac.middle)?;
    let low = ab_low + bc_low - ac_high;
    let high = ab_high + bc_high - ac_low;
    let least = if low > 0 { low } else { high.min(0) };
    (least != 0).then_some(least.unsigned_abs())
}

/// Returns for each probed pair, by (smaller, larger) node index, its offset. Pairs without a
/// bounded offset are left out.
fn pairs(exchanges: &[Exchange]) -> BTreeMap<(usize, usize), Pair> {
    let mut trips: BTreeMap<(usize, usize), Vec<Trip>> = BTreeMap::new();
    for exchange in exchanges {
        let from = exchange.from;
        let to = exchange.to;
        trips.entry((from.min(to), from.max(to))).or_default().push(trip(exchange, false));
    }
    let pair = |(ends, mut of_pair): ((usize, usize), Vec<Trip>)| {
        of_pair.sort_by_key(|trip| trip[0].order);
        let middle = of_pair[of_pair.len() / 2][0].at;
        Some((ends, Pair { offset: Offset::from_trips(of_pair)?, middle }))
    };
    trips.into_iter().filter_map(pair).collect()
}

//! The rows of the ledger.

use std::collections::BTreeMap;

use super::cause::Cause;
use super::segment::{Place, Segment};
use super::world::World;

/// A row of the ledger.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// The cause of the time.
    pub cause: Cause,
    /// The node or hop at which the time was spent.
    pub place: Place,
    /// The time in nanoseconds.
    pub ns: u64,
    /// For a straggler, the cause of most of its time; otherwise `None`.
    pub within: Option<Cause>,
    /// The fraction of the time for which records prove this cause, from 0 to 1. Time below 0.8 is
    /// not reported as a fault.
    pub covered: f64,
}

/// The sums that make up a row.
#[derive(Default)]
struct Sum {
    ns: u64,
    covered: f64,
    within: BTreeMap<Cause, u64>,
}

/// Returns the rows of a path, largest first. The rows sum to the length of the path.
pub(super) fn rows_of(world: &World, path: &[Segment]) -> Vec<Row> {
    let mut sums: BTreeMap<(Cause, Place), Sum> = BTreeMap::new();
    for segment in path {
        let sum = sums.entry((segment.cause, segment.place)).or_default();
        sum.ns += segment.ns();
        sum.covered += segment.ns() as f64 * covered(world, segment);
        if let Some(within) = segment.within {
            *sum.within.entry(within).or_default() += segment.ns();
        }
    }
    let row = |((cause, place), sum): ((Cause, Place), Sum)| {
        let Sum { ns, covered, within } = sum;
        let within = within.into_iter().max_by_key(|(_, ns)| *ns).map(|(cause, _)| cause);
        Row { cause, place, ns, within, covered: covered / ns.max(1) as f64 }
    };
    let mut rows: Vec<Row> = sums.into_iter().map(row).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.ns));
    rows
}

/// Returns the fraction of a segment for which records prove its cause, from 0 to 1: on a hop, the
/// fraction in which the kernel reports the connection as busy; otherwise 1.
pub(super) fn covered(world: &World, segment: &Segment) -> f64 {
    let (Some(from), Some(to)) = (segment.place.node, segment.place.to) else { return 1.0 };
    if segment.cause == Cause::Control {
        return 1.0;
    }
    let sockets = world.sockets.iter().filter(|(key, _)| (key.1, key.2) == (from, to));
    let busy = sockets.filter_map(|(_, samples)| {
        let ((t0, t1), [busy, ..]) = samples.around(segment.begin, segment.end)?;
        Some((busy * 1e3 / ((t1 - t0) as f64).max(1.0)).min(1.0))
    });
    busy.max_by(f64::total_cmp).unwrap_or(1.0)
}

/// Returns the fraction of a hop's segments that were retransmitted; of several lanes, the largest.
/// The number of segments is computed from the bytes, with 1448 bytes each.
pub(super) fn resent(world: &World, place: Place) -> f64 {
    let (Some(from), Some(to)) = (place.node, place.to) else { return 0.0 };
    let sockets = world.sockets.iter().filter(|(key, _)| (key.1, key.2) == (from, to));
    let shares = sockets.filter_map(|(_, samples)| {
        let (begin, end) = samples.known()?;
        let [.., again, bytes] = samples.between(begin, end)?;
        Some(again / (bytes / 1448.0).max(1.0))
    });
    shares.fold(0.0, f64::max)
}

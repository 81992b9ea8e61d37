//! The rates of wires, compared with each other: what a hop's bytes would need at the rate of its
//! peers, and what its losses of packets cost.

use std::collections::{BTreeMap, BTreeSet};

use garland_core::trace::Stage;

use super::cause::Cause;
use super::rows::resent;
use super::segment::{Busy, Place, Segment};
use super::world::World;

/// The windows in which rates are measured, in nanoseconds: much longer than it takes to fill the
/// buffers of a connection.
const WINDOW_NS: i64 = 500_000_000;

/// The largest number of such windows.
const WINDOWS: i64 = 200;

/// The time before and after a segment in which its rate is measured, too, in nanoseconds.
const AROUND_NS: i64 = 150_000_000;

/// A hop loses packets if at least this fraction of its segments was sent again.
const LOSSY: f64 = 0.01;

/// A hop that is lossy loses time if that is at least this fraction of its time.
const LOST: f64 = 0.1;

impl World {
    /// Returns the bytes that a node has sent and received between two moments, over all hops.
    fn carried(&self, node: usize, begin: i64, end: i64) -> (f64, f64) {
        let mut sum = (0.0, 0.0);
        for ((_, near, far), hop) in &self.hops {
            if *near == node {
                sum.0 += hop.sent.between(begin, end);
            }
            if *far == node {
                sum.1 += hop.received.between(begin, end);
            }
        }
        sum
    }

    /// Returns the largest rate that any node has sent or received at, in bytes per second; `None`
    /// if no window was long enough to measure it.
    pub(super) fn fastest(&self) -> Option<f64> {
        let ends = self.hops.values().filter_map(|hop| hop.sent.known());
        let (begin, end) = ends.reduce(|one, two| (one.0.min(two.0), one.1.max(two.1)))?;
        let nodes: BTreeSet<usize> =
            self.hops.keys().flat_map(|(_, near, far)| [*near, *far]).collect();
        // Few windows, since a file can contain any numbers.
        let window = WINDOW_NS.max(end.saturating_sub(begin) / WINDOWS);
        let mut most: Option<f64> = None;
        let mut at = begin;
        while let Some(until) = at.checked_add(window).filter(|until| *until <= end) {
            for node in &nodes {
                let (sent, received) = self.carried(*node, at, until);
                let rate = sent.max(received) / window as f64 * 1e9;
                most = Some(most.map_or(rate, |most| most.max(rate)));
            }
            at = until;
        }
        most
    }

    /// Returns the nanoseconds that the bytes of a segment of a wire need at the rate of the wires;
    /// `None` for other segments, and if that rate is unknown. The NICs at both ends may serve
    /// other hops, too: the busier one counts. A short segment has the rate of the time around it,
    /// since bytes move in bursts.
    pub(super) fn needed_ns(&self, segment: &Segment) -> Option<f64> {
        let (cause, place) = segment.family();
        let from = place.node?;
        let to = place.to?;
        let rate = self.wire_rate?;
        let hops = self.hops.iter().filter(|((_, near, far), _)| (*near, *far) == (from, to));
        let known = hops.flat_map(|(_, hop)| [hop.sent.known(), hop.received.known()]).flatten();
        let (first, last) = known.reduce(|one, two| (one.0.min(two.0), one.1.max(two.1)))?;
        let begin = segment.begin.saturating_sub(AROUND_NS).max(first).min(segment.begin);
        let end = segment.end.saturating_add(AROUND_NS).min(last).max(segment.end);
        let (sent, _) = self.carried(from, begin, end);
        let (_, received) = self.carried(to, begin, end);
        let share = sent.max(received) / rate.max(1.0) * 1e9 / (end - begin).max(1) as f64;
        matches!(cause, Cause::Wire | Cause::ClockError)
            .then(|| share.min(1.0) * segment.ns() as f64)
    }
}

/// Returns for each hop the time between two moments in which only its wire held the bytes up: the
/// sender waited to send more, and the receiver for more to arrive.
pub(super) fn held_up(world: &World, begin: i64, end: i64) -> Vec<Busy> {
    let held = world.hops.keys().filter_map(|&(lane, from, to)| {
        let receiver = &world.threads[*world.lanes.get(&(to, lane))?];
        let sender = &world.threads[world.sender((lane, from, to), end)?];
        let waits = sender
            .pieces
            .iter()
            .filter(|piece| piece.stage == Stage::WaitDownstream && usize::from(piece.peer) == to);
        let both = waits.map(|piece| {
            let begin = piece.begin.max(begin);
            let end = piece.end.min(end);
            if begin < end { receiver.spent(&[Stage::WaitUpstream], begin, end) } else { 0 }
        });
        Some((Cause::Wire, Place::hop(from, to), both.sum()))
    });
    held.collect()
}

/// Attributes the time of lossy hops that exceeds what their bytes need to [`Cause::Loss`].
pub(super) fn losses(world: &World, path: Vec<Segment>) -> Vec<Segment> {
    let mut hops: BTreeMap<Place, (f64, f64)> = BTreeMap::new();
    for segment in &path {
        if let Some(needed) = world.needed_ns(segment) {
            let sum = hops.entry(segment.place).or_default();
            sum.0 += segment.ns() as f64;
            sum.1 += needed;
        }
    }
    let share = |place: &Place| {
        let (ns, needed) = hops.get(place)?;
        let share = 1.0 - needed / ns.max(1.0);
        // Hops that crowd each other on a trunk lose packets there, which is no fault of the wires.
        let is_lossy = !world.has_slow_trunk && resent(world, *place) >= LOSSY;
        (share >= LOST && is_lossy).then_some(share)
    };
    let mut all = Vec::with_capacity(path.len());
    for segment in path {
        match share(&segment.place).filter(|_| segment.cause == Cause::Wire) {
            Some(part) => {
                let rest = segment.shared(part, Cause::Loss, segment.place, &mut all);
                all.push(rest);
            }
            None => all.push(segment),
        }
    }
    all
}

//! The rows of the ledger, the faults among them, and the improvement with the largest gain.

use std::collections::BTreeMap;

use super::cause::Cause;
use super::run::Run;
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
    /// The fraction of the time for which records prove this cause, from 0 to 1. A row below 0.8 is
    /// not reported as a fault.
    pub covered: f64,
}

/// The improvement with the largest gain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fix {
    /// The cause of the time that the improvement saves.
    pub cause: Cause,
    /// The node or hop at which to remove the cause.
    pub place: Place,
    /// The maximum gain in nanoseconds, until another cause becomes the bottleneck.
    pub gain_ns: u64,
}

/// A row is a fault only if records prove its cause for at least this fraction of its time.
const COVERED: f64 = 0.8;

/// A row is a fault only if it has at least this fraction of the command's time.
const MATTERS: f64 = 0.1;

/// A run is healthy if it exceeds the minimum time for its bytes by less than this fraction.
const HEALTHY: f64 = 0.1;

/// The causes that are faults even if no limit is known: a healthy pipeline always has a
/// bottleneck, but never one of these.
const NEVER_RIGHT: [Cause; 6] = [
    Cause::BlockedByPeer,
    Cause::BlockedByBuffer,
    Cause::Processor,
    Cause::Straggler,
    Cause::Pause,
    Cause::Bubble,
];

/// The sums that make up a row.
#[derive(Default)]
struct Sum {
    ns: u64,
    covered: f64,
    within: BTreeMap<Cause, u64>,
}

/// Returns the rows of a path, largest first. The rows sum to the length of the path.
pub(super) fn rows(world: &World, path: &[Segment]) -> Vec<Row> {
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
fn covered(world: &World, segment: &Segment) -> f64 {
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

/// Returns the rows that are faults, largest first.
pub(super) fn faults(run: &Run<'_>, world: &World, rows: &[Row]) -> Vec<Row> {
    let wall = run.wall_ns() as f64;
    let least = run.limit.map(|limit| run.bytes as f64 / limit.max(1.0) * 1e9);
    if least.is_some_and(|least| wall - least < HEALTHY * wall) {
        return Vec::new();
    }
    let wires: u64 = rows.iter().filter(|row| row.cause == Cause::Wire).map(|row| row.ns).sum();
    let is_fault = |row: &&Row| {
        let matters = row.ns as f64 >= MATTERS * wall && row.covered >= COVERED;
        let wrong = match (row.cause, least) {
            // Wire time is a fault only if the sum over all lanes exceeds the minimum time of the
            // bytes.
            (Cause::Wire, Some(least)) => wires as f64 - least >= MATTERS * wall,
            (Cause::Wire, None) => resent(world, row.place) > 0.01,
            // Every run has control messages, but lanes need not wait for them.
            (Cause::Control, _) => row.place.to.is_some(),
            (cause, Some(_)) => cause.can_be_fault(),
            (cause, None) => NEVER_RIGHT.contains(&cause),
        };
        matters && wrong
    };
    rows.iter().filter(is_fault).copied().collect()
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

/// Returns the improvement that gains the most time; `None` if none gains any. No copy is faster
/// than its busiest other stage.
pub(super) fn best_fix(run: &Run<'_>, rows: &[Row], busy: &[(Cause, Place, i64)]) -> Option<Fix> {
    let begin = run.end_of(&["set-up", "waiting"]);
    let stream = run.end_of(&["drain"]).saturating_sub(begin);
    let wire = run.limit.map_or(0.0, |limit| run.bytes as f64 / limit.max(1.0) * 1e9) as i64;
    let fix = |row: &Row| {
        let others =
            busy.iter().filter(|(cause, place, _)| (*cause, *place) != (row.cause, row.place));
        let others = others.map(|(.., ns)| *ns).max().unwrap_or(0);
        let floor = if row.cause == Cause::Wire { others } else { others.max(wire) };
        let room = u64::try_from(stream.saturating_sub(floor)).unwrap_or(0);
        let gain_ns = match row.cause {
            Cause::Fsync | Cause::SetUp | Cause::Queue => row.ns,
            Cause::Wire => row.ns.saturating_sub(u64::try_from(wire).unwrap_or(0)).min(room),
            _ => row.ns.min(room),
        };
        Fix { cause: row.cause, place: row.place, gain_ns }
    };
    let known = |row: &&Row| row.cause.can_be_helped();
    let best = rows.iter().filter(known).map(fix).max_by_key(|fix| fix.gain_ns);
    best.filter(|fix| fix.gain_ns > 0)
}

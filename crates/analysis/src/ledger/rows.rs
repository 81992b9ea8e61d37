//! The ledger's rows, what of them is a fault, and what would help.

use std::collections::BTreeMap;

use super::cause::Cause;
use super::run::Run;
use super::segment::{Place, Segment};
use super::world::World;

/// A row of the ledger.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Row {
    /// What the time went into.
    pub cause: Cause,
    /// Where.
    pub place: Place,
    /// How long, in nanoseconds.
    pub ns: u64,
    /// What most of it was, for a straggler.
    pub within: Option<Cause>,
    /// The share of it that records of this very thing cover, from 0 to 1. Below 0.8 it is not named
    /// a fault.
    pub covered: f64,
}

/// What would be gained most by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fix {
    /// What to better.
    pub cause: Cause,
    /// Where.
    pub place: Place,
    /// How much sooner the command would have ended at most, in nanoseconds: until something else
    /// keeps it.
    pub gain_ns: u64,
}

/// A cause is named only where records cover this share of the time that it explains.
const COVERED: f64 = 0.8;

/// What takes less than this share of the command is no fault.
const MATTERS: f64 = 0.1;

/// A run this near to its limit is healthy.
const HEALTHY: f64 = 0.1;

/// Without a known limit, what a pipeline is bound by is no fault; these never are what it should be
/// bound by.
const NEVER_RIGHT: [Cause; 6] = [
    Cause::BlockedByPeer,
    Cause::BlockedByBuffer,
    Cause::Processor,
    Cause::Straggler,
    Cause::Pause,
    Cause::Bubble,
];

/// What becomes a row.
#[derive(Default)]
struct Sum {
    ns: u64,
    covered: f64,
    within: BTreeMap<Cause, u64>,
}

/// The rows of a path, the largest first. They sum to its length.
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

/// The share of a stretch that its own evidence covers. Work has a span of its own, and so has waiting
/// for leave; bytes that are said to be under way must keep their connection busy.
fn covered(world: &World, segment: &Segment) -> f64 {
    let (Some(from), Some(to)) = (segment.place.node, segment.place.to) else { return 1.0 };
    if segment.cause == Cause::Control {
        return 1.0;
    }
    let sockets = world.sockets.iter().filter(|(key, _)| (key.1, key.2) == (from, to));
    let busy = sockets.filter_map(|(_, samples)| {
        let (ns, [busy, ..]) = samples.around(segment.begin, segment.end)?;
        Some((busy * 1e3 / (ns as f64).max(1.0)).min(1.0))
    });
    busy.max_by(f64::total_cmp).unwrap_or(1.0)
}

/// The rows that are faults, the largest first.
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
            // What the bytes need on a wire anyway isn't its fault; nor is it a slow lane's.
            (Cause::Wire, Some(least)) => wires as f64 - least >= MATTERS * wall,
            (Cause::Wire, None) => resent(world, row.place) > 0.01,
            // Every run has orders and answers, but no lane has to wait for them.
            (Cause::Control, _) => row.place.to.is_some(),
            (cause, Some(_)) => cause.can_be_fault(),
            (cause, None) => NEVER_RIGHT.contains(&cause),
        };
        matters && wrong
    };
    rows.iter().filter(is_fault).copied().collect()
}

/// The share of a hop's segments that were sent again, by a full segment's payload.
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

/// What would help most, and by how much at most: until the slowest of what else there is has no rest
/// any more.
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

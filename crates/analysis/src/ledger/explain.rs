//! Computes the ledger of a run.

use garland_core::trace::{NONE, Stage};

use super::beginning::beginning;
use super::cause::Cause;
use super::disks::{DiskUse, disks};
use super::faults::{Families, Fault, Fix, NoFix};
use super::rest::Rest;
use super::rows::{Row, resent, rows_of};
use super::run::{BEFORE_STREAM, Run};
use super::segment::{Place, Segment, joined};
use super::walk::Walk;
use super::weigh::Scales;
use super::wires::losses;
use super::world::World;
use crate::clock::Clocks;

/// A node whose activity in a run is unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Undecided {
    /// The node's index.
    pub node: usize,
    /// Whether the trace exists but its clock's offset is unknown; if false, the trace is missing.
    pub clock_unknown: bool,
    /// The time spent waiting for the node, in nanoseconds. A wait that could be for any of several
    /// such nodes counts for each of them.
    pub ns: u64,
}

/// The time of a run by cause.
#[derive(Clone, Debug, PartialEq)]
pub struct Ledger {
    /// The duration of the command, in nanoseconds.
    pub wall_ns: u64,
    /// The rows, largest first; they sum to the duration.
    pub rows: Vec<Row>,
    /// The faults, the most expensive one first.
    pub faults: Vec<Fault>,
    /// The improvement that gains the most time, or why none is named.
    pub fix: Result<Fix, NoFix>,
    /// Whether the stream was too short to tell what limited it: then no fault is looked for.
    pub too_short: bool,
    /// The critical path in order, in nanoseconds since the start of the command.
    pub path: Vec<Segment>,
    /// The nodes whose activity is unknown.
    pub undecided: Vec<Undecided>,
    /// For each hop with retransmitted segments, the fraction of its segments that were
    /// retransmitted.
    pub resent: Vec<(Place, f64)>,
    /// The use of the disks to which at least 10 % of the command's time is attributed.
    pub disks: Vec<DiskUse>,
    /// For each node, the error bound of its clock in nanoseconds; `None` if unknown.
    pub clock_errors: Vec<Option<u64>>,
}

/// A straggler ends later than all others by at least this fraction of the command's time.
const LATE: f64 = 0.05;

/// A node that commits at least this many nanoseconds after its last block, and after the last
/// block of another node, has waited for that node.
const TOGETHER_NS: i64 = 50_000_000;

/// Attributes all time of a run to causes.
pub fn explain(run: &Run<'_>, clocks: &Clocks) -> Ledger {
    let world = World::from_run(run, clocks);
    let path = critical_path(run, &world);
    let scales = Scales::new(run, &world);
    let path = scales.weigh(path);
    let path = joined(stragglers(run, &world, losses(&world, path)));
    let rows = rows_of(&world, &path);
    let families = Families::from_path(&world, &path);
    let faults = families.faults(run);
    let began = run.began();
    let relative = |s: Segment| Segment { begin: s.begin - began, end: s.end - began, ..s };
    let missing = (0..run.nodes.len()).filter(|&node| world.errors[node].is_none());
    let undecided = missing.map(|node| {
        let of_node = rows.iter().filter(|row| {
            row.cause == Cause::Undecided && row.place.node.is_none_or(|at| at == node)
        });
        let clock_unknown = run.traces.get(node).is_some_and(Option::is_some);
        Undecided { node, clock_unknown, ns: of_node.map(|row| row.ns).sum() }
    });
    let hops = rows.iter().filter(|row| row.place.to.is_some()).map(|row| row.place);
    let mut resent: Vec<(Place, f64)> = hops.map(|hop| (hop, resent(&world, hop))).collect();
    resent.retain(|(_, share)| *share > 0.0);
    resent.dedup();
    Ledger {
        wall_ns: run.wall_ns(),
        fix: families.best_fix(run, &faults, &rows, &Rest::compute(run, &scales, &path)),
        too_short: run.is_short(),
        faults,
        undecided: undecided.collect(),
        resent,
        disks: disks(run, &rows),
        clock_errors: world.errors.clone(),
        path: path.into_iter().map(relative).collect(),
        rows,
    }
}

/// Returns the critical path in order, from the start of the command to its end, without gaps.
fn critical_path(run: &Run<'_>, world: &World) -> Vec<Segment> {
    let began = run.began();
    let end = run.stretches().last().map_or(began, |(.., end)| *end);
    let ready = run.end_of(&BEFORE_STREAM);
    let committed = run.end_of(&["fsync"]).max(ready);
    let mut walk = Walk::new(world, ready, end);
    walk.pass(committed, Cause::Teardown, Place::default());
    let head_known = world.errors.first().is_some_and(Option::is_some);
    if head_known {
        let last = follow_commit(run, world, &mut walk);
        // Nodes with a part each commit together: the one that landed last was waited for.
        let own = world.last_landing(last, walk.at());
        let any = world.last_landing(None, walk.at());
        let together = any.filter(|any| own.is_none_or(|own| any.1 - own.1 > TOGETHER_NS));
        match together.or(own) {
            Some((thread, landed)) => {
                let node = last.unwrap_or(world.threads[thread].node);
                walk.pass(landed, Cause::FinalAck, Place::node(node));
                walk.follow(thread);
            }
            None => follow_head(run, world, &mut walk),
        }
    }
    let (mut segments, at) = walk.end();
    for (name, begin, end) in run.stretches().into_iter().rev() {
        let end = end.min(at);
        let cause = match name {
            "set-up" | "comparison" => {
                segments.extend(beginning(run, world, begin, end));
                continue;
            }
            "search" => Cause::Search,
            "waiting" => Cause::Queue,
            "first byte" => Cause::Control,
            _ if !head_known => Cause::Undecided,
            // Where nothing is sent, only orders and answers are under way.
            _ if run.is_unsent => Cause::Control,
            _ => Cause::Unattributed,
        };
        segments.push(Segment::new(begin, end, cause, Place::default()));
    }
    segments.retain(|segment| segment.end > segment.begin);
    segments.reverse();
    segments
}

/// Follows the commit of the file on the node that finished last; returns that node.
fn follow_commit(run: &Run<'_>, world: &World, walk: &mut Walk<'_>) -> Option<usize> {
    let stages = [Stage::Fsync, Stage::Commit];
    let done = |&thread: &usize| {
        let unsure = world.error(0, world.threads[thread].node);
        let end = world.threads[thread].done(&stages, walk.at().saturating_add(unsure))?;
        Some((end, thread))
    };
    let (end, thread) = world.finishers.iter().filter_map(done).max()?;
    let node = world.threads[thread].node;
    match run.dead {
        // The others had finished, but this one might still have gone on.
        [dead, ..] => walk.pass(end, Cause::Dead, Place::node(*dead)),
        [] => walk.pass(end, Cause::FinalAck, Place::node(node)),
    }
    walk.follow_work(thread, &stages, Cause::FinalAck);
    Some(node)
}

/// Follows the head's thread that finished last. Does nothing if all nodes have usable traces.
fn follow_head(run: &Run<'_>, world: &World, walk: &mut Walk<'_>) {
    let mut missing = (1..run.nodes.len()).filter(|&node| world.errors[node].is_none());
    let place = match (missing.next(), missing.next()) {
        (None, _) => return,
        (Some(node), None) => Place::node(node),
        _ => Place::default(),
    };
    let lanes = world.lanes.range((0, 0)..=(0, NONE));
    let last = lanes.filter_map(|(_, &thread)| {
        Some((world.threads[thread].done(&[Stage::Send, Stage::Control], walk.at())?, thread))
    });
    let Some((end, thread)) = last.max() else { return };
    walk.pass_with(end, Cause::Undecided, place, Some(thread));
    walk.follow(thread);
}

/// Attributes to [`Cause::Straggler`] the time in which one node works after all others finished.
fn stragglers(run: &Run<'_>, world: &World, path: Vec<Segment>) -> Vec<Segment> {
    let end = run.end_of(&["fsync"]);
    let landings = (1..run.nodes.len()).filter_map(|node| {
        let of_node = (0..world.threads.len()).filter(|&thread| world.threads[thread].node == node);
        let stages = [Stage::Write, Stage::Open, Stage::Receive];
        of_node.filter_map(|thread| world.threads[thread].done(&stages, end)).max()
    });
    let mut landings: Vec<i64> = landings.collect();
    landings.sort_unstable();
    let [.., others, last] = landings[..] else { return path };
    let before = |segment: &&Segment| segment.end <= others && segment.cause.can_be_fault();
    let late = path.iter().rev().find(|segment| segment.end <= last);
    let node = late.and_then(|segment| segment.place.to.or(segment.place.node));
    let held_up =
        path.iter().filter(before).filter(|s| s.place.to.is_none() && s.place.node == node);
    let held_up: u64 = held_up.map(Segment::ns).sum();
    let late = nanos(last - others);
    // A node that delayed the others as long as itself is slow, but not a straggler.
    if (late as f64) < LATE * run.wall_ns() as f64 || held_up >= late {
        return path;
    }
    let mut named = Vec::with_capacity(path.len() + 1);
    for segment in path {
        let node = segment.place.to.or(segment.place.node);
        let stays = segment.end <= others || segment.end > last || !segment.cause.can_be_fault();
        match node.filter(|_| !stays) {
            Some(node) => {
                let begin = segment.begin.max(others);
                named.extend((segment.begin < begin).then_some(Segment { end: begin, ..segment }));
                let cause = Cause::Straggler;
                let place = Place::node(node);
                let within = Some(segment.cause);
                let within_at = Some(segment.place);
                named.push(Segment { begin, cause, place, within, within_at, ..segment });
            }
            None => named.push(segment),
        }
    }
    named
}

fn nanos(ns: i64) -> u64 {
    u64::try_from(ns).unwrap_or(0)
}

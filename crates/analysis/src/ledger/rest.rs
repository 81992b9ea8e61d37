//! What a copy needs time for besides one of its faults: the work of all threads and wires, and
//! what stopped it, whether or not that is on the critical path. Without the fault it would be.

use std::collections::BTreeMap;

use garland_core::trace::Stage;

use super::cause::Cause;
use super::run::{BEFORE_STREAM, Run};
use super::segment::{Busy, Place, Segment};
use super::weigh::Scales;
use super::wires::held_up;
use super::world::{Thread, World, is_giving};

/// A period in which a node stood still, or in which others waited for a dead one.
type Stop = (Cause, Place, (i64, i64));

/// The windows in which it is seen whether a thread was always ready, in nanoseconds: a control
/// group gets its part of a processor every 100 ms.
const WINDOW_NS: i64 = 200_000_000;

/// The largest number of such windows.
const WINDOWS: i64 = 1000;

/// A thread that ran or could have run for this fraction of a window was always ready.
const ALWAYS: f64 = 0.9;

pub(super) struct Rest {
    /// The work of a thread or of a wire, by cause: one after another.
    threads: Vec<Vec<Busy>>,
    stops: Vec<Stop>,
    /// The stops on the critical path.
    shown: Vec<Stop>,
}

impl Rest {
    pub fn compute(run: &Run<'_>, scales: &Scales<'_>, path: &[Segment]) -> Self {
        let world = scales.world;
        let begin = run.end_of(&BEFORE_STREAM);
        let end = run.end_of(&["drain"]);
        // Hops that share a slow trunk would all be faster with another one, or in another order.
        let hops = if run.has_slow_trunk { Vec::new() } else { held_up(world, begin, end) };
        let mut threads: Vec<Vec<Busy>> = hops.into_iter().map(|hop| vec![hop]).collect();
        threads.extend(worked(world, begin, end));
        threads.extend(starved(scales, begin, end));
        let shown = path.iter().map(|segment| {
            let (cause, place) = segment.family();
            (cause, place, (segment.begin, segment.end))
        });
        let shown = shown.filter(|(cause, ..)| matches!(cause, Cause::Pause | Cause::Dead));
        Self { threads, stops: stops(scales, begin, end), shown: shown.collect() }
    }

    /// Returns the time in nanoseconds for which the busiest thread or wire works at what `counts`.
    pub fn busy(&self, counts: impl Fn(Cause, Place) -> bool) -> i64 {
        let of_thread = |thread: &Vec<Busy>| {
            let counted = thread.iter().filter(|(cause, place, _)| counts(*cause, *place));
            counted.map(|(.., ns)| *ns).sum()
        };
        self.threads.iter().map(of_thread).max().unwrap_or(0)
    }

    /// Returns the nanoseconds in which anything but a fault stopped the copy, and which are not on
    /// the critical path as such. `is_fault` tells what is of the fault.
    pub fn hidden_ns(&self, is_fault: impl Fn(Cause, Place) -> bool) -> u64 {
        let others = |stops: &[Stop]| -> Vec<(i64, i64)> {
            let others = stops.iter().filter(|(cause, place, _)| !is_fault(*cause, *place));
            others.map(|(.., period)| *period).collect()
        };
        let shown = others(&self.shown);
        let with = covered([others(&self.stops), shown.clone()].concat());
        with.saturating_sub(covered(shown))
    }
}

/// Returns for each node the work of a thread that reads and encrypts, or decrypts and writes,
/// which is the mean over the node's; and the work of its other threads together, by stage.
fn worked(world: &World, begin: i64, end: i64) -> Vec<Vec<Busy>> {
    let mut all: BTreeMap<(usize, Option<Cause>), Vec<Busy>> = BTreeMap::new();
    for (at, thread) in world.threads.iter().enumerate() {
        let sharing = world.stores.get(&thread.node).filter(|of| of.contains(&at));
        for stage in
            [Stage::Read, Stage::Seal, Stage::Send, Stage::Relay, Stage::Open, Stage::Write]
        {
            let cause = world.cause_of(stage, thread.node);
            let ns = thread.spent(&[stage], begin, end);
            let ns = ns / i64::try_from(sharing.map_or(1, Vec::len)).unwrap_or(1);
            let group = all.entry((thread.node, sharing.is_none().then_some(cause))).or_default();
            match group.iter_mut().find(|known| known.0 == cause) {
                Some(known) => known.2 += ns,
                None => group.push((cause, Place::node(thread.node), ns)),
            }
        }
    }
    all.into_values().collect()
}

/// Returns for nodes that lack processors the time that they would need if nothing else held them
/// up.
fn starved(scales: &Scales<'_>, begin: i64, end: i64) -> Vec<Vec<Busy>> {
    let mut nodes: BTreeMap<usize, Vec<&Thread>> = BTreeMap::new();
    for thread in scales.world.threads.iter().filter(|thread| scales.is_starved(thread.node)) {
        nodes.entry(thread.node).or_default().push(thread);
    }
    let needs = nodes.into_iter().map(|(node, threads)| {
        let ns = needed_ns(&threads, begin, end) as i64;
        vec![(scales.starving(Some(node)), Place::node(node), ns)]
    });
    needs.collect()
}

/// Returns the nanoseconds that the threads of a node need for what they ran between two moments:
/// at the rate at which they ran while one of them was always ready, but at least the time for
/// which one was.
fn needed_ns(threads: &[&Thread], begin: i64, end: i64) -> f64 {
    let demand = |from: i64, to: i64| {
        let times = threads.iter().filter_map(|thread| thread.scheduled.between(from, to));
        times.fold((0.0, 0.0_f64), |(ran, ready), [running, waiting]| {
            (ran + running, ready.max(running + waiting))
        })
    };
    let mut ran = 0.0;
    let mut time = 0.0;
    let mut at = begin;
    while let Some(until) = at.checked_add(window_ns(begin, end)).filter(|until| *until <= end) {
        let (running, ready) = demand(at, until);
        if ready >= ALWAYS * (until - at) as f64 {
            (ran, time) = (ran + running, time + (until - at) as f64);
        }
        at = until;
    }
    let (all, ready) = demand(begin, end);
    let at_rate = if ran > 0.0 { (all / ran * time).min((end - begin) as f64) } else { 0.0 };
    at_rate.max(ready)
}

/// Returns the length in nanoseconds of the windows between two moments: there are few, since a
/// file can contain any numbers.
fn window_ns(begin: i64, end: i64) -> i64 {
    WINDOW_NS.max(end.saturating_sub(begin) / WINDOWS)
}

/// Returns the pauses of nodes between two moments, and the periods in which nodes that died were
/// waited for. A node without a processor seems to pause; its threads show what it lacks.
fn stops(scales: &Scales<'_>, begin: i64, end: i64) -> Vec<Stop> {
    let world = scales.world;
    let pauses = world.pauses.iter().filter(|(node, _)| !scales.is_starved(**node));
    let pauses = pauses.flat_map(|(&node, periods)| {
        periods.iter().map(move |&period| (Cause::Pause, Place::node(node), period))
    });
    let deaths = world.dead.iter().flat_map(|&node| {
        let waits = world.threads.iter().filter_map(move |thread| {
            let gives = thread.pieces.iter().rev().filter(|piece| is_giving(piece, node));
            let waits: Vec<_> =
                gives.take_while(|piece| piece.stage == Stage::WaitDownstream).collect();
            Some((waits.last()?.begin, waits.first()?.end))
        });
        waits.map(move |period| (Cause::Dead, Place::node(node), period))
    });
    let within = |(cause, place, (from, to)): Stop| {
        let period = (from.max(begin), to.min(end));
        (period.0 < period.1).then_some((cause, place, period))
    };
    pauses.chain(deaths).filter_map(within).collect()
}

/// Returns the nanoseconds that periods cover together.
fn covered(mut periods: Vec<(i64, i64)>) -> u64 {
    periods.sort_unstable();
    let mut until = i64::MIN;
    let mut ns = 0;
    for (begin, end) in periods {
        ns += (end - begin.max(until)).max(0);
        until = until.max(end);
    }
    u64::try_from(ns).unwrap_or(0)
}

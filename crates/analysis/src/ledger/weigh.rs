//! Refines the segments of a path with the kernel's counters: whether a thread worked or waited for
//! a CPU, and what limited a wire.

use std::collections::BTreeMap;

use garland_core::trace::{NONE, Stage};

use super::cause::Cause;
use super::run::Run;
use super::segment::{Place, Segment};
use super::world::World;

/// A thread delays a wire if the fraction of time in which it had no CPU exceeds the usual fraction
/// by at least this. Shorter delays are hidden by bytes in flight.
const STARVED: f64 = 0.3;

/// A thread is the cause of its connection's full window if it had no CPU for at least this
/// fraction of the time.
const PARALYSED: f64 = 0.6;

/// Segments below this length, in nanoseconds, are much shorter than the interval of scheduler
/// samples: their waiting is estimated from the samples around them.
const SHORT_NS: u64 = 50_000_000;

/// A thread counts as slowed if it had no CPU for at least this share of its work.
const SLOWED: f64 = 0.1;

/// The machine that emulates all nodes was busy if they usually had no CPU for at least this
/// fraction of the time.
const BUSY: f64 = 0.05;

/// A window is the cause only if it was full for at least this fraction of the time.
const FULL: f64 = 0.2;

/// The wire is the cause, not a full window, if it carried at least this share of its rate.
const SATURATED: f64 = 0.9;

/// The stages in which a span's busy time includes waiting for a CPU. A thread of a lane records
/// its CPU time instead.
const WORK: [Stage; 5] = [Stage::Read, Stage::Seal, Stage::Open, Stage::Write, Stage::Fsync];

pub(super) struct Scales<'a> {
    pub world: &'a World,
    emulated: bool,
    /// For each thread, the fraction of its work in which it had no CPU.
    slowed: Vec<f64>,
    /// For each thread that worked, the fraction of all its time in which it had no CPU (`lacked`),
    /// and the median of the nodes' worst threads (`usual`).
    lacked: Vec<f64>,
    usual: f64,
}

impl<'a> Scales<'a> {
    pub fn new(run: &Run<'_>, world: &'a World) -> Self {
        let (slowed, lacked): (Vec<f64>, Vec<f64>) = world.threads.iter().map(slowness).unzip();
        let mut by_node: BTreeMap<usize, f64> = BTreeMap::new();
        for (thread, lacked) in world.threads.iter().zip(&lacked) {
            let worst = by_node.entry(thread.node).or_default();
            *worst = worst.max(*lacked);
        }
        Self {
            world,
            emulated: run.is_emulated(),
            slowed,
            lacked,
            usual: middle(by_node.into_values().collect()),
        }
    }

    /// Splits and reassigns `segments` by the counters.
    pub fn weigh(&self, segments: Vec<Segment>) -> Vec<Segment> {
        let mut weighed = Vec::with_capacity(segments.len());
        for segment in segments {
            match (segment.cause, segment.thread) {
                (Cause::Wire, _) => self.weigh_wire(segment, &mut weighed),
                (Cause::Undecided, None) => self.weigh_unknown(segment, &mut weighed),
                // The time of the wire is separated already.
                (Cause::Undecided, Some(_)) if self.is_dead(segment.place.node) => {
                    weighed.push(Segment { cause: Cause::Dead, ..segment });
                }
                (Cause::Undecided, Some(_)) => weighed.push(segment),
                (Cause::Unattributed | Cause::Pause | Cause::Bubble, Some(thread)) => {
                    self.weigh_nothing(segment, thread, &mut weighed);
                }
                (_, Some(thread)) => self.weigh_work(segment, thread, &mut weighed),
                _ => weighed.push(segment),
            }
        }
        self.lay_lost(self.lay_pauses(weighed))
    }

    /// Attributes time without records to the stages of discarded spans: to each stage at most the
    /// sum of its discarded spans.
    fn lay_lost(&self, segments: Vec<Segment>) -> Vec<Segment> {
        let mut lost = self.world.lost.clone();
        let mut all = Vec::with_capacity(segments.len());
        for mut segment in segments {
            let is_open = |node: &usize| {
                segment.cause == Cause::Unattributed && self.world.lost.contains_key(node)
            };
            if let Some(node) = segment.place.node.filter(is_open) {
                let work = lost.get_mut(&node).into_iter().flatten();
                for (&stage, left) in work.filter(|(stage, _)| !stage.is_wait()) {
                    let end = segment.begin + (*left).min(segment.end - segment.begin);
                    let cause = self.world.cause_of(stage, node);
                    all.extend((end > segment.begin).then_some(Segment { end, cause, ..segment }));
                    *left -= end - segment.begin;
                    segment.begin = end;
                }
            }
            all.push(segment);
        }
        all
    }

    /// Attributes time at a node, or on a hop to it, to [`Cause::Pause`] if the node was suspended.
    fn lay_pauses(&self, segments: Vec<Segment>) -> Vec<Segment> {
        let mut all = segments;
        for (&node, pauses) in &self.world.pauses {
            let mut next = Vec::with_capacity(all.len());
            for segment in all {
                let place = segment.place;
                if place.node == Some(node) || place.to == Some(node) {
                    segment.overlaid(pauses, Cause::Pause, Place::node(node), &mut next);
                } else {
                    next.push(segment);
                }
            }
            all = next;
        }
        all
    }

    fn weigh_work(&self, segment: Segment, thread: usize, into: &mut Vec<Segment>) {
        let slowed = Some(self.slowed[thread]).filter(|slowed| *slowed >= SLOWED).unwrap_or(0.0);
        let starved = segment.place.node.is_some_and(|node| self.is_starved(node));
        // On one machine, all nodes lack a share of their time; the rest is the node's own.
        let of_machine = match self.emulated {
            true => slowed * self.usual / self.lacked[thread].max(self.usual).max(1e-9),
            false => 0.0,
        };
        let own = if starved || !self.emulated { slowed - of_machine } else { 0.0 };
        let rest = segment.shared(own, self.starving(segment.place.node), segment.place, into);
        let share = if own < 1.0 { of_machine / (1.0 - own) } else { 0.0 };
        let rest = rest.shared(share, Cause::Emulator, Place::default(), into);
        into.push(rest);
    }

    /// Refines time in which a thread recorded nothing, or in which all waited for each other: the
    /// thread may have had no CPU.
    fn weigh_nothing(&self, segment: Segment, thread: usize, into: &mut Vec<Segment>) {
        let node = segment.place.node;
        // What a control group withholds is not counted as waiting of each thread: whoever lacks
        // processors neither pauses nor waits for itself.
        if node.is_some_and(|node| self.lacks_processor(node)) {
            into.push(Segment { cause: self.starving(node), ..segment });
            return;
        }
        let share = self.waited(&segment, thread);
        let own = !self.emulated || node.is_some_and(|node| self.is_starved(node));
        let (cause, place) = match own {
            true => (self.starving(node), segment.place),
            false if self.usual >= BUSY => (Cause::Emulator, Place::default()),
            false => return into.push(segment),
        };
        if share >= 0.5 {
            into.push(Segment { cause, place, ..segment });
        } else if segment.cause == Cause::Unattributed {
            let rest = segment.shared(share, cause, place, into);
            into.push(rest);
        } else {
            into.push(segment);
        }
    }

    /// Returns the fraction of a segment for which a thread that recorded nothing of it waited for
    /// a CPU.
    fn waited(&self, segment: &Segment, thread: usize) -> f64 {
        let thread = &self.world.threads[thread];
        let begin = segment.begin;
        let end = segment.end;
        let waited = match segment.ns() < SHORT_NS {
            // The waiting between two samples happened in the unrecorded time between them.
            true => thread.scheduled.around(begin, end).map(|((t0, t1), [_, waited])| {
                let open = t1 - t0 - thread.recorded(t0, t1);
                waited * segment.ns() as f64 / open.max(1) as f64
            }),
            false => thread.scheduled.between(begin, end).map(|[_, waited]| waited),
        };
        (waited.unwrap_or(0.0) / segment.ns().max(1) as f64).min(1.0)
    }

    fn weigh_wire(&self, segment: Segment, into: &mut Vec<Segment>) {
        let (Some(from), Some(to)) = (segment.place.node, segment.place.to) else {
            into.push(segment);
            return;
        };
        let begin = segment.begin;
        let end = segment.end;
        let lanes: Vec<(usize, f64)> = self
            .world
            .lanes
            .iter()
            .map(|(key, &thread)| (key.0, self.world.threads[thread].starved(begin, end)))
            .collect();
        let usual = middle(lanes.iter().map(|lane| lane.1).collect());
        let ends = lanes.iter().filter(|(node, _)| *node == from || *node == to);
        let worst = ends.copied().max_by(|a, b| a.1.total_cmp(&b.1));
        let usual = if self.emulated { usual } else { 0.0 };
        let mut rest = segment;
        let lacks =
            |(node, share): &(usize, f64)| share - usual >= STARVED && self.is_starved(*node);
        let own = worst.filter(lacks);
        if let Some((node, share)) = own.filter(|(_, share)| *share >= PARALYSED) {
            let cause = self.starving(Some(node));
            rest = segment.shared(share, cause, Place::node(node), into);
        } else {
            // The windows of a connection to ssh say nothing of the wire.
            rest = match self.world.goes_through_ssh(from, to) {
                true => Segment { cause: Cause::Login, ..rest },
                false => self.weigh_windows(rest, from, to, into),
            };
            if let Some((node, share)) = own {
                rest = rest.shared(share, self.starving(Some(node)), Place::node(node), into);
            } else if usual >= STARVED {
                rest = rest.shared(usual, Cause::Emulator, Place::default(), into);
            }
        }
        into.push(rest);
    }

    /// Refines time with bytes in flight: parts that the receive window or the send buffer limited
    /// are appended to `into`. Returns the rest, which the wire limited.
    fn weigh_windows(
        &self,
        segment: Segment,
        from: usize,
        to: usize,
        into: &mut Vec<Segment>,
    ) -> Segment {
        let begin = segment.begin;
        let end = segment.end;
        let sockets = self.world.sockets.range((0, from, to)..=(NONE, from, to));
        let sockets = sockets.filter(|(key, _)| (key.1, key.2) == (from, to));
        // The time between two samples is unknown, so use the samples around the segment.
        let grown = sockets.filter_map(|(_, samples)| samples.around(begin, end));
        let mut worst: Option<(f64, f64, bool)> = None;
        for ((t0, t1), [_, window, buffer, _, bytes]) in grown {
            let seconds = ((t1 - t0) as f64 / 1e9).max(1e-9);
            let full =
                self.world.lane_limit.is_some_and(|limit| bytes / seconds > SATURATED * limit);
            let shares = (window / 1e6 / seconds, buffer / 1e6 / seconds, full);
            if worst.is_none_or(|known| shares.0 + shares.1 > known.0 + known.1) {
                worst = Some(shares);
            }
        }
        let Some((window, buffer, false)) = worst else { return segment };
        let blamed = |share: f64| if share >= FULL { share.min(1.0) } else { 0.0 };
        let window = blamed(window);
        let buffer = blamed(buffer);
        let rest = segment.shared(window, Cause::BlockedByPeer, Place::hop(from, to), into);
        let share = if window < 1.0 { buffer / (1.0 - window) } else { 0.0 };
        rest.shared(share, Cause::BlockedByBuffer, Place::hop(from, to), into)
    }

    fn is_dead(&self, node: Option<usize>) -> bool {
        node.is_some_and(|node| self.world.dead.contains(&node))
    }

    /// Refines the time of waiting for a node without a trace: the connection from its upstream
    /// shows whether the node received bytes.
    fn weigh_unknown(&self, segment: Segment, into: &mut Vec<Segment>) {
        let node = segment.place.node;
        if self.is_dead(node) {
            into.push(Segment { cause: Cause::Dead, ..segment });
            return;
        }
        let feeding = self.world.sockets.iter().find(|(key, _)| Some(key.2) == node);
        let grown =
            feeding.and_then(|(key, s)| Some((key.1, s.around(segment.begin, segment.end)?)));
        let Some((from, (_, [busy, window, buffer, ..]))) = grown else {
            into.push(segment);
            return;
        };
        // The connection is busy while its sender waits, so shares are relative to its busy time.
        let wire = ((busy - window - buffer) / busy.max(1.0)).clamp(0.0, 1.0);
        let hop = Place { node: Some(from), to: node };
        let rest = segment.shared(wire, Cause::Wire, hop, into);
        into.push(rest);
    }

    /// Returns whether a whole node lacks CPU time, and not only a thread that wakes up very often.
    pub fn is_starved(&self, node: usize) -> bool {
        let stores = self.world.stores.get(&node).is_some_and(|stores| !stores.is_empty());
        !stores || self.lacks_processor(node)
    }

    /// Returns whether counters show that a node lacks CPU time, more than all nodes on a machine
    /// that emulates them.
    fn lacks_processor(&self, node: usize) -> bool {
        let threads = self.world.threads.iter().zip(&self.lacked);
        let worst = threads.filter(|(thread, _)| thread.node == node).map(|(_, lacked)| *lacked);
        let usual = if self.emulated { self.usual } else { 0.0 };
        worst.fold(0.0, f64::max) - usual >= STARVED
    }

    /// Returns the cause of time in which a node lacks a processor.
    pub fn starving(&self, node: Option<usize>) -> Cause {
        let source = node.is_some_and(|node| self.world.is_source(node));
        if source { Cause::SourceCpu } else { Cause::Processor }
    }
}

/// Returns two fractions in which a thread had no CPU: of its work, and of all its time. Assumes
/// that it waited for a CPU only at the stages of [`WORK`]; both are 0 without such work.
fn slowness(thread: &super::world::Thread) -> (f64, f64) {
    let Some((begin, end)) = thread.scheduled.known() else { return (0.0, 0.0) };
    let Some([_, waiting]) = thread.scheduled.between(begin, end) else { return (0.0, 0.0) };
    let work = thread.spent(&WORK, begin, end);
    let share = |of: i64| if work > 0 && of > 0 { (waiting / of as f64).min(1.0) } else { 0.0 };
    (share(work), share(end - begin))
}

/// Returns the lower median; 0 if empty.
fn middle(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len().saturating_sub(1) / 2).copied().unwrap_or(0.0)
}

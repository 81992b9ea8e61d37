//! The faults of a run, and the gain of removing the first one.
//!
//! A fault is a family of time with one cause and one place, whether or not the other nodes had
//! finished meanwhile. What it costs is the time that a run without it would not need: all of it
//! for most causes; of a wire, what exceeds the time that its bytes take at the rate of its peers.

use std::collections::{BTreeMap, BTreeSet};

use garland_core::trace::Stage;

use super::cause::Cause;
use super::rest::Rest;
use super::rows::{Row, covered};
use super::run::Run;
use super::segment::{Place, Segment};
use super::world::World;

/// A cause at a place that costs much of a run's time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fault {
    /// The cause of the time.
    pub cause: Cause,
    /// The node or hop at which the time was spent.
    pub place: Place,
    /// The time in nanoseconds that the run would not need without the fault.
    pub ns: u64,
    /// The part of the time in which all other nodes had finished.
    pub alone_ns: u64,
    /// Of a hop that is slower than its peers, its rate as a fraction of theirs; otherwise `None`.
    pub pace: Option<f64>,
}

/// The improvement with the largest gain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fix {
    /// The cause of the time that the improvement saves.
    pub cause: Cause,
    /// The node or hop at which to remove the cause.
    pub place: Place,
    /// The expected gain in nanoseconds.
    pub gain_ns: u64,
    /// The interval that contains the gain with a probability of 80 %, in nanoseconds.
    pub interval_ns: (u64, u64),
}

/// Why no improvement is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoFix {
    /// No node has the whole file, for reasons that their verdicts name.
    Failed,
    /// The nodes had all of it.
    NothingSent,
    /// The stream took too little time to tell what limited it.
    TooShort,
    /// The data went through ssh, and what it would take else is not known.
    Login,
    /// What can be helped costs too little.
    Small,
    /// Every copy needs the remaining time.
    Needed,
}

/// A fault is reported only if records prove its cause for at least this fraction of its time.
const COVERED: f64 = 0.8;

/// A fault costs at least this fraction of the command's time.
const MATTERS: f64 = 0.1;

/// An improvement is named if it gains at least this fraction of the command's time.
const WORTH: f64 = 0.05;

/// A run is healthy if it exceeds the minimum time for its bytes by less than this fraction.
const HEALTHY: f64 = 0.1;

/// Half of the interval of a gain: a fraction of the gain, and one of the command's time.
const UNSURE: (f64, f64) = (0.12, 0.03);

/// Both directions of a slow NIC are busy for at least this fraction of each other's time.
const ALIKE: f64 = 0.8;

/// The most by which a busy machine is assumed to slow down a copy without faults.
const SLOWED: f64 = 0.5;

/// Without a limit, a disk is slow if it works for at least this many times as long as that of any
/// other node, which writes the same bytes.
const SLOWER: i64 = 2;

/// The causes that are faults even if no limit is known: a healthy pipeline always has a
/// bottleneck, but never one of these.
const NEVER_RIGHT: [Cause; 7] = [
    Cause::BlockedByPeer,
    Cause::BlockedByBuffer,
    Cause::Processor,
    Cause::Pause,
    Cause::Bubble,
    Cause::Dead,
    Cause::Loss,
];

/// The time of a cause at a place.
#[derive(Clone, Copy, Debug, Default)]
struct Family {
    ns: u64,
    /// The part of `ns` in which all other nodes had finished.
    alone_ns: u64,
    covered: f64,
    /// Of a wire, the nanoseconds that its bytes need at the rate of its peers.
    needed: f64,
}

impl Family {
    /// Returns the time in nanoseconds that a run without the fault would not need.
    fn lost_ns(&self, cause: Cause) -> u64 {
        match cause {
            Cause::Wire => self.ns.saturating_sub(self.needed as u64),
            _ => self.ns,
        }
    }
}

/// The time of a run by cause and place.
pub(super) struct Families {
    of: BTreeMap<(Cause, Place), Family>,
    /// The time until the first node was ordered to begin, in which agents were started.
    starting_ns: u64,
    /// For each disk that is slower than those of all other nodes, the nanoseconds for which it
    /// works longer than the next one.
    slow_disks: BTreeMap<(Cause, Place), u64>,
}

impl Families {
    pub fn from_path(world: &World, path: &[Segment]) -> Self {
        let mut families: BTreeMap<(Cause, Place), Family> = BTreeMap::new();
        for segment in path {
            // Time on a hop that is within the error of the clocks is the hop's.
            let key = match segment.family() {
                (Cause::ClockError, place) if place.to.is_some() => (Cause::Wire, place),
                key => key,
            };
            let family = families.entry(key).or_default();
            family.ns += segment.ns();
            family.covered += segment.ns() as f64 * covered(world, segment);
            if segment.cause == Cause::Straggler {
                family.alone_ns += segment.ns();
            }
            family.needed += world.needed_ns(segment).unwrap_or(segment.ns() as f64);
        }
        let begun = world.begun.unwrap_or(i64::MAX);
        let starting = path.iter().filter(|segment| segment.cause == Cause::SetUp);
        let starting = starting.map(|it| Segment { end: it.end.min(begun), ..*it }.ns());
        let starting_ns = starting.sum();
        Self { of: families, starting_ns, slow_disks: slow_disks(world) }
    }

    /// Returns the faults, the most expensive one first.
    pub fn faults(&self, run: &Run<'_>) -> Vec<Fault> {
        let wall = run.wall_ns() as f64;
        let least = run.limit.map(|limit| run.bytes as f64 / limit.max(1.0) * 1e9);
        if run.is_short() || least.is_some_and(|least| wall - least < HEALTHY * wall) {
            return Vec::new();
        }
        let wires = self.of.iter().filter(|((cause, _), _)| *cause == Cause::Wire);
        let wires = wires.map(|(_, family)| family.ns).sum::<u64>() as f64;
        let known = self.of.iter().filter_map(|(&(cause, place), family)| {
            let lost_ns = self.lost_ns(cause, place)?;
            let slower_ns = self.slow_disks.get(&(cause, place)).filter(|_| least.is_none());
            let lost_ns = slower_ns.map_or(lost_ns, |slower_ns| lost_ns.min(*slower_ns));
            let is_covered = family.covered >= COVERED * family.ns as f64;
            let matters = lost_ns as f64 >= MATTERS * wall && is_covered;
            let wrong = match cause {
                // Wire time is a fault only if the sum over all hops exceeds the minimum time of
                // the bytes.
                Cause::Wire => match least {
                    Some(least) => wires - least >= MATTERS * wall,
                    None => lost_ns as f64 > 0.5 * family.ns as f64,
                },
                // Every run has control messages, but lanes need not wait for them.
                Cause::Control => place.to.is_some(),
                _ if least.is_some() => cause.can_be_fault(),
                _ => NEVER_RIGHT.contains(&cause) || slower_ns.is_some(),
            };
            let pace = (cause == Cause::Wire).then(|| family.needed / family.ns.max(1) as f64);
            let fault = Fault { cause, place, ns: lost_ns, alone_ns: family.alone_ns, pace };
            (matters && wrong).then_some(fault)
        });
        let mut faults: Vec<Fault> = known.collect();
        faults.sort_by_key(|fault| std::cmp::Reverse(fault.ns));
        faults
    }

    /// Returns the time that a run without a cause at a place would not need, in nanoseconds. Slow
    /// hops from one node, or to one node, have one cause: the worst of them has the time of all,
    /// and the others have none.
    fn lost_ns(&self, cause: Cause, place: Place) -> Option<u64> {
        let own = self.of.get(&(cause, place))?.lost_ns(cause);
        let (Cause::Wire, Some(from), Some(to)) = (cause, place.node, place.to) else {
            return Some(own);
        };
        let of_wires = self.of.iter().filter(|((cause, _), _)| *cause == Cause::Wire);
        let lost: Vec<(Place, u64)> =
            of_wires.map(|((_, place), family)| (*place, family.lost_ns(Cause::Wire))).collect();
        let beside = |hop: &Place| hop.node == Some(from) || hop.to == Some(to);
        let is_worse = |(hop, ns): &(Place, u64)| beside(hop) && (*ns, *hop) > (own, place);
        let sum = |of: &dyn Fn(&Place) -> bool| -> u64 {
            lost.iter().filter(|(hop, _)| of(hop)).map(|(_, ns)| ns).sum()
        };
        let all = sum(&|hop| hop.node == Some(from)).max(sum(&|hop| hop.to == Some(to)));
        (!lost.iter().any(is_worse)).then_some(all)
    }

    /// Returns the gain of removing a fault: the command's time, less that of the same plan without
    /// the fault, with the measured times of all other stages. Its threads work in parallel, so the
    /// busiest one counts, and the processors, which all stages of a machine share; whatever stops
    /// all of them is added, also if the fault has hidden it.
    fn without(&self, run: &Run<'_>, fault: &Fault, rest: &Rest) -> Fix {
        let stream = run.stream_ns() as f64;
        let wire = run.limit.map_or(0.0, |limit| run.bytes as f64 / limit.max(1.0) * 1e9);
        let own = rest.busy(|cause, place| (cause, place) == (fault.cause, fault.place));
        let others = rest.busy(|cause, place| {
            // A slow NIC is busy in both directions, as if it were two hops.
            let ns = || rest.busy(|its, at| (its, at) == (cause, place));
            !(is_of(fault, cause, place) || is_back(fault, cause, place) && alike(ns(), own))
        });
        let serial = self
            .of
            .iter()
            .filter(|((cause, place), _)| cause.stops_all() && !is_of(fault, *cause, *place));
        let serial: u64 = serial.map(|(_, family)| family.ns).sum();
        let serial = serial + rest.hidden_ns(|cause, place| is_of(fault, cause, place));
        // A busy machine slows all of it down.
        let emulator = self.of.get(&(Cause::Emulator, Place::default())).map_or(0, |of| of.ns);
        let share = (emulator as f64 / stream.max(1.0)).min(SLOWED);
        let slowed = (wire.max(others as f64) + serial as f64) / (1.0 - share);
        let without = slowed.max(worked_ns(run, fault) + serial as f64);
        let most = (stream - without).max(0.0);
        // Who lacks a processor gets ready and ends as slowly as it copies.
        let starves = matches!(fault.cause, Cause::Processor | Cause::SourceCpu);
        let ends = if starves { run.wall_ns() as f64 - stream } else { 0.0 };
        let most = most + ends * most / stream.max(1.0);
        let gain = if run.limit.is_some() { most } else { most.min(fault.ns as f64) };
        Fix::new(fault.cause, fault.place, gain, run.wall_ns())
    }

    /// Returns the improvement that gains most: without the first fault; in a run without faults,
    /// the row with the largest gain.
    pub fn best_fix(
        &self,
        run: &Run<'_>,
        faults: &[Fault],
        rows: &[Row],
        rest: &Rest,
    ) -> Result<Fix, NoFix> {
        let first = faults.iter().find(|fault| fault.cause.can_be_helped());
        let best = match first {
            Some(first) => Some(self.without(run, first, rest)),
            None => self.without_largest(run, rows),
        };
        let through_ssh = rows.iter().filter(|row| row.cause == Cause::Login);
        let through_ssh_ns: u64 = through_ssh.map(|row| row.ns).sum();
        let is_worth = |ns: u64| ns as f64 >= WORTH * run.wall_ns() as f64;
        match best {
            Some(fix) if is_worth(fix.gain_ns) && fix.gain_ns >= through_ssh_ns => Ok(fix),
            _ if is_worth(through_ssh_ns) => Err(NoFix::Login),
            _ if run.has_failed => Err(NoFix::Failed),
            _ if run.is_unsent => Err(NoFix::NothingSent),
            _ if run.is_short() => Err(NoFix::TooShort),
            Some(_) => Err(NoFix::Small),
            None => Err(NoFix::Needed),
        }
    }

    /// Returns the improvement of a run without faults: without the row with the largest gain of
    /// those that nodes and options have an influence on.
    fn without_largest(&self, run: &Run<'_>, rows: &[Row]) -> Option<Fix> {
        let gains = rows.iter().filter_map(|row| match row.cause {
            // Who had standing agents, or none that could be reached, cannot save their start.
            Cause::SetUp if run.agents_started == Some(true) && !run.has_failed => {
                Some((row, self.starting_ns))
            }
            Cause::Queue => Some((row, row.ns)),
            Cause::Fsync if !run.is_short() => Some((row, row.ns)),
            _ => None,
        });
        let (row, gain_ns) = gains.max_by_key(|(_, gain_ns)| *gain_ns).filter(|it| it.1 > 0)?;
        Some(Fix::new(row.cause, row.place, gain_ns as f64, run.wall_ns()))
    }
}

/// Returns the disks of receiving nodes that are slower than those of all others, with the
/// nanoseconds for which they work longer than the next one.
fn slow_disks(world: &World) -> BTreeMap<(Cause, Place), u64> {
    let mut slow = BTreeMap::new();
    for (stage, cause) in [(Stage::Write, Cause::SinkDisk), (Stage::Fsync, Cause::Fsync)] {
        let nodes: BTreeSet<usize> = world.threads.iter().map(|thread| thread.node).collect();
        let receivers = nodes.into_iter().filter(|node| !world.is_source(*node));
        let mut worked: Vec<(i64, usize)> =
            receivers.map(|node| (world.longest(node, stage), node)).collect();
        worked.sort_unstable();
        if let [.., (next, _), (longest, node)] = worked[..]
            && longest > next.saturating_mul(SLOWER)
        {
            let longer = u64::try_from(longest - next).unwrap_or(0);
            slow.insert((cause, Place::node(node)), longer);
        }
    }
    slow
}

/// Returns the nanoseconds that the slowest processors need for a run's bytes without a fault: by
/// the model, whatever other programs did meanwhile. Who lacks processors is assumed to get more.
fn worked_ns(run: &Run<'_>, fault: &Fault) -> f64 {
    let is_free = fault.cause.lacks_processor() && fault.place.to.is_none();
    let others = run
        .processors
        .iter()
        .filter(|(node, _)| !is_free || *node != fault.place.node || node.is_none());
    let rates = others.map(|(_, rate)| *rate).filter(|rate| *rate > 0.0);
    rates.reduce(f64::min).map_or(0.0, |rate| run.bytes as f64 / rate * 1e9)
}

/// Returns whether a stage at a place suffers from a fault itself.
fn is_of(fault: &Fault, cause: Cause, place: Place) -> bool {
    let of_node =
        matches!(fault.cause, Cause::Processor | Cause::SourceCpu | Cause::Pause | Cause::Dead);
    let same_node = place.node == fault.place.node || place.to == fault.place.node;
    // Either NIC of a slow hop may be the slow one, and has other hops, too.
    let of_hop = matches!(fault.cause, Cause::Wire | Cause::Loss) && cause == Cause::Wire;
    let same_nic = place.node == fault.place.node || place.to == fault.place.to;
    (cause, place) == (fault.cause, fault.place) || of_node && same_node || of_hop && same_nic
}

/// Returns whether a stage is the hop on the other side of a node of a slow hop: the same NIC may
/// be slow in both directions.
fn is_back(fault: &Fault, cause: Cause, place: Place) -> bool {
    let from = fault.place.node;
    let to = fault.place.to;
    let is_wire = (fault.cause, cause) == (Cause::Wire, Cause::Wire) && to.is_some();
    is_wire && (place.to == from || place.node == to)
}

/// Returns whether two hops were busy for about the same time.
fn alike(one: i64, other: i64) -> bool {
    one as f64 >= ALIKE * other as f64
}

impl Fix {
    fn new(cause: Cause, place: Place, gain: f64, wall_ns: u64) -> Self {
        let half = UNSURE.0 * gain + UNSURE.1 * wall_ns as f64;
        let interval_ns = ((gain - half).max(0.0) as u64, (gain + half) as u64);
        Self { cause, place, gain_ns: gain as u64, interval_ns }
    }
}

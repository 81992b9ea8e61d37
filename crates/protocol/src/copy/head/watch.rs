//! Finds the hop that slows a lane down.
//!
//! Back-pressure gives the whole chain the rate of its slowest hop. That hop can be recognised at
//! its ends: its sender always has data in flight, and the hops behind it do not. How much a node
//! slows the lane can only be measured without the node: a suspected node is fed on the side for a
//! while (a trial). The node is called slow if the others are then faster than the node was by more
//! than a factor, and the node stays slower by that factor on the side. So no node is called slow
//! because all links are equally slow, processors are overloaded, or a hiccup occurs.

use std::collections::BTreeMap;

use garland_core::plan::{HEAD, NodeId};

use crate::copy::report::HopReport;

/// The length in nanoseconds of the windows in which hops are judged.
pub(super) const WINDOW_NS: u64 = 200_000_000;

/// The number of consecutive windows in which a node must be suspected; a single one may be a
/// hiccup. More if the evidence is weak.
const WINDOWS: u32 = 2;
const WINDOWS_IF_WEAK: u32 = 3;

/// The number of measurements of hops before weak evidence counts: ten windows of three hops, or
/// one window of thirty. In each of them a hop could show that it is no faster than the others.
const HEARD: usize = 30;

/// The length of a trial in windows. The first window does not count, because buffers fill in it.
const TRIAL_WINDOWS: u32 = 8;

/// The rate of the other nodes is the lowest median of this number of consecutive windows.
const MEDIAN_WINDOWS: usize = 3;

/// The number of trials without a result after which a lane is assumed to be as fast as it can be
/// for the first of these times; the next ones are twice as long each.
const TRIALS_MAX: u32 = 2;
const TRIALS_PAUSE_NS: u64 = 10_000_000_000;

/// How often that time is doubled.
const DOUBLINGS_MAX: u32 = 6;

/// For how long a node is excused by what is not known of it: while a link is opened again, or the
/// node pauses. A node that hangs is found sooner, and elsewhere.
const EXCUSE_MAX_NS: u64 = 3_000_000_000;

/// For how long a node must have needed no excuse until it has a new one.
const EXCUSE_KEPT_NS: u64 = 20_000_000_000;

/// How long holes that the head has sent are on their way at most.
const HOLES_MAX_NS: u64 = 2_000_000_000;

/// A node passes on at most so many times the rate at which it gets bytes, but for moments.
const PASSED_ON_MAX: f64 = 1.5;

/// The others must have received this number of blocks while the node was fed on the side.
const RESOLVED: f64 = 4.0;

/// A sender counts as busy if it has data in flight for at least this share of the time.
const BUSY: f64 = 0.8;

/// A receiver counts as blocking if it takes nothing for at least this share of the time.
const BLOCKED: f64 = 0.2;

/// A receiver counts as starved if its threads wait for processors for this share of the time.
const STARVED: f64 = 0.1;

/// A hop is hollow if its blocks have so many times the bytes that it carried, and more.
const HOLLOW: u64 = 4;

/// The lower bound of shares of the time that are used as divisors.
const SHORTEST: f64 = 0.01;

/// The rates of a node that slowed the others down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Slow {
    /// The node's rate in bytes per second.
    pub rate: u64,
    /// The rate of the other nodes while this node was fed on the side, in bytes per second.
    pub others: u64,
}

/// The measurements and trials of a lane's hops.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// When the present window began, in monotonic nanoseconds.
    since: u64,
    /// The counters of the hop to each node at the beginning of the window.
    marks: BTreeMap<NodeId, Mark>,
    /// The highest rate of each hop in windows in which its wire was busy all the time, in bytes
    /// per second: what it can carry.
    capacities: BTreeMap<(NodeId, NodeId), f64>,
    /// The number of measurements of hops so far.
    heard: usize,
    /// The present suspect, and the number of consecutive windows in which it was suspected.
    suspect: Option<(NodeId, u32)>,
    /// Nodes that are fed on the side and are not called slow yet; the last one is on trial.
    trials: Vec<Trial>,
    /// The number of windows that the trial still lasts.
    left: u32,
    /// The median rates of the hops since the trial began, in bytes per second, one per window.
    paces: Vec<f64>,
    /// The number of trials without a result.
    failed: u32,
    /// When the next trial may be made, in monotonic nanoseconds.
    again_ns: u64,
    /// The nodes that were excused by what is not known of them.
    excused: BTreeMap<NodeId, Excused>,
    /// When the head's own hop was hollow last.
    hollow_ns: Option<u64>,
    /// The feeder of the node whose trial was the last one without a result.
    doubted: Option<NodeId>,
}

/// The counters of a hop at one time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    /// When the sender reported, in monotonic nanoseconds.
    pub(super) at: u64,
    /// The sender's report.
    pub(super) hop: HopReport,
    /// When the receiver reported, in monotonic nanoseconds.
    pub(super) writer_at: u64,
    /// Nanoseconds in which the receiver was stalled by its writer, and in which that writer was
    /// blocked.
    pub(super) writer: (u64, u64),
    /// Whether the receiver's disk excuses it, if it waits for that.
    pub(super) is_excused: bool,
    /// Nanoseconds in which the receiver's threads waited for a processor.
    pub(super) starved_ns: u64,
    /// The number of the lane's blocks that the sender got, or, if it is the source, has sent: it
    /// passes them on as they come.
    pub(super) passed: u64,
}

/// The times of a node's excuse, in monotonic nanoseconds.
#[derive(Clone, Copy, Debug)]
struct Excused {
    since_ns: u64,
    last_ns: u64,
}

/// The trial of a node that was taken out of the chain on suspicion.
#[derive(Clone, Copy, Debug)]
struct Trial {
    suspect: Suspect,
    /// When the comparison with the others began; `had` is the node's number of blocks then.
    since: u64,
    had: u64,
}

/// The node that most likely slows a lane down.
#[derive(Clone, Copy, Debug)]
pub(super) struct Suspect {
    pub(super) node: NodeId,
    /// The sender of the slow hop, and its receiver.
    pub(super) near: NodeId,
    pub(super) hop_to: NodeId,
    /// The rate of the slow hop in bytes per second.
    pub(super) rate: f64,
    /// Whether the hops before it show that they could be faster.
    pub(super) is_certain: bool,
}

/// A hop during a window.
#[derive(Clone, Copy, Debug)]
pub(super) struct Hop {
    pub(super) near: NodeId,
    pub(super) far: NodeId,
    /// The rate in bytes per second.
    pub(super) rate: f64,
    /// The share of the time in which data was in flight.
    busy: f64,
    /// The share of the time in which data was in flight and the receiver took nothing.
    blocked: f64,
    /// Whether the receiver waited for its disk, which is judged elsewhere ([`super::disks`]).
    pub(super) is_disk: bool,
    /// The time for which the receiver's threads waited for a processor, as a share of the window;
    /// over 1 if several did.
    starved: f64,
    /// Whether most of what it carried are blocks without their bytes, such as holes: they are few
    /// bytes, and say nothing of the rate of a wire.
    is_hollow: bool,
}

/// The results of the trials at the end of a window.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The slow nodes, with their rate and that of the others, in bytes per second.
    pub(super) slow: Vec<(NodeId, f64, f64)>,
    /// The node whose trial ended without a result.
    pub(super) acquitted: Option<NodeId>,
}

impl Hop {
    /// Returns the rate of the link in bytes per second, while the receiver takes data.
    pub(super) fn wire(&self) -> f64 {
        self.rate / (self.busy - self.blocked).max(SHORTEST)
    }

    /// Returns the rate in bytes per second while data is in flight, even if the receiver blocks.
    pub(super) fn taken(&self) -> f64 {
        self.rate / self.busy.max(SHORTEST)
    }

    /// Whether the sender has data in flight almost all the time.
    pub(super) fn is_busy(&self) -> bool {
        self.busy >= BUSY
    }

    /// Whether its wire was busy almost all the time, with bytes that the receiver took: then it
    /// can carry no more.
    fn is_full(&self) -> bool {
        self.is_busy() && !self.is_blocked() && !self.is_disk && !self.is_hollow
    }

    /// Whether it carried hardly any bytes of its blocks.
    pub(super) fn is_hollow(&self) -> bool {
        self.is_hollow
    }

    /// Whether the receiver blocks the sender.
    pub(super) fn is_blocked(&self) -> bool {
        self.blocked >= BLOCKED
    }

    /// Whether the receiver blocks the sender, and lacks processors as most others of `hops` do:
    /// then machines that are shared are slow, and not this one.
    pub(super) fn is_starved_as(&self, hops: &[Self]) -> bool {
        let others = hops.iter().filter(|hop| hop.far != self.far);
        let usual = median(others.map(|hop| hop.starved).collect()).unwrap_or(0.0);
        self.is_blocked() && self.starved >= STARVED && usual >= self.starved / 2.0
    }
}

impl Watch {
    /// Ends the present window if it is over, and returns whether it was. A window is shorter if no
    /// counters were known at its start.
    pub(super) fn end_window(&mut self, now: u64) -> bool {
        let window = if self.marks.is_empty() { WINDOW_NS / 8 } else { WINDOW_NS };
        let is_over = now.saturating_sub(self.since) >= window;
        if is_over {
            self.since = now;
        }
        is_over
    }

    /// Returns the hops in the window that ends now. `marks` has, for each hop, its near and far
    /// end and its present counters; blocks have `block_size` bytes. Leaves out hops that were
    /// measured for less than half a window, or whose link was reopened.
    ///
    /// `None` if nothing has moved over any of them: the window goes on then. A receiver that takes
    /// a block now and then lets all hops rest and then all of them hurry, and only both together
    /// show which one is slow.
    pub(super) fn measure(
        &mut self,
        marks: &[(NodeId, NodeId, Mark)],
        block_size: u32,
    ) -> Option<Vec<Hop>> {
        let hops = marks.iter().filter_map(|(near, far, mark)| {
            let before = self.marks.get(far)?;
            let window = mark.at.saturating_sub(before.at);
            if before.hop.epoch != mark.hop.epoch || window < WINDOW_NS / 2 {
                return None;
            }
            let third = mark.writer_at.saturating_sub(before.writer_at) / 3;
            let stalled = mark.writer.0.saturating_sub(before.writer.0) > third;
            let slept = mark.writer.1.saturating_sub(before.writer.1) > third;
            let sent = mark.hop.sent.saturating_sub(before.hop.sent);
            // A block may have arrived for the most part before. A member may report any numbers.
            let blocks = mark.passed.saturating_sub(before.passed).saturating_sub(1);
            let bytes = blocks.saturating_mul(u64::from(block_size));
            let share = |ns: u64, before: u64| ns.saturating_sub(before) as f64 / window as f64;
            Some(Hop {
                near: *near,
                far: *far,
                rate: sent as f64 / window as f64 * 1e9,
                busy: share(mark.hop.busy_ns, before.hop.busy_ns),
                blocked: share(mark.hop.blocked_ns, before.hop.blocked_ns),
                is_disk: mark.is_excused && stalled && slept,
                starved: mark.starved_ns.saturating_sub(before.starved_ns) as f64
                    / mark.writer_at.saturating_sub(before.writer_at).max(1) as f64,
                is_hollow: bytes / HOLLOW > sent,
            })
        });
        let mut hops: Vec<Hop> = hops.collect();
        for at in 1..hops.len() {
            let before = hops[at - 1];
            if before.far == hops[at].near {
                // What a node reports of its own hop may be meant to show that it is fast.
                hops[at].rate = hops[at].rate.min(PASSED_ON_MAX * before.rate);
            }
        }
        if !hops.is_empty() && hops.iter().all(|hop| hop.rate == 0.0) {
            return None;
        }
        if let [first, ..] = &hops[..]
            && first.near == HEAD
            && first.is_hollow
        {
            self.hollow_ns = marks.first().map(|(_, _, mark)| mark.at);
        }
        self.heard += hops.len();
        for hop in hops.iter().filter(|hop| hop.is_full()) {
            let capacity = self.capacities.entry((hop.near, hop.far)).or_default();
            *capacity = capacity.max(hop.taken());
        }
        self.marks = marks.iter().map(|(_, far, mark)| (*far, *mark)).collect();
        Some(hops)
    }

    /// Returns the rate in bytes per second that a hop can carry: what it carried when its wire was
    /// busy all the time, and if it never was, what it carries while data is in flight.
    pub(super) fn capacity(&self, hop: &Hop) -> f64 {
        self.capacities.get(&(hop.near, hop.far)).copied().unwrap_or_else(|| hop.taken())
    }

    /// Whether a node may be suspected: no trial is running, and few ended without a result lately.
    pub(super) fn may_suspect(&self, now: u64) -> bool {
        self.left == 0 && (self.failed < TRIALS_MAX || now >= self.again_ns)
    }

    /// Whether holes may be on their way: the head's own hop carried some lately. What other nodes
    /// report of theirs may be meant to excuse them.
    pub(super) fn has_holes(&self, now: u64) -> bool {
        self.hollow_ns.is_some_and(|at| now.saturating_sub(at) <= HOLES_MAX_NS)
    }

    /// Whether a node that would be suspected is still excused by what is not known of it. Windows
    /// in which it would not be suspected do not make it start over.
    pub(super) fn excuses(&mut self, now: u64, node: NodeId) -> bool {
        let known = self.excused.get(&node).copied();
        let goes_on = known.filter(|known| now.saturating_sub(known.last_ns) <= EXCUSE_KEPT_NS);
        let since_ns = goes_on.map_or(now, |known| known.since_ns);
        self.excused.insert(node, Excused { since_ns, last_ns: now });
        now.saturating_sub(since_ns) <= EXCUSE_MAX_NS
    }

    /// Whether the last trial without a result was that of a node fed by `near`.
    pub(super) fn doubts(&self, near: NodeId) -> bool {
        self.doubted == Some(near)
    }

    /// Notes the suspect of a window. Returns whether it was suspected for long enough.
    pub(super) fn suspect(&mut self, suspect: Option<Suspect>) -> bool {
        let node = suspect.map(|suspect| suspect.node);
        let row =
            self.suspect.filter(|(last, _)| Some(*last) == node).map_or(0, |(_, row)| row) + 1;
        self.suspect = node.map(|node| (node, row));
        let is_heard = self.heard >= HEARD;
        suspect.is_some_and(|it| match it.is_certain {
            true => row >= WINDOWS,
            false => row >= WINDOWS_IF_WEAK && is_heard,
        })
    }

    /// Starts the trial of a node. `blocks` returns the number of blocks that a node has. All
    /// trials start over, since this node has slowed the others down until now.
    pub(super) fn start_trial(
        &mut self,
        now: u64,
        suspect: Suspect,
        blocks: impl Fn(NodeId) -> u64,
    ) {
        self.trials.push(Trial { suspect, since: now, had: 0 });
        for trial in &mut self.trials {
            (trial.since, trial.had) = (now, blocks(trial.suspect.node));
        }
        (self.suspect, self.left) = (None, TRIAL_WINDOWS);
        self.paces.clear();
    }

    /// Judges the trials at the end of a window: a node is slow if its rate is below the share
    /// `slow_below` (in thousandths) of that of the others, in the chain and on the side. `blocks`
    /// returns the number of blocks of `block_size` bytes that a node has.
    pub(super) fn judge_trials(
        &mut self,
        now: u64,
        hops: &[Hop],
        slow_below: u16,
        block_size: u32,
        blocks: impl Fn(NodeId) -> u64,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let Some(last) = self.trials.last().copied() else { return outcome };
        let rates = hops.iter().map(|hop| hop.rate).filter(|&rate| rate > 0.0).collect();
        if now.saturating_sub(last.since) > 2 * WINDOW_NS {
            self.paces.extend(median(rates));
        }
        let kept =
            self.paces.iter().rev().take(MEDIAN_WINDOWS).copied().fold(f64::INFINITY, f64::min);
        let others = if self.paces.len() < MEDIAN_WINDOWS { 0.0 } else { kept };
        let least = others * f64::from(slow_below) / 1000.0;
        let is_slow = |trial: &Trial| {
            let received = blocks(trial.suspect.node).saturating_sub(trial.had);
            let seconds = now.saturating_sub(trial.since) as f64 / 1e9;
            // A node's rate is known from whole blocks only.
            if others * seconds < RESOLVED * f64::from(block_size) {
                return false;
            }
            let own = received as f64 * f64::from(block_size) / seconds.max(1e-3);
            trial.suspect.rate < least && own < least
        };
        let (slow, trials): (Vec<_>, Vec<_>) = self.trials.drain(..).partition(is_slow);
        self.trials = trials;
        if slow.iter().any(|trial| trial.suspect.node == last.suspect.node) {
            self.left = 0;
        }
        outcome.slow =
            slow.iter().map(|trial| (trial.suspect.node, trial.suspect.rate, others)).collect();
        if self.left == 1 {
            self.failed += 1;
            let doublings = self.failed.saturating_sub(TRIALS_MAX).min(DOUBLINGS_MAX);
            self.again_ns = now.saturating_add(TRIALS_PAUSE_NS << doublings);
            self.doubted = Some(last.suspect.near);
            outcome.acquitted = Some(last.suspect.node);
        }
        self.left = self.left.saturating_sub(1);
        outcome
    }
}

/// Returns the upper median; `None` without values.
pub(super) fn median(mut values: Vec<f64>) -> Option<f64> {
    let middle = values.len() / 2;
    (!values.is_empty()).then(|| *values.select_nth_unstable_by(middle, f64::total_cmp).1)
}

//! Which hops hold the others up. Back-pressure gives a whole chain the pace of its slowest hop; which
//! one that is shows at its ends: its sender always has something on its way, and whoever comes behind
//! it hasn't. What it costs shows only without it: a node that is suspected is taken off the others'
//! way, and is called slow when they go on at more than so many times the pace that it gave them, and
//! that it keeps where it stands now. Equally slow wires, or processors that all lack, make nobody slow;
//! nor does a hiccup.

use std::collections::BTreeMap;

use super::{Head, NodeState, SlowNodes};
use crate::report::HopReport;
use garland_core::plan::{HEAD, NodeId};

/// Hops are judged by so many nanoseconds at a time.
const WINDOW_NS: u64 = 200_000_000;

/// A hop must hold the others up for so many windows in a row: once may be a hiccup.
const WINDOWS: u32 = 2;

/// The others have so many windows to show that they are quicker without a node, before another one is
/// suspected. The first doesn't count: what they had room for comes at once then.
const TRIAL_WINDOWS: u32 = 8;

/// A pace is one that is kept for so many windows.
const KEPT: usize = 3;

/// After so many trials that showed nothing a lane is taken to be as quick as it can be.
const TRIALS_MAX: u32 = 2;

/// A sender that has something on its way for this share of the time always has.
const BUSY: f64 = 0.8;

/// A far end that took nothing for this share of the time holds its sender up.
const BLOCKED: f64 = 0.2;

/// A share of the time that is too short to reckon by.
const SHORTEST: f64 = 0.01;

/// A node that held the others up, and by how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slow {
    /// Bytes per second that it took.
    pub rate: u64,
    /// Bytes per second that the others take without it.
    pub others: u64,
}

/// What is known of a lane's hops.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// When the present window began.
    since: u64,
    /// What had been reported by then of the hop to each node.
    marks: BTreeMap<NodeId, Mark>,
    /// Who has been suspected last, behind whom, and for how many windows in a row.
    suspect: Option<(NodeId, NodeId, u32)>,
    /// Who was taken off the others' way without being called slow yet; the last one is on trial for
    /// so many windows more.
    trials: Vec<Trial>,
    left: u32,
    /// Bytes per second of the last windows, since the last node was taken off.
    paces: Vec<f64>,
    /// Trials that showed nothing, and the last one's sender.
    failed: u32,
    doubted: Option<NodeId>,
}

/// What was reported of a hop: when, by its sender's kernel; and when, of the far end's writer: the
/// nanoseconds that were waited for it, and those that it slept in its writes.
#[derive(Clone, Copy, Debug)]
struct Mark {
    at: u64,
    hop: HopReport,
    writer_at: u64,
    writer: (u64, u64),
}

/// A node that was taken off the others' way.
#[derive(Clone, Copy, Debug)]
struct Trial {
    node: NodeId,
    near: NodeId,
    /// Bytes per second that went by it.
    before: f64,
    /// Since when it is compared with the others, and the blocks that it had by then.
    since: u64,
    had: u64,
}

/// A hop in a window.
#[derive(Clone, Copy, Debug)]
struct Measured {
    near: NodeId,
    far: NodeId,
    /// Bytes per second.
    rate: f64,
    /// The share of the time that something was on its way, and that of it that the far end took nothing.
    busy: f64,
    blocked: f64,
    /// The far end waited for its disk: that is judged as such.
    is_disk: bool,
}

impl Measured {
    /// Bytes per second that the wire carries while it may.
    fn wire(&self) -> f64 {
        self.rate / (self.busy - self.blocked).max(SHORTEST)
    }

    /// Bytes per second that wire and far end take.
    fn taken(&self) -> f64 {
        self.rate / self.busy.max(SHORTEST)
    }
}

impl Head {
    /// Ends a window where it is over, and judges by it.
    pub(super) fn judge_hops(&mut self, now: u64) {
        if self.policy.slow == SlowNodes::Wait || self.policy.together {
            return;
        }
        for lane in 0..self.lanes.len() {
            let watch = &mut self.lanes[lane].watch;
            let is_first = watch.marks.is_empty();
            if now.saturating_sub(watch.since) < WINDOW_NS && !is_first {
                continue;
            }
            watch.since = now;
            let hops = self.measure_hops(lane);
            self.try_without(now, lane, &hops);
            let watch = &self.lanes[lane].watch;
            if watch.left == 0 && watch.failed < TRIALS_MAX {
                self.suspect(now, lane, &hops);
            }
        }
    }

    /// The lane's hops in the window that ends now, from the first on; without those to several nodes
    /// at a time, and those of which too little is known.
    fn measure_hops(&mut self, lane: usize) -> Vec<Measured> {
        let state = &self.lanes[lane];
        let mut marks = BTreeMap::new();
        let mut hops = Vec::new();
        for &far in state.nodes.iter().filter(|far| !state.loose.contains(far)) {
            let Some(&near) = state.feeders.get(&far) else { continue };
            let from = &self.nodes[near.index()];
            let Some(hop) = from.report.lanes.get(lane).and_then(|lane| lane.hop) else { continue };
            if state.epochs.get(&far) != Some(&hop.epoch) {
                continue;
            }
            let to = &self.nodes[far.index()];
            let writer = (to.report.stalled_ns, to.report.blocked_ns);
            let mark = Mark { at: from.reported, hop, writer_at: to.reported, writer };
            marks.insert(far, mark);
            let Some(before) = state.watch.marks.get(&far) else { continue };
            let window = mark.at.saturating_sub(before.at);
            if before.hop.epoch != hop.epoch || window < WINDOW_NS / 2 {
                continue;
            }
            let third = mark.writer_at.saturating_sub(before.writer_at) / 3;
            let stalled = writer.0.saturating_sub(before.writer.0) > third;
            let slept = writer.1.saturating_sub(before.writer.1) > third;
            let before = before.hop;
            let share = |ns: u64, before: u64| ns.saturating_sub(before) as f64 / window as f64;
            hops.push(Measured {
                near,
                far,
                rate: share(hop.sent, before.sent) * 1e9,
                busy: share(hop.busy_ns, before.busy_ns),
                blocked: share(hop.blocked_ns, before.blocked_ns),
                is_disk: stalled && slept,
            });
        }
        self.lanes[lane].watch.marks = marks;
        hops
    }

    /// Takes a node off the others' way that has been suspected for long enough.
    fn suspect(&mut self, now: u64, lane: usize, hops: &[Measured]) {
        let suspect = self.slowest(now, lane, hops);
        let watch = &mut self.lanes[lane].watch;
        let Some((near, node, before)) = suspect else {
            watch.suspect = None;
            return;
        };
        let row = watch.suspect.filter(|(_, last, _)| *last == node).map_or(0, |(.., row)| row) + 1;
        watch.suspect = Some((near, node, row));
        if row >= WINDOWS && self.slow.len() < self.policy.slow_max {
            let mut trials = std::mem::take(&mut self.lanes[lane].watch.trials);
            trials.push(Trial { node, near, before, since: now, had: 0 });
            // All are measured anew: until now this one held them up.
            for trial in &mut trials {
                (trial.since, trial.had) = (now, self.blocks_of(trial.node, lane));
            }
            let watch = &mut self.lanes[lane].watch;
            (watch.suspect, watch.trials, watch.left) = (None, trials, TRIAL_WINDOWS);
            watch.paces.clear();
            self.loosen(lane, node);
        }
    }

    /// Who holds the lane up most likely, behind whom, and the bytes per second that go by it.
    fn slowest(&self, now: u64, lane: usize, hops: &[Measured]) -> Option<(NodeId, NodeId, f64)> {
        let at = hops.iter().rposition(|hop| hop.busy >= BUSY)?;
        let hop = hops[at];
        // Who comes behind it must be known to wait: a link that is broken says nothing.
        let state = &self.lanes[lane];
        let mut behind = state.fed_by(hop.far).filter(|fed| !state.loose.contains(fed));
        let is_known = behind.all(|far| hops[at + 1..].iter().any(|other| other.far == far));
        let before = hops[..at].iter().map(Measured::wire);
        let mut others: Vec<f64> =
            before.chain(hops[at + 1..].iter().map(Measured::taken)).collect();
        if others.is_empty() {
            return None;
        }
        let middle = others.len() / 2;
        let usual = *others.select_nth_unstable_by(middle, f64::total_cmp).1;
        let least = usual * f64::from(self.policy.slow_below) / 1000.0;
        if hop.taken() >= least || hop.is_disk || !is_known {
            return None;
        }
        // The head always has something to send. If its first node takes all that comes, their wire gives the
        // pace as it does where all are alike, whatever those behind seem to be able to do in bursts.
        if hop.near == HEAD && hop.blocked < BLOCKED {
            return None;
        }
        // A node whose own wire is slow shows on both its hops.
        let into = hops[..at].iter().find(|into| into.far == hop.near);
        let both = into.is_some_and(|into| into.wire() < least);
        let doubted = self.lanes[lane].watch.doubted == Some(hop.near);
        let node = if hop.near != HEAD && (both || doubted) { hop.near } else { hop.far };
        // A machine that says nothing hangs, or is dead.
        let known = &self.nodes[node.index()];
        let speaks = now.saturating_sub(known.reported) < WINDOW_NS;
        // What a pipe takes depends on other lanes and on its reader.
        let is_in = node != HEAD && !known.left && speaks && known.report.holder;
        is_in.then_some((hop.near, node, hop.rate))
    }

    /// Looks whether the others are quicker without those that were suspected, which aren't quicker
    /// where they stand now.
    fn try_without(&mut self, now: u64, lane: usize, hops: &[Measured]) {
        let watch = &mut self.lanes[lane].watch;
        let Some(last) = watch.trials.last().copied() else { return };
        let mut rates: Vec<f64> =
            hops.iter().map(|hop| hop.rate).filter(|&rate| rate > 0.0).collect();
        if !rates.is_empty() && now.saturating_sub(last.since) > 2 * WINDOW_NS {
            let middle = rates.len() / 2;
            watch.paces.push(*rates.select_nth_unstable_by(middle, f64::total_cmp).1);
        }
        let kept = watch.paces.iter().rev().take(KEPT).copied().fold(f64::INFINITY, f64::min);
        let others = if watch.paces.len() < KEPT { 0.0 } else { kept };
        let least = others * f64::from(self.policy.slow_below) / 1000.0;
        let trials = watch.trials.clone();
        for trial in trials.iter().filter(|trial| trial.before < least) {
            let blocks = self.blocks_of(trial.node, lane).saturating_sub(trial.had);
            let seconds = now.saturating_sub(trial.since) as f64 / 1e9;
            let own = (blocks * u64::from(self.block_size)) as f64 / seconds.max(1e-3);
            if own < least {
                self.call_slow(trial.node, trial.before, others);
                let watch = &mut self.lanes[lane].watch;
                watch.trials.retain(|other| other.node != trial.node);
                watch.left = if trial.node == last.node { 0 } else { watch.left };
            }
        }
        let watch = &mut self.lanes[lane].watch;
        if watch.left == 1 {
            // It stays where it holds nobody up, and may feed others there.
            watch.failed += 1;
            watch.doubted = Some(last.near);
            self.slow.remove(&last.node);
        }
        let watch = &mut self.lanes[lane].watch;
        watch.left = watch.left.saturating_sub(1);
    }

    /// Blocks of a lane that a node has had by its last report.
    fn blocks_of(&self, node: NodeId, lane: usize) -> u64 {
        let lanes = &self.nodes[node.index()].report.lanes;
        lanes.get(lane).map_or(0, |lane| lane.received)
    }

    fn call_slow(&mut self, id: NodeId, rate: f64, others: f64) {
        let slow = Slow { rate: rate as u64, others: others as u64 };
        let node = &mut self.nodes[id.index()];
        node.slow.get_or_insert(slow);
        self.slow.insert(id);
        if self.policy.slow == SlowNodes::Fail {
            let reason = format!(
                "it took {:.1} MB/s where the others take {:.1} MB/s",
                rate / 1e6,
                others / 1e6
            );
            self.gone(id, NodeState::Failed(reason));
        }
    }
}

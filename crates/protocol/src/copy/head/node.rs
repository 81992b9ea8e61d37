//! The head's record of a node: its state, its verdict, and how busy its disk is.

use std::collections::BTreeSet;

use garland_core::plan::NodeId;

use super::watch::Slow;
use crate::copy::absence::{Absence, AbsenceList};
use crate::copy::report::Report;

/// The length in nanoseconds of the windows in which disks are judged.
const WINDOW_NS: u64 = 500_000_000;

/// The number of consecutive windows in which a disk must be slow; a single one may be a hiccup.
const WINDOWS: u32 = 2;

/// The time without progress after which a node gets another feeder, in nanoseconds: longer than a
/// silent node takes to die.
const STARVED_NS: u64 = 15_000_000_000;

/// The state of a node in a copy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum NodeState {
    /// The node was sent the description of the copy.
    #[default]
    Joining,
    /// The node's destination is open.
    Ready,
    /// The node has all blocks.
    Complete,
    /// The node's part is complete under temporary names.
    Prepared,
    /// The node's file has its final name.
    Committed,
    /// The node failed, for this reason.
    Failed(String),
    /// The node died; contains how that was noticed.
    Dead(String),
}

/// The result of a copy on one node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The node has the whole file.
    Ok,
    /// The node failed, for this reason.
    Failed(String),
    /// The node died; contains how that was noticed.
    Dead(String),
    /// The node was told to commit, and could not say whether it did: it has the whole file or, in
    /// its place, what was there before. Contains why.
    Unknown(String),
}

/// The outcome of a copy on one node.
#[derive(Clone, Debug)]
pub struct NodeOutcome {
    /// The name of the node.
    pub name: String,
    /// Whether the node has the whole file, and if not, why.
    pub verdict: Verdict,
    /// The node's last report.
    pub report: Report,
    /// Whether the node was detached because its disk was too slow for the others.
    pub detached: bool,
    /// The rates of the node and of the others, if the node's link or machine slowed the others
    /// down.
    pub slow: Option<Slow>,
    /// Whether the node was fed on the side for a while, to see whether it slowed the others down.
    pub tried: bool,
    /// How often the link to the node was opened again after it broke, in all lanes; for a source,
    /// its link to the head. Attempts that failed count, another feeder does not.
    pub reopened: u32,
    /// The time at which the node had every block, in monotonic nanoseconds.
    pub held_ns: Option<u64>,
    /// Whether the node is dead or hangs; the head then does not wait for its agent to exit.
    pub silent: bool,
    /// The parts of the tree that the node did not deliver, or could not put in place.
    pub absence: Absence,
    /// Whether the node could not be reached, and did not join either.
    pub absent: bool,
}

impl NodeOutcome {
    /// Returns the outcome of a node that failed before the copy began.
    #[must_use]
    pub fn failed(name: &str, reason: String) -> Self {
        Self {
            name: name.to_owned(),
            verdict: Verdict::Failed(reason),
            report: Report::default(),
            detached: false,
            slow: None,
            tried: false,
            reopened: 0,
            held_ns: None,
            silent: false,
            absence: Absence::default(),
            absent: false,
        }
    }
}

/// The head's record of a node.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) state: NodeState,
    /// Whether the node was ordered to begin.
    pub(super) begun: bool,
    /// Whether the node has closed the copy.
    pub(super) closed: bool,
    /// Whether the node did not close an earlier attempt of the copy.
    pub(super) unresponsive: bool,
    /// Whether the control channel to the node was lost.
    pub(super) lost: bool,
    /// Whether the node could not be reached, or is not in the plan, and may join later.
    pub(super) absent: bool,
    /// Whether the node joined after the others had begun.
    pub(super) late: bool,
    /// The time at which the node had every block, in monotonic nanoseconds.
    pub(super) held_ns: Option<u64>,
    /// The parts of the tree that the node did not deliver, or could not put in place.
    pub(super) absence: AbsenceList,
    pub(super) report: Report,
    /// When the last report arrived, in monotonic nanoseconds.
    pub(super) reported: u64,
    pub(super) disk: Disk,
    pub(super) progress: Progress,
    pub(super) detached: bool,
    /// Whether the node hangs in a call on its disk.
    pub(super) hangs: bool,
    /// How long the node has hung in calls on which others may wait.
    pub(super) hanging: Hanging,
    /// The rates of the node and of the others, if the node's link or machine slowed the others
    /// down.
    pub(super) slow: Option<Slow>,
    /// Whether the node was fed on the side on suspicion.
    pub(super) tried: bool,
    /// Whether the node was fed on the side because it, or those that it fed, took nothing.
    pub(super) took_nothing: bool,
    /// The nodes that were moved by the word of this one, which fed them: they took nothing.
    pub(super) blamed: BTreeSet<NodeId>,
    /// How often the link to the node was opened again after it broke; for a source, its link to
    /// the head.
    pub(super) reopened: u32,
    /// What the node's feeder reported about the link to it before the node was suspected.
    pub(super) last_report: Option<String>,
    /// Whether the node was told to commit, and has not said whether it did.
    pub(super) commits: bool,
    /// Whether the node has left all lanes.
    pub(super) left: bool,
    /// The digest of the bytes that the node has, once it is complete.
    pub(super) root: Option<[u8; 32]>,
    /// The digest that the node's bytes must have: set once known, cleared with the order to
    /// commit.
    pub(super) wanted: Option<[u8; 32]>,
}

impl Node {
    /// Creates the record of a node that joins the copy now.
    pub(super) fn new(now: u64) -> Self {
        let disk = Disk { since: now, ..Disk::default() };
        let progress = Progress { since_ns: now, ..Progress::default() };
        Self { reported: now, disk, progress, ..Self::default() }
    }
}

/// How long a node has hung in calls on its disk on which others may wait.
#[derive(Debug, Default)]
pub(super) struct Hanging {
    /// The time in calls that have ended, in nanoseconds.
    before_ns: u64,
    /// When the present call was first seen to hang, in monotonic nanoseconds.
    since: Option<u64>,
    /// When the first call was first seen to hang.
    first: Option<u64>,
}

impl Hanging {
    /// Notes whether the node hangs now.
    pub(super) fn note(&mut self, now: u64, hangs: bool) {
        match (hangs, self.since) {
            (true, None) => {
                self.since = Some(now);
                self.first.get_or_insert(now);
            }
            (false, Some(_)) => {
                self.before_ns = self.total_ns(now);
                self.since = None;
            }
            (true, Some(_)) | (false, None) => {}
        }
    }

    /// Returns the time since the first such call, in nanoseconds.
    pub(super) fn lasts_ns(&self, now: u64) -> u64 {
        self.first.map_or(0, |first| now.saturating_sub(first))
    }

    /// Returns the time of all such calls until now, in nanoseconds.
    pub(super) fn total_ns(&self, now: u64) -> u64 {
        let present_ns = self.since.map_or(0, |since| now.saturating_sub(since));
        self.before_ns.saturating_add(present_ns)
    }
}

/// What a node's reports said when it last made progress, or when its feeders had nothing for it.
#[derive(Debug, Default)]
pub(super) struct Progress {
    held: u64,
    /// The times for which the node waited for its own disk or reader.
    own_ns: (u64, u64),
    /// When the node last made progress, or had nothing to get, in monotonic nanoseconds.
    since_ns: u64,
}

impl Progress {
    /// Compares a report with the progress before. Returns whether the node has waited for others
    /// for too long; then its time starts over. `could_get` is whether a feeder has what it lacks:
    /// only then does it wait for others.
    pub(super) fn is_starved(&mut self, now: u64, report: &Report, could_get: bool) -> bool {
        let own_ns = (report.stalled_ns, report.blocked_ns);
        let waits = could_get
            && report.pending.is_none()
            && (self.held, self.own_ns) == (report.held, own_ns);
        let is_long = now.saturating_sub(self.since_ns) >= STARVED_NS;
        if !waits || is_long {
            *self = Self { held: report.held, own_ns, since_ns: now };
        }
        waits && is_long
    }
}

/// The head's record of a node's disk.
#[derive(Debug, Default)]
pub(super) struct Disk {
    /// When the present window began, in monotonic nanoseconds.
    since: u64,
    /// The times for which receiving was stalled and the writer was blocked, in nanoseconds, as
    /// reported when the window began.
    before: (u64, u64),
    /// The share of the last window in which the writer was blocked in a write, in thousandths.
    pub(super) blocked: u64,
    /// Whether the node waited for its disk for more than half of the last window.
    pub(super) is_busy: bool,
    /// The number of consecutive windows in which the disk slowed the other nodes down.
    slow: u32,
}

impl Disk {
    /// Ends the present window if it is over, and returns whether the node waited for its disk for
    /// more than half of the window; `None` if the window is not over.
    pub(super) fn measure(&mut self, now: u64, report: &Report) -> Option<bool> {
        let window = now.saturating_sub(self.since);
        if window < WINDOW_NS {
            return None;
        }
        let (stalled, blocked) = self.before;
        let thousandths =
            |ns: u64, before: u64| (ns.saturating_sub(before).min(window) * 1000) / window;
        let stalled = thousandths(report.stalled_ns, stalled);
        self.blocked = thousandths(report.blocked_ns, blocked);
        self.since = now;
        self.before = (report.stalled_ns, report.blocked_ns);
        // A machine without a spare CPU also slows the other nodes down, but its disk is not the
        // cause, and dropping blocks would only double its work.
        self.is_busy = stalled > 500 && self.blocked > 500;
        Some(self.is_busy)
    }

    /// Notes whether the disk slowed the other nodes down in a window. Returns whether it did so
    /// for long enough.
    pub(super) fn is_slow_for_long(&mut self, slow: bool) -> bool {
        self.slow = if slow { self.slow + 1 } else { 0 };
        self.slow >= WINDOWS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_is_starved_if_it_waits_for_others_only() {
        let second = 1_000_000_000;
        let mut progress = Progress::default();
        let report = |held, stalled_ns| Report { held, stalled_ns, ..Report::default() };
        assert!(!progress.is_starved(second, &report(1, 0), true), "it has made progress");
        assert!(!progress.is_starved(15 * second, &report(1, 0), true));
        assert!(progress.is_starved(16 * second, &report(1, 0), true));
        assert!(!progress.is_starved(17 * second, &report(1, 0), true), "its time starts over");
        assert!(!progress.is_starved(32 * second, &report(1, 7), true), "it waited for its disk");
        assert!(!progress.is_starved(46 * second, &report(2, 7), true), "it has made progress");
        assert!(progress.is_starved(61 * second, &report(2, 7), true));
        assert!(!progress.is_starved(75 * second, &report(2, 7), false), "nobody has more");
        assert!(!progress.is_starved(89 * second, &report(2, 7), true), "somebody has, for 14 s");
        assert!(progress.is_starved(90 * second, &report(2, 7), true));
    }
}

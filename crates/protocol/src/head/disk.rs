//! Measures how busy a node's disk is.

use crate::report::Report;

/// The length of a window in nanoseconds, after which a disk is judged.
const WINDOW_NS: u64 = 500_000_000;

/// The number of consecutive windows in which a disk must be slow; a single one may be a hiccup.
const WINDOWS: u32 = 2;

/// What the head knows about a node's disk.
#[derive(Debug)]
pub(super) struct Disk {
    /// When the present window began.
    since: u64,
    /// The stalled and the blocked nanoseconds that the node had reported when the window began.
    before: (u64, u64),
    /// The share of the last window in which the writer was blocked in a write, in thousandths.
    blocked: u64,
    /// The number of consecutive windows in which the disk slowed the other nodes down.
    slow: u32,
}

impl Disk {
    /// Creates the record of a disk about which nothing is known at `now`.
    pub(super) fn new(now: u64) -> Self {
        Self { since: now, before: (0, 0), blocked: 0, slow: 0 }
    }

    /// Ends the present window if it is over. Returns whether the node was busy writing in it.
    pub(super) fn measure(&mut self, now: u64, report: &Report) -> Option<bool> {
        let window = now.saturating_sub(self.since);
        if window < WINDOW_NS {
            return None;
        }
        let (stalled, blocked) = self.before;
        let thousandths = |ns: u64, before: u64| ns.saturating_sub(before) * 1000 / window;
        let stalled = thousandths(report.stalled_ns, stalled);
        self.blocked = thousandths(report.blocked_ns, blocked);
        self.since = now;
        self.before = (report.stalled_ns, report.blocked_ns);
        // A machine without a spare CPU also slows the other nodes down, but not by its disk, and
        // dropping blocks would only double its work.
        Some(stalled > 500 && self.blocked > 500)
    }

    /// Returns the share of the last window in which the writer was blocked in a write, in
    /// thousandths.
    pub(super) fn blocked(&self) -> u64 {
        self.blocked
    }

    /// Notes whether the disk slowed the other nodes down in a window. Returns whether it did so
    /// for long enough.
    pub(super) fn is_slow_for_long(&mut self, slow: bool) -> bool {
        self.slow = if slow { self.slow + 1 } else { 0 };
        self.slow >= WINDOWS
    }
}

//! The bytes in flight between two nodes over time.

use super::weave::Piece;

/// The bytes that one end of a hop has transferred, over time.
#[derive(Debug, Default)]
pub(super) struct Moved {
    /// Periods in order: begin, end, bytes transferred before it, bytes transferred after it.
    steps: Vec<(i64, i64, f64, f64)>,
}

/// The transfers of a lane over a hop, at both ends.
#[derive(Debug, Default)]
pub(super) struct Hop {
    pub sent: Moved,
    pub received: Moved,
    /// Moments in order, and the least difference of the bytes sent and received from then on:
    /// bytes that never arrived, since the connection was replaced.
    gone: Vec<(i64, f64)>,
}

/// The maximum number of bytes in flight while the sender waits for more to send: a relay forwards
/// slices of 64 KiB, and each end can be in the middle of one.
const SLICES: f64 = 192.0 * 1024.0;

impl Moved {
    pub fn push(&mut self, piece: &Piece) {
        let before = self.steps.last().map_or(0.0, |step| step.3);
        self.steps.push((piece.begin, piece.end, before, before + piece.bytes));
    }

    /// Returns the bytes transferred between two moments.
    pub fn between(&self, begin: i64, end: i64) -> f64 {
        self.until(end) - self.until(begin)
    }

    /// Returns the begin of the first period and the end of the last one; `None` without any.
    pub fn known(&self) -> Option<(i64, i64)> {
        Some((self.steps.first()?.0, self.steps.last()?.1))
    }

    fn until(&self, at: i64) -> f64 {
        let begun = self.steps.partition_point(|step| step.0 < at);
        let Some((begin, end, before, after)) = begun.checked_sub(1).map(|last| self.steps[last])
        else {
            return 0.0;
        };
        let share = (at - begin) as f64 / (end - begin).max(1) as f64;
        before + share.clamp(0.0, 1.0) * (after - before)
    }
}

impl Hop {
    /// Finds out which bytes never arrived; called once all transfers are known.
    pub fn settle(&mut self) {
        let steps = self.sent.steps.iter().chain(&self.received.steps);
        let mut moments: Vec<i64> = steps.flat_map(|step| [step.0, step.1]).collect();
        moments.sort_unstable();
        moments.dedup();
        let mut least = f64::INFINITY;
        let from_end = moments.into_iter().rev().map(|at| {
            least = least.min(self.sent.until(at) - self.received.until(at));
            (at, least.max(0.0))
        });
        self.gone = from_end.collect();
        self.gone.reverse();
    }

    /// Returns whether bytes are in flight at `at`. `over` means that the last byte of the copy or
    /// of an operation was sent: then any bytes count. Otherwise only more than [`SLICES`] bytes
    /// count, since both ends can hold slices.
    pub fn has_in_flight(&self, at: i64, over: bool) -> bool {
        let least = if over { 1.0 } else { SLICES };
        let from = self.gone.partition_point(|(moment, _)| *moment < at);
        let gone = self.gone.get(from).map_or(0.0, |(_, bytes)| *bytes);
        self.sent.until(at) - self.received.until(at) - gone > least
    }

    /// Returns the earliest time when a wire with `rate` bytes per second can have carried
    /// everything sent before `at`.
    pub fn through(&self, at: i64, rate: f64) -> i64 {
        let sent = self.sent.until(at);
        let steps = self.sent.steps.iter().take_while(|step| step.0 < at);
        let from = |step: &(i64, i64, f64, f64)| {
            step.0.saturating_add(((sent - step.2) / rate.max(1.0) * 1e9) as i64)
        };
        steps.map(from).max().unwrap_or(at).min(at)
    }
}

//! What is under way between two nodes at a moment.

use super::weave::Piece;

/// Bytes that one side has moved, by time.
#[derive(Debug, Default)]
pub(super) struct Moved {
    /// Begin, end, bytes before, bytes at the end.
    steps: Vec<(i64, i64, f64, f64)>,
}

/// A lane's hop.
#[derive(Debug, Default)]
pub(super) struct Hop {
    pub sent: Moved,
    pub received: Moved,
}

/// What may be under way though the sender waits for more to send: a relay passes bytes on in slices
/// of 64 KiB, and each end may be in the middle of one.
const SLICES: f64 = 192.0 * 1024.0;

impl Moved {
    pub fn push(&mut self, piece: &Piece) {
        let before = self.steps.last().map_or(0.0, |step| step.3);
        self.steps.push((piece.begin, piece.end, before, before + piece.bytes));
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
    /// Whether more is under way at that moment than what the ends have in hand; or anything at all,
    /// when the sender's work is over.
    pub fn is_wet(&self, at: i64, over: bool) -> bool {
        let least = if over { 1.0 } else { SLICES };
        self.sent.until(at) - self.received.until(at) > least
    }

    /// When a wire that is no faster than so many bytes per second has carried what was sent before
    /// `at`, at the soonest.
    pub fn through(&self, at: i64, rate: f64) -> i64 {
        let sent = self.sent.until(at);
        let steps = self.sent.steps.iter().take_while(|step| step.0 < at);
        let from = |step: &(i64, i64, f64, f64)| {
            step.0.saturating_add(((sent - step.2) / rate.max(1.0) * 1e9) as i64)
        };
        steps.map(from).max().unwrap_or(at).min(at)
    }
}

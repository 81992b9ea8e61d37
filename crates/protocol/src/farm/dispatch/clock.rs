//! The clock of a node, compared with the head's.

/// The offset of a node's clock from the head's, as the probe with the shortest round trip shows
/// it.
#[derive(Clone, Copy, Debug, Default)]
pub struct NodeClock {
    /// The offset, and the round trip of its probe, in nanoseconds; `None` before the first answer.
    best: Option<(i64, u64)>,
}

impl NodeClock {
    /// Handles the answer to a probe. The head sent the probe at `asked_ns` and got the answer at
    /// `now_ns`, by its own clock; the node received and answered it at the other times, by the
    /// node's clock.
    pub fn note(&mut self, now_ns: u64, asked_ns: u64, received_ns: u64, answered_ns: u64) {
        let took = now_ns.saturating_sub(asked_ns);
        let middle = i128::from(asked_ns) + i128::from(took / 2);
        let theirs = i128::midpoint(i128::from(received_ns), i128::from(answered_ns));
        let ahead = i64::try_from(theirs - middle).unwrap_or(0);
        if self.best.is_none_or(|(_, before)| took < before) {
            self.best = Some((ahead, took));
        }
    }

    /// Converts a time in nanoseconds of the node's clock to the head's clock.
    pub fn head_ns(self, node_ns: u64) -> u64 {
        let ahead = self.best.map_or(0, |(ahead, _)| ahead);
        node_ns.saturating_add_signed(ahead.saturating_neg())
    }
}

#[cfg(test)]
mod tests;

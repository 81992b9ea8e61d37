//! Judges the wire of a link by what the kernel reports.

/// A wire is dead only after this many consecutive retransmissions without an acknowledgement.
const VAIN: u8 = 2;

/// A wire is dead only if nothing was received over it for this many nanoseconds.
const UNHEARD_NS: u64 = 1_500_000_000;

/// What the kernel reports of a link downstream.
#[derive(Clone, Copy, Debug)]
pub struct WireFacts {
    /// The number of consecutive retransmissions without an acknowledgement.
    pub vain: u8,
    /// The time since anything was received, in nanoseconds.
    pub unheard_ns: u64,
}

impl WireFacts {
    /// Whether the link is to be cut, so that the head tries another rail or feeder: nothing is
    /// received, and data and probes are sent again in vain. The kernel would try for a quarter of
    /// an hour.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.vain >= VAIN && self.unheard_ns >= UNHEARD_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_wire_that_answers_nothing_is_cut() {
        let dead = WireFacts { vain: 2, unheard_ns: UNHEARD_NS };
        assert!(dead.is_dead());
        assert!(!WireFacts { vain: 1, ..dead }.is_dead(), "a retransmission is nothing unusual");
        assert!(!WireFacts { unheard_ns: UNHEARD_NS - 1, ..dead }.is_dead());
    }
}

//! Judges the wire of a link by what the kernel reports.

use crate::copy::report::HopReport;

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

/// A receiver takes nothing if none of what is sent to it is acknowledged for this time, in
/// nanoseconds.
const TAKEN_WITHIN_NS: u64 = 10_000_000_000;

/// How the other end of a link downstream takes what is sent to it, as the sender's kernel says:
/// whatever the receiver says of itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Taking {
    sent: u64,
    busy_ns: u64,
    /// Since when it takes nothing, in monotonic nanoseconds.
    since_ns: u64,
}

impl Taking {
    /// Notes the present statistics of the link. Returns whether its receiver takes nothing.
    pub fn note(&mut self, now_ns: u64, hop: &HopReport) -> bool {
        // Without data in flight nothing can be taken.
        if hop.sent != self.sent || hop.busy_ns == self.busy_ns {
            self.since_ns = now_ns;
        }
        self.sent = hop.sent;
        self.busy_ns = hop.busy_ns;
        now_ns.saturating_sub(self.since_ns) >= TAKEN_WITHIN_NS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn who_takes_nothing_of_what_is_in_flight_is_found_after_ten_seconds() {
        let hop = |sent, busy_s: u64| HopReport {
            sent,
            busy_ns: busy_s * SECOND_NS,
            ..HopReport::default()
        };
        let mut taking = Taking::default();
        let found = (1..=30).position(|second| taking.note(second * SECOND_NS, &hop(7, second)));
        assert_eq!(found, Some(10));
        assert!(!taking.note(31 * SECOND_NS, &hop(8, 31)), "it has taken a byte");
        let mut idle = Taking::default();
        assert!(
            (1..=30).all(|second| !idle.note(second * SECOND_NS, &hop(7, 1))),
            "nothing is sent"
        );
    }

    #[test]
    fn only_a_wire_that_answers_nothing_is_cut() {
        let dead = WireFacts { vain: 2, unheard_ns: UNHEARD_NS };
        assert!(dead.is_dead());
        assert!(!WireFacts { vain: 1, ..dead }.is_dead(), "a retransmission is nothing unusual");
        assert!(!WireFacts { unheard_ns: UNHEARD_NS - 1, ..dead }.is_dead());
    }
}

//! The time that a copy's wires need for a byte, from what the far ends of its links acknowledge.
//!
//! What a socket takes at once only fills its buffers and the far end's, which hold megabytes. The
//! kernel counts the bytes that arrived, and the time in which any were on their way.

use std::collections::BTreeMap;
use std::time::Duration;

use garland_sys::tcp_info::TcpInfo;

/// The shortest time from which a rate is taken: the kernel counts busy time in ticks of up to 10
/// ms.
const RATE_TIME_MIN: Duration = Duration::from_millis(20);

/// The weight of the newest measurement in a moving average, from 0 to 1.
const NEWEST: f64 = 0.25;

/// The links of a copy downstream, by lane and by the index in the plan of the node at the far end.
#[derive(Debug, Default)]
pub struct Wires(BTreeMap<(usize, u16), Wire>);

#[derive(Debug)]
struct Wire {
    /// The counters when the current measurement began.
    since: TcpInfo,
    /// The time in nanoseconds to send a byte; none before the first measurement.
    byte_ns: Option<f64>,
}

impl Wires {
    /// Records the counters of the link of `lane` to node `peer`.
    pub fn observe(&mut self, lane: usize, peer: u16, now: TcpInfo) {
        let new = Wire { since: now, byte_ns: None };
        self.0.entry((lane, peer)).or_insert(new).observe(now);
    }

    /// Records that sending `bytes` bytes over `lane`, whose links have no counters, took `ns`
    /// nanoseconds.
    pub fn sent(&mut self, lane: usize, bytes: usize, ns: u64) {
        let new = Wire { since: TcpInfo::default(), byte_ns: None };
        self.0.entry((lane, u16::MAX)).or_insert(new).add(ns as f64 / bytes as f64, 1.0);
    }

    /// Returns the time in nanoseconds to send a byte over `lanes` lanes together; none if unknown.
    /// A lane sends each block over all of its links, so the slowest one counts.
    pub fn byte_ns(&self, lanes: usize) -> Option<f64> {
        let mut slowest: BTreeMap<usize, f64> = BTreeMap::new();
        for (&(lane, _), wire) in &self.0 {
            if let Some(byte_ns) = wire.byte_ns {
                let of_lane = slowest.entry(lane).or_default();
                *of_lane = of_lane.max(byte_ns);
            }
        }
        let known = slowest.len() as f64;
        let rate: f64 = slowest.values().map(|byte_ns| 1.0 / byte_ns).sum();
        // Lanes that are not known yet are taken for as fast as the others.
        (known > 0.0).then(|| known / rate / lanes.max(1) as f64)
    }
}

impl Wire {
    fn observe(&mut self, now: TcpInfo) {
        let Some(bytes) = now.acknowledged.checked_sub(self.since.acknowledged) else {
            // Another connection to the same node.
            self.since = now;
            return;
        };
        let busy = now.busy.saturating_sub(self.since.busy);
        if busy < RATE_TIME_MIN || bytes == 0 {
            return;
        }
        self.since = now;
        let byte_ns = busy.as_nanos() as f64 / bytes as f64;
        // A sender that waited for blocks did not use all of the wire, which is at least as fast.
        if now.unsent > 0 || self.byte_ns.is_some_and(|known| byte_ns < known) {
            self.add(byte_ns, busy.div_duration_f64(RATE_TIME_MIN));
        }
    }

    /// Adds a measurement that counts as much as `count` short ones: a token bucket lets the first
    /// bytes pass at any rate.
    fn add(&mut self, byte_ns: f64, count: f64) {
        self.byte_ns = Some(mixed(self.byte_ns, byte_ns, count));
    }
}

/// Returns the moving average after the newest measurement, which was made `count` times.
pub(super) fn mixed(old: Option<f64>, newest: f64, count: f64) -> f64 {
    let weight = 1.0 - (1.0 - NEWEST).powf(count);
    old.map_or(newest, |old| old + weight * (newest - old))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The counters of a link after `busy_ms` in which `kib` arrived, with `unsent` bytes to send.
    fn after(busy_ms: u64, kib: u64, unsent: u32) -> TcpInfo {
        let busy = Duration::from_millis(busy_ms);
        TcpInfo { busy, acknowledged: kib << 10, unsent, ..TcpInfo::default() }
    }

    fn is_about(wires: &Wires, lanes: usize, expected: f64) -> bool {
        wires.byte_ns(lanes).is_some_and(|ns| (ns / expected - 1.0).abs() < 0.01)
    }

    #[test]
    fn what_arrived_counts_not_what_a_socket_took() {
        let mut wires = Wires::default();
        wires.observe(0, 1, after(0, 0, 0));
        assert_eq!(wires.byte_ns(1), None, "nothing arrived yet");
        // A socket took 4 MiB, of which 100 KiB arrived.
        wires.observe(0, 1, after(15, 75, 4 << 20));
        assert_eq!(wires.byte_ns(1), None, "too few ticks");
        wires.observe(0, 1, after(20, 100, 4 << 20));
        assert!(is_about(&wires, 1, 20e6 / (100 << 10) as f64), "{wires:?}");
    }

    #[test]
    fn a_long_measurement_outweighs_the_burst_before_it() {
        let mut wires = Wires::default();
        wires.observe(0, 1, after(0, 0, 0));
        wires.observe(0, 1, after(20, 600, 1));
        wires.observe(0, 1, after(320, 600 + 1800, 1));
        let byte_ns = wires.byte_ns(1).unwrap();
        assert!(byte_ns > 0.95 * 300e6 / (1800 << 10) as f64, "{byte_ns}");
    }

    #[test]
    fn a_wire_that_waits_for_blocks_is_at_least_as_fast_as_they_come() {
        let mut wires = Wires::default();
        wires.observe(0, 1, after(0, 0, 0));
        wires.observe(0, 1, after(40, 10, 0));
        assert_eq!(wires.byte_ns(1), None, "the wire is not the bottleneck");
        wires.observe(0, 1, after(80, 10 + 1000, 1));
        let known = wires.byte_ns(1);
        wires.observe(0, 1, after(120, 10 + 1100, 0));
        assert_eq!(wires.byte_ns(1), known, "few blocks came");
        wires.observe(0, 1, after(160, 10 + 9000, 0));
        assert!(wires.byte_ns(1) < known, "{wires:?}");
    }

    #[test]
    fn lanes_add_up_and_the_slowest_link_of_a_lane_counts() {
        let mut wires = Wires::default();
        let mut link = |lane, peer, kib| {
            wires.observe(lane, peer, after(0, 0, 0));
            wires.observe(lane, peer, after(1000, kib, 1));
        };
        link(0, 1, 8000);
        link(0, 2, 2000);
        link(1, 3, 6000);
        assert!(is_about(&wires, 2, 1e9 / (8000 << 10) as f64), "{wires:?}");
        assert!(is_about(&wires, 4, 1e9 / (16_000 << 10) as f64), "{wires:?}");
    }

    #[test]
    fn another_connection_to_a_node_counts_anew() {
        let mut wires = Wires::default();
        wires.observe(0, 1, after(0, 0, 0));
        wires.observe(0, 1, after(1000, 1000, 1));
        let known = wires.byte_ns(1);
        wires.observe(0, 1, after(0, 0, 0));
        wires.observe(0, 1, after(10, 900, 1));
        assert_eq!(wires.byte_ns(1), known);
        wires.observe(0, 1, after(1000, 1000, 1));
        assert!(is_about(&wires, 1, known.unwrap()), "{wires:?}");
    }
}

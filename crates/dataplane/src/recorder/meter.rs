//! Divides the time of a lane's block into work and waits, upstream and downstream.
//!
//! A call of a relay may block: its time includes both copying bytes and waiting for them. Checking
//! before each call whether it would block would cost more than the rest of the recorder. Instead
//! the thread's CPU time is read once per block, and the rest of the time that the calls took
//! counts as waiting. This wait is divided between the two sides in proportion to their excess. The
//! excess of a side is the time that its calls took beyond the time at the rate of the side's
//! fastest call, which did not wait.

/// Measures the calls for one block, separately for the upstream and the downstream.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    up: Side,
    down: Side,
}

#[derive(Clone, Debug, Default)]
struct Side {
    /// The total time in nanoseconds of the calls for the current block.
    spent_ns: u64,
    /// The part of `spent_ns` in excess of the time at the rate of the fastest call.
    excess_ns: u64,
    /// The time of the lane's fastest call so far, in nanoseconds per MiB; 0 before the first call.
    fastest: u64,
}

/// The time of a block, divided into work and waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// The time in nanoseconds of reading from the upstream.
    pub receive_ns: u64,
    /// The time in nanoseconds of waiting for the upstream.
    pub wait_up_ns: u64,
    /// The time in nanoseconds of writing to the downstreams.
    pub relay_ns: u64,
    /// The time in nanoseconds of waiting for the downstreams.
    pub wait_down_ns: u64,
}

impl Meter {
    /// Adds a call that read `bytes` bytes from the upstream in `ns` nanoseconds.
    pub fn received(&mut self, ns: u64, bytes: usize) {
        self.up.add(ns, bytes);
    }

    /// Adds a call that wrote `bytes` bytes to a downstream in `ns` nanoseconds.
    pub fn sent(&mut self, ns: u64, bytes: usize) {
        self.down.add(ns, bytes);
    }

    /// Divides the time of the calls since the last block, during which the thread used `cpu_ns`
    /// nanoseconds of CPU time. Then begins the next block.
    pub fn part(&mut self, cpu_ns: u64) -> Parts {
        let up = self.up.take();
        let down = self.down.take();
        let asleep_ns = (up.spent_ns + down.spent_ns).saturating_sub(cpu_ns);
        let (of_up, of_down) = match up.excess_ns + down.excess_ns {
            0 => (up.spent_ns, down.spent_ns),
            _ => (up.excess_ns, down.excess_ns),
        };
        let share =
            u128::from(asleep_ns) * u128::from(of_up) / u128::from((of_up + of_down).max(1));
        let wait_up_ns = u64::try_from(share).unwrap_or(u64::MAX).min(up.spent_ns);
        let wait_down_ns = (asleep_ns - wait_up_ns).min(down.spent_ns);
        // If the downstream's share exceeds the time of its calls, the rest was spent upstream.
        let wait_up_ns = (asleep_ns - wait_down_ns).min(up.spent_ns);
        Parts {
            receive_ns: up.spent_ns - wait_up_ns,
            wait_up_ns,
            relay_ns: down.spent_ns - wait_down_ns,
            wait_down_ns,
        }
    }
}

impl Side {
    fn add(&mut self, ns: u64, bytes: usize) {
        const MIB: u64 = 1 << 20;
        /// Calls with fewer bytes do not count for the fastest rate: they are mostly overhead.
        const ENOUGH: u64 = 4096;
        let bytes = bytes as u64;
        if bytes >= ENOUGH {
            let pace = (ns.saturating_mul(MIB) / bytes).max(1);
            self.fastest = if self.fastest == 0 { pace } else { self.fastest.min(pace) };
        }
        self.spent_ns += ns;
        // A call without bytes waits for no node.
        if bytes > 0 {
            self.excess_ns += ns.saturating_sub(self.fastest * bytes / MIB);
        }
    }

    fn take(&mut self) -> Self {
        let taken = self.clone();
        (self.spent_ns, self.excess_ns) = (0, 0);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relays a block whose calls take 10 µs each, plus the given waits in nanoseconds.
    fn block(meter: &mut Meter, wait_up: u64, wait_down: u64) -> Parts {
        for _ in 0..16 {
            meter.received(10_000 + wait_up, 64 << 10);
            meter.sent(10_000 + wait_down, 64 << 10);
        }
        meter.part(320_000)
    }

    #[test]
    fn waits_are_attributed_to_the_right_side() {
        let mut meter = Meter::default();
        let parts = block(&mut meter, 0, 0);
        assert_eq!((parts.wait_up_ns, parts.wait_down_ns), (0, 0));
        assert_eq!((parts.receive_ns, parts.relay_ns), (160_000, 160_000));
        let parts = block(&mut meter, 500_000, 0);
        assert_eq!((parts.wait_up_ns, parts.wait_down_ns), (8_000_000, 0));
        let parts = block(&mut meter, 0, 500_000);
        assert_eq!((parts.wait_up_ns, parts.wait_down_ns), (0, 8_000_000));
        let parts = block(&mut meter, 100_000, 300_000);
        assert_eq!((parts.wait_up_ns, parts.wait_down_ns), (1_600_000, 4_800_000));
        assert_eq!((parts.receive_ns, parts.relay_ns), (160_000, 160_000));
    }

    #[test]
    fn the_parts_are_the_whole() {
        let mut meter = Meter::default();
        for (up, down, cpu) in [(5, 7, 100), (1_000, 0, 0), (0, 1_000, 400), (3, 1_000_000, 900)] {
            meter.received(up, 5000);
            meter.sent(down, 5000);
            let parts = meter.part(cpu);
            assert_eq!(parts.receive_ns + parts.wait_up_ns, up);
            assert_eq!(parts.relay_ns + parts.wait_down_ns, down);
            assert_eq!(parts.wait_up_ns + parts.wait_down_ns, (up + down).saturating_sub(cpu));
        }
    }
}

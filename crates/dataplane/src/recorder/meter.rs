//! Which part of a block's time its lane worked and which part it waited, and for whom.
//!
//! A relay's calls block: a call's time is the copying of bytes and the waiting for them in one. To
//! ask before each call whether it would block would cost more than all the rest of the recorder. So
//! the thread's CPU time is read once a block: what its calls took beyond that, they waited. Between
//! the two sides the waiting is shared out by how much longer each side's calls took than its
//! fastest ones, which didn't wait.

/// The sums of one block's calls.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    up: Side,
    down: Side,
}

#[derive(Clone, Debug, Default)]
struct Side {
    /// Nanoseconds of this block's calls.
    spent_ns: u64,
    /// Of these, what the fastest calls wouldn't have taken.
    excess_ns: u64,
    /// Nanoseconds a MiB of the lane's fastest call; none yet is 0.
    fastest: u64,
}

/// A block's time, parted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// Nanoseconds that bytes were taken from the upstream.
    pub receive_ns: u64,
    /// Nanoseconds that nothing came.
    pub wait_up_ns: u64,
    /// Nanoseconds that bytes were given to the downstream.
    pub relay_ns: u64,
    /// Nanoseconds that it took nothing.
    pub wait_down_ns: u64,
}

impl Meter {
    /// A call that took bytes from the upstream.
    pub fn received(&mut self, ns: u64, bytes: usize) {
        self.up.add(ns, bytes);
    }

    /// A call that gave bytes to the downstream.
    pub fn sent(&mut self, ns: u64, bytes: usize) {
        self.down.add(ns, bytes);
    }

    /// Parts the time since the last block, in which the thread used so many CPU nanoseconds.
    pub fn part(&mut self, cpu_ns: u64) -> Parts {
        let (up, down) = (self.up.take(), self.down.take());
        let asleep_ns = (up.spent_ns + down.spent_ns).saturating_sub(cpu_ns);
        let (of_up, of_down) = match up.excess_ns + down.excess_ns {
            0 => (up.spent_ns, down.spent_ns),
            _ => (up.excess_ns, down.excess_ns),
        };
        let share =
            u128::from(asleep_ns) * u128::from(of_up) / u128::from((of_up + of_down).max(1));
        let wait_up_ns = u64::try_from(share).unwrap_or(u64::MAX).min(up.spent_ns);
        let wait_down_ns = (asleep_ns - wait_up_ns).min(down.spent_ns);
        // What the downstream's calls can't have waited, the upstream's have.
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
        /// Of fewer bytes the call itself is most of it.
        const ENOUGH: u64 = 4096;
        let bytes = bytes as u64;
        if bytes >= ENOUGH {
            let pace = (ns.saturating_mul(MIB) / bytes).max(1);
            self.fastest = if self.fastest == 0 { pace } else { self.fastest.min(pace) };
        }
        self.spent_ns += ns;
        // A call that moves nothing between nodes waits for none.
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

    /// A block whose calls take 10 µs each but for what they wait.
    fn block(meter: &mut Meter, wait_up: u64, wait_down: u64) -> Parts {
        for _ in 0..16 {
            meter.received(10_000 + wait_up, 64 << 10);
            meter.sent(10_000 + wait_down, 64 << 10);
        }
        meter.part(320_000)
    }

    #[test]
    fn who_was_waited_for_is_told_apart() {
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

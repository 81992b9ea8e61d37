//! How many lanes of a copy keep up with a wire, by what a byte costs their threads.

use garland_core::plan::{readers_of_lane, writer_count};

use super::processors::CpuCosts;

/// The part of its time in which the thread of a lane is expected to move bytes. The rest goes to
/// wake-ups, to interrupts of the network card, and to misses of caches that the calibration, one
/// thread alone, does not have: a lane moves 2 to 3 GB/s where 0.16 s a GB were calibrated.
const OF_LANE: f64 = 0.4;

/// The part of its time in which a thread that hashes is expected to work.
const OF_HASHER: f64 = 0.8;

/// The maximum number of lanes of a wire: each takes a thread and a buffer on every node.
const LANES_MAX: u16 = 16;

/// The rate in bytes per second that a single lane holds on any machine of the last ten years: 11
/// Gbit/s.
pub const ONE_LANE: f64 = 1.4e9;

impl CpuCosts {
    /// Returns the number of lanes that keep up with a wire of `rate` bytes per second, at least 1
    /// and at most 16. At most half of the `processors` get a lane: those who read, hash and write,
    /// and the kernel's interrupts, need the others.
    #[must_use]
    pub fn lanes(&self, rate: f64, processors: usize) -> u16 {
        if rate <= ONE_LANE {
            return 1;
        }
        let half = u16::try_from(processors / 2).unwrap_or(LANES_MAX);
        let wanted = (rate * self.stream / OF_LANE).ceil().min(f64::from(LANES_MAX)) as u16;
        wanted.min(half).max(1)
    }

    /// Returns the rate in bytes per second with which the threads of a copy over `lanes` lanes
    /// keep up, on nodes with this number of processors: that of the lanes, of the threads that
    /// read at the source, or of the writers.
    #[must_use]
    pub fn rate_of_lanes(&self, lanes: u16, processors: usize) -> f64 {
        let number = usize::from(lanes);
        let moved = f64::from(lanes) * OF_LANE / self.stream;
        // Each copies, hashes, and seals or opens.
        let hashers =
            writer_count(processors, number).min(number * readers_of_lane(processors, number));
        let hashed = hashers as f64 * OF_HASHER / (self.copy + self.hash + self.seal);
        moved.min(hashed)
    }
}

//! CPU utilisation of this machine, from the counters of `/proc/stat`.

/// A snapshot of the CPU time counters of this machine.
#[derive(Clone, Copy, Debug)]
pub struct Processors {
    idle: u64,
    all: u64,
}

impl Processors {
    /// Reads the current counters from `/proc/stat`; all are 0 if it cannot be read.
    #[must_use]
    pub fn now() -> Self {
        let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let first = text.lines().next().unwrap_or_default();
        let ticks: Vec<u64> =
            first.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
        // The fields: user, nice, system, idle, iowait, irq, softirq, steal.
        let idle = ticks.get(3..5).map_or(0, |idle| idle.iter().sum());
        Self { idle, all: ticks.iter().take(8).sum() }
    }

    /// Returns the fraction of the CPU time since the snapshot in which the CPUs were not idle,
    /// from 0 to 1.
    #[must_use]
    pub fn busy_since(&self) -> f64 {
        let current = Self::now();
        let all = current.all.saturating_sub(self.all).max(1) as f64;
        1.0 - current.idle.saturating_sub(self.idle) as f64 / all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn busy_is_a_share() {
        let since = Processors::now();
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!((0.0..=1.0).contains(&since.busy_since()));
    }
}

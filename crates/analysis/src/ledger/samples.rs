//! Increases of the kernel's counters, from samples of them.

/// Samples of monotonic counters, by time.
#[derive(Clone, Debug)]
pub(super) struct Samples<const N: usize> {
    read: Vec<(i64, [f64; N])>,
    /// The last raw sample (`last`), and the values added to raw samples to make up for resets
    /// (`before`).
    last: [f64; N],
    before: [f64; N],
}

impl<const N: usize> Default for Samples<N> {
    fn default() -> Self {
        Self { read: Vec::new(), last: [0.0; N], before: [0.0; N] }
    }
}

impl<const N: usize> Samples<N> {
    /// Adds a sample. If a counter is below its previous sample, the counters were reset, as by a
    /// new connection: the sums do not change at this sample, and grow from there on.
    pub fn push(&mut self, at: i64, values: [f64; N]) {
        let restarted = self.last.iter().zip(&values).any(|(last, value)| value < last);
        if restarted && let Some((_, sums)) = self.read.last() {
            self.before = std::array::from_fn(|i| sums[i] - values[i]);
        }
        self.last = values;
        let values = std::array::from_fn(|i| self.before[i] + values[i]);
        self.read.push((at, values));
    }

    /// Adds that all counters were 0 at `at`, or up to `slack` before, if that is before the first
    /// sample and the counters can have grown to it since: all of them together by at most 1 in a
    /// unit of time.
    pub fn begin_at(&mut self, at: i64, slack: i64) {
        let Some((read, values)) = self.read.first() else { return };
        let begin = at.min(read.saturating_sub(values.iter().sum::<f64>() as i64));
        if begin < *read && at.saturating_sub(begin) <= slack {
            self.read.insert(0, (begin, [0.0; N]));
        }
    }

    /// Returns the increase of each counter between two moments, interpolated; `None` with fewer
    /// than two samples.
    pub fn between(&self, begin: i64, end: i64) -> Option<[f64; N]> {
        let from = self.at(begin)?;
        let to = self.at(end)?;
        Some(std::array::from_fn(|i| to[i] - from[i]))
    }

    /// Returns the times of the samples before `begin` and after `end`, and the increase of each
    /// counter between these samples; `None` with fewer than two samples.
    pub fn around(&self, begin: i64, end: i64) -> Option<((i64, i64), [f64; N])> {
        let last = self.read.len().checked_sub(1).filter(|last| *last > 0)?;
        let from = self.read.partition_point(|(read, _)| *read <= begin).saturating_sub(1);
        let from = from.min(last - 1);
        let to = self.read.partition_point(|(read, _)| *read < end).clamp(from + 1, last);
        let ((t0, from), (t1, to)) = (self.read[from], self.read[to]);
        Some(((t0, t1), std::array::from_fn(|i| to[i] - from[i])))
    }

    /// Returns the times of the first and the last sample; `None` without samples.
    pub fn known(&self) -> Option<(i64, i64)> {
        Some((self.read.first()?.0, self.read.last()?.0))
    }

    fn at(&self, at: i64) -> Option<[f64; N]> {
        if self.read.len() < 2 {
            return None;
        }
        let after = self.read.partition_point(|(read, _)| *read < at);
        let after = after.clamp(1, self.read.len() - 1);
        let ((t0, from), (t1, to)) = (self.read[after - 1], self.read[after]);
        let share = (at - t0) as f64 / (t1 - t0).max(1) as f64;
        let share = share.clamp(0.0, 1.0);
        Some(std::array::from_fn(|i| from[i] + share * (to[i] - from[i])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_grow_evenly_between_readings() {
        let mut samples = Samples::default();
        assert_eq!(samples.between(0, 1), None);
        for (at, value) in [(0, 10.0), (100, 20.0), (200, 60.0), (300, 5.0)] {
            samples.push(at, [value]);
        }
        assert_eq!(samples.between(50, 150), Some([25.0]));
        assert_eq!(samples.between(-50, 400), Some([50.0]));
        assert_eq!(samples.known(), Some((0, 300)));
        // They were at 10 at 0, and cannot have been at 0 five before.
        samples.begin_at(-5, 2);
        assert_eq!(samples.known(), Some((0, 300)));
        samples.begin_at(-5, 5);
        assert_eq!(samples.between(-5, 0), Some([5.0]));
    }
}

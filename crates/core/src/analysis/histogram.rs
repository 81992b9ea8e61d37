//! Distributions of times: buckets that are 1/128 of their value wide, so that no quantile is off by
//! more than 0.4 %, and the true least and greatest beside them.

/// Sub-buckets of an octave, as a power of two.
const BITS: u32 = 7;

/// Values below this have a bucket each.
const EXACT: u64 = 2 << BITS;

/// How often each value was seen, in 58 KiB at most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    sum: u128,
    least: u64,
    greatest: u64,
}

impl Histogram {
    /// Counts one value.
    pub fn record(&mut self, value: u64) {
        let bucket = bucket_of(value);
        if bucket >= self.buckets.len() {
            self.buckets.resize(bucket + 1, 0);
        }
        self.buckets[bucket] += 1;
        self.least = if self.count == 0 { value } else { self.least.min(value) };
        self.greatest = self.greatest.max(value);
        self.count += 1;
        self.sum += u128::from(value);
    }

    /// Counts all that `other` has counted.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.buckets.resize(self.buckets.len().max(other.buckets.len()), 0);
        for (mine, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *mine += theirs;
        }
        self.least = if self.count == 0 { other.least } else { self.least.min(other.least) };
        self.greatest = self.greatest.max(other.greatest);
        self.count += other.count;
        self.sum += other.sum;
    }

    /// How many values were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The mean, rounded down; 0 when there is none.
    #[must_use]
    pub fn mean(&self) -> u64 {
        let mean = self.sum.checked_div(u128::from(self.count)).unwrap_or(0);
        u64::try_from(mean).unwrap_or(u64::MAX)
    }

    /// The least value, exactly; 0 when there is none.
    #[must_use]
    pub fn min(&self) -> u64 {
        self.least
    }

    /// The greatest value, exactly; 0 when there is none.
    #[must_use]
    pub fn max(&self) -> u64 {
        self.greatest
    }

    /// The value that the share `part` (0 to 1) of all doesn't exceed, by nearest rank: the
    /// middle of its bucket, within what was seen. 0 when there is none.
    #[must_use]
    pub fn percentile(&self, part: f64) -> u64 {
        let rank = (part.clamp(0.0, 1.0) * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (bucket, &count) in self.buckets.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return middle_of(bucket).clamp(self.least, self.greatest);
            }
        }
        self.greatest
    }
}

fn bucket_of(value: u64) -> usize {
    if value < EXACT {
        return value as usize;
    }
    let shift = value.ilog2() - BITS;
    ((u64::from(shift) << BITS) + (value >> shift)) as usize
}

fn middle_of(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < EXACT {
        return bucket;
    }
    let shift = (bucket >> BITS) - 1;
    let first = ((bucket & ((1 << BITS) - 1)) + (1 << BITS)) << shift;
    first + ((1 << shift) >> 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_known_distribution_has_its_quantiles_and_its_true_ends() {
        let mut histogram = Histogram::default();
        (1..=1_000_000).for_each(|value| histogram.record(value));
        for (quantile, expected) in [(0.5, 500_000.0), (0.99, 990_000.0), (0.999, 999_000.0)] {
            let found = histogram.percentile(quantile) as f64;
            assert!((found / expected - 1.0).abs() < 0.004, "{quantile}: {found}");
        }
        assert_eq!((histogram.min(), histogram.max()), (1, 1_000_000));
        assert_eq!(histogram.percentile(1.0), histogram.percentile(1.0).min(1_000_000));
        assert_eq!(histogram.count(), 1_000_000);
        assert_eq!(Histogram::default().percentile(0.5), 0);
    }

    proptest! {
        #[test]
        fn no_bucket_is_wider_than_its_share(value in any::<u64>()) {
            let middle = middle_of(bucket_of(value));
            prop_assert!(middle.abs_diff(value) <= value >> (BITS + 1));
            prop_assert!(bucket_of(value) < 64 << BITS);
        }

        #[test]
        fn merged_is_as_counted_together(values in proptest::collection::vec(any::<u64>(), 0..50), cut in 0..50_usize) {
            let mut all = Histogram::default();
            let mut parts = [Histogram::default(), Histogram::default()];
            for (at, &value) in values.iter().enumerate() {
                all.record(value);
                parts[usize::from(at < cut)].record(value);
            }
            let [mut merged, other] = parts;
            merged.merge(&other);
            prop_assert_eq!(merged, all);
        }
    }
}

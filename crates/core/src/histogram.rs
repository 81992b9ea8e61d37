//! A log-linear histogram. Each power of two is divided into 128 buckets of equal width, so values
//! are known within 0.8 %, from 1 ns to centuries, in constant memory. Minimum and maximum are
//! exact.

/// The number of buckets per power of two; values below twice this number have a bucket each.
const PARTS: u64 = 128;

const PART_BITS: u32 = PARTS.ilog2();

/// The total number of buckets.
pub const ROOM: usize = (PARTS as usize) * (65 - PART_BITS as usize);

/// A histogram: the number of recorded values in each bucket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Histogram {
    buckets: Vec<u64>,
    count: u64,
    sum: u128,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: vec![0; ROOM], count: 0, sum: 0, min: u64::MAX, max: 0 }
    }
}

impl Histogram {
    /// Adds a value.
    pub fn record(&mut self, value: u64) {
        self.record_many(value, 1);
    }

    /// Adds a value `times` times.
    pub fn record_many(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.buckets[bucket(value)] += times;
        self.count += times;
        self.sum += u128::from(value) * u128::from(times);
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds all values of `other`.
    pub fn merge(&mut self, other: &Self) {
        for (own, theirs) in self.buckets.iter_mut().zip(&other.buckets) {
            *own += theirs;
        }
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Returns the number of recorded values.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Returns the exact minimum; 0 if empty.
    pub fn min(&self) -> u64 {
        if self.count == 0 { 0 } else { self.min }
    }

    /// Returns the exact maximum; 0 if empty.
    pub fn max(&self) -> u64 {
        self.max
    }

    /// Returns the mean, rounded down; 0 if empty.
    pub fn mean(&self) -> u64 {
        let mean = self.sum.checked_div(u128::from(self.count)).unwrap_or(0);
        u64::try_from(mean).unwrap_or(u64::MAX)
    }

    /// Returns the quantile `part`, clamped to 0 to 1, by nearest rank and within 0.8 %; 0 if
    /// empty.
    pub fn percentile(&self, part: f64) -> u64 {
        self.ranked((part.clamp(0.0, 1.0) * self.count as f64).ceil() as u64)
    }

    /// Returns the bounds of the 95 % confidence interval of the median; (0, 0) if empty. It is
    /// computed from ranks by the normal approximation of the binomial, so it holds for any
    /// distribution of independent values.
    pub fn median_between(&self) -> (u64, u64) {
        const SIGMAS: f64 = 1.96;
        let middle = self.count as f64 / 2.0;
        let aside = SIGMAS * (self.count as f64).sqrt() / 2.0;
        let below = (middle - aside).floor().max(1.0) as u64;
        (self.ranked(below), self.ranked((middle + aside).ceil() as u64 + 1))
    }

    /// Returns the value with this rank, from 1, within 0.8 %; 0 if empty.
    fn ranked(&self, rank: u64) -> u64 {
        let rank = rank.clamp(1, self.count.max(1));
        let mut seen = 0;
        for (at, times) in self.buckets.iter().enumerate() {
            seen += times;
            if seen >= rank {
                return middle(at).clamp(self.min, self.max);
            }
        }
        0
    }
}

/// Returns the index of the bucket that contains a value.
fn bucket(value: u64) -> usize {
    let shift = (value | PARTS).ilog2() - PART_BITS;
    let part = value >> shift;
    // Buckets of the first power of two are the values themselves; later ones omit the leading
    // part.
    (u64::from(shift) * PARTS + part) as usize
}

/// Returns the value in the middle of the bucket with the index `at`.
fn middle(at: usize) -> u64 {
    let at = at as u64;
    if at < 2 * PARTS {
        return at;
    }
    let shift = at / PARTS - 1;
    let low = (at - shift * PARTS) << shift;
    low + ((1_u64 << shift) >> 1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::default();
        values.into_iter().for_each(|value| histogram.record(value));
        histogram
    }

    fn near(found: u64, known: f64) {
        let error = (found as f64 - known).abs() / known;
        assert!(error <= 0.008, "{found} instead of {known}: {:.2} % off", error * 100.0);
    }

    #[test]
    fn nothing_seen_is_nothing() {
        let none = Histogram::default();
        assert_eq!((none.min(), none.max(), none.mean(), none.percentile(0.5)), (0, 0, 0, 0));
        assert_eq!(none.median_between(), (0, 0));
    }

    #[test]
    fn a_uniform_distribution_is_found_again() {
        let histogram = of(1..=1_000_000);
        for part in [0.01, 0.25, 0.5, 0.9, 0.99, 0.999] {
            near(histogram.percentile(part), part * 1e6);
        }
        assert_eq!((histogram.min(), histogram.max()), (1, 1_000_000));
        assert_eq!(histogram.mean(), 500_000);
    }

    #[test]
    fn an_exponential_distribution_is_found_again() {
        // Its quantiles: -mean x ln(1 - p).
        let mean = 2350.0;
        let quantile = |p: f64| -mean * (1.0 - p).ln();
        let count = 1_000_000;
        let histogram = of((0..count).map(|i| quantile((i as f64 + 0.5) / count as f64) as u64));
        for part in [0.5, 0.9, 0.99, 0.999, 0.9999] {
            near(histogram.percentile(part), quantile(part));
        }
        near(histogram.mean(), mean);
    }

    #[test]
    fn one_stall_among_a_million_is_the_maximum() {
        let mut histogram = Histogram::default();
        histogram.record_many(2_000, 999_999);
        histogram.record(15_000_000_123);
        assert_eq!(histogram.max(), 15_000_000_123);
        near(histogram.percentile(0.999), 2000.0);
    }

    #[test]
    fn the_medians_interval_narrows_with_the_root_of_the_count() {
        let width = |count: u64| {
            let (low, high) = of((0..count).map(|i| 10_000 + i * 10_000 / count)).median_between();
            assert!(low <= 15_000 && 15_000 <= high, "{low} {high}");
            high - low
        };
        let few = width(100);
        let many = width(10_000);
        assert!(few > 5 * many, "{few} and {many}");
    }

    #[test]
    fn every_bucket_holds_its_own_middle() {
        for at in 0..ROOM {
            assert_eq!(bucket(middle(at)), at);
        }
        assert_eq!(bucket(u64::MAX), ROOM - 1);
    }

    proptest! {
        #[test]
        fn values_are_known_within_0_8_percent(value: u64, shift in 0..64_u32) {
            let value = value >> shift;
            let known = middle(bucket(value));
            prop_assert!(u128::from(known.abs_diff(value)) * 1000 <= u128::from(value) * 8, "{} as {}", value, known);
        }

        #[test]
        fn a_merge_has_seen_what_both_have(one in proptest::collection::vec(any::<u64>(), 0..50), two in proptest::collection::vec(any::<u64>(), 0..50)) {
            let mut merged = of(one.iter().copied());
            merged.merge(&of(two.iter().copied()));
            prop_assert_eq!(merged, of(one.into_iter().chain(two)));
        }

        #[test]
        fn percentiles_are_near_the_sorted_values(mut values in proptest::collection::vec(1..1_u64 << 40, 1..300), part in 0.0..1.0_f64) {
            let found = of(values.iter().copied()).percentile(part);
            values.sort_unstable();
            let rank = ((part * values.len() as f64).ceil() as usize).max(1);
            let known = values[rank - 1];
            prop_assert!(u128::from(found.abs_diff(known)) * 1000 <= u128::from(known) * 8, "{} as {}", known, found);
        }
    }
}

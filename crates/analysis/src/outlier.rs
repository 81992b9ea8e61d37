//! Detects rates that are lower than those of their peers.

use crate::pairs::median;

/// A rate below this fraction of the median is an outlier.
const SUSPECT: f64 = 0.8;

/// The minimum number of rates for a meaningful median.
const FEWEST: usize = 3;

/// A rate that is much lower than the median.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlier {
    /// The index in the list of rates.
    pub at: usize,
    /// The rate, in the unit of the list.
    pub rate: f64,
    /// The median of all rates.
    pub median: f64,
}

/// Returns those of `rates` (higher is better) that are below 80 % of the median, slowest first;
/// empty for fewer than three rates.
pub fn slow_ones(rates: &[f64]) -> Vec<Outlier> {
    if rates.len() < FEWEST {
        return Vec::new();
    }
    let middle = median(rates.to_vec()).unwrap_or(0.0);
    let slow = rates.iter().enumerate().filter(|(_, rate)| **rate < SUSPECT * middle);
    let mut slow: Vec<_> = slow.map(|(at, &rate)| Outlier { at, rate, median: middle }).collect();
    slow.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    slow
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slow_one_is_named_and_the_others_are_not() {
        let slow = slow_ones(&[500.0, 510.0, 210.0, 495.0]);
        assert_eq!(slow, [Outlier { at: 2, rate: 210.0, median: 497.5 }]);
        assert!(slow_ones(&[500.0, 450.0, 520.0]).is_empty());
        assert!(slow_ones(&[500.0, 1.0]).is_empty());
    }
}

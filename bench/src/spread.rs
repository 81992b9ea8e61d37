//! The middle and the ends of several measurements.

use serde::Serialize;

/// Median, minimum and maximum of several runs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spread {
    /// The median.
    pub(crate) median: f64,
    /// The minimum.
    pub(crate) min: f64,
    /// The maximum.
    pub(crate) max: f64,
}

impl Spread {
    /// Returns the spread of `values`; none without a value.
    pub(crate) fn from_values(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let min = *values.first()?;
        let max = *values.last()?;
        let n = values.len();
        let median = f64::midpoint(values[(n - 1) / 2], values[n / 2]);
        Some(Self { median, min, max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spreads_are_of_the_middle() {
        assert_eq!(Spread::from_values(vec![]), None);
        let spread = Spread::from_values(vec![3.0, 1.0, 2.0, 10.0]).unwrap();
        assert_eq!((spread.median, spread.min, spread.max), (2.5, 1.0, 10.0));
    }
}

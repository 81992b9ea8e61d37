//! Averages and spreads that are robust against a few faulty values.

/// Returns the median; `None` if empty.
pub fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(values[middle]),
        _ => Some(f64::midpoint(values[middle - 1], values[middle])),
    }
}

/// Returns the standard deviation of a normal distribution with the same median absolute deviation;
/// zero if empty.
pub(super) fn spread(values: &[f64]) -> f64 {
    /// One over the normal distribution's upper quartile.
    const NORMAL: f64 = 1.482_602_218_505_602;
    let Some(middle) = median(values.to_vec()) else { return 0.0 };
    let off = values.iter().map(|value| (value - middle).abs()).collect();
    NORMAL * median(off).unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_outliers_move_neither() {
        assert_eq!(median(vec![]), None);
        assert_eq!(median(vec![1.0, 9.0]), Some(5.0));
        assert_eq!(median(vec![3.0, 1.0, 1e9]), Some(3.0));
        let values = [-2.0, -1.0, 0.0, 1.0, 2.0, 1e9, -1e9];
        assert!((spread(&values) - 2.0 * 1.482_602).abs() < 1e-5);
        assert!(spread(&[]).abs() < 1e-12);
    }
}

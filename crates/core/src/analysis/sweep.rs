//! The knee of a sweep: beyond it more in flight buys nothing but waiting.

/// What counts as nothing: a gain below this share.
const NOTHING: f64 = 0.05;

/// The place in `rates`, taken at growing depths, of the least depth that gives all but 5 % of the
/// best rate; `None` when there is no rate.
#[must_use]
pub fn knee(rates: &[f64]) -> Option<usize> {
    let best = rates.iter().copied().fold(0.0, f64::max);
    (best > 0.0).then(|| rates.iter().position(|&rate| rate >= best * (1.0 - NOTHING)))?
}

/// Whether the last two depths brought nothing over the best before them: a sweep may stop.
#[must_use]
pub fn is_flat(rates: &[f64]) -> bool {
    let Some(before) = rates.len().checked_sub(2).filter(|&before| before > 0) else {
        return false;
    };
    let best = rates[..before].iter().copied().fold(0.0, f64::max);
    rates[before..].iter().all(|&rate| rate < best * (1.0 + NOTHING))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_knee_is_where_more_brings_nothing() {
        let rates = [100.0, 200.0, 390.0, 500.0, 505.0, 503.0];
        assert_eq!(knee(&rates), Some(3));
        assert!(!is_flat(&rates[..4]));
        assert!(!is_flat(&rates[..5]));
        assert!(is_flat(&rates));
    }

    #[test]
    fn what_never_gains_has_its_knee_at_once() {
        assert_eq!(knee(&[100.0, 101.0, 99.0]), Some(0));
        assert_eq!(knee(&[]), None);
        assert_eq!(knee(&[0.0]), None);
        assert!(!is_flat(&[1.0]));
    }

    #[test]
    fn a_fall_isn_t_a_gain() {
        assert_eq!(knee(&[100.0, 200.0, 150.0]), Some(1));
    }
}

//! Straight lines through points, by least squares.

/// A line fitted to points by least squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// The line's value at x = 0.
    pub at_zero: f64,
    /// The line's change of y per unit of x.
    pub slope: f64,
    /// The fraction of the variance of the points that the line explains, from 0 to 1.
    pub fit: f64,
}

/// Fits a line to `points` (x, y); `None` for fewer than two different x.
pub fn fit_line(points: &[(f64, f64)]) -> Option<Line> {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let x = mean(|point| point.0);
    let y = mean(|point| point.1);
    let sum =
        |of: &dyn Fn(f64, f64) -> f64| points.iter().map(|p| of(p.0 - x, p.1 - y)).sum::<f64>();
    let xx = sum(&|x, _| x * x);
    let xy = sum(&|x, y| x * y);
    let yy = sum(&|_, y| y * y);
    if points.len() < 2 || xx <= 0.0 {
        return None;
    }
    let slope = xy / xx;
    let fit = if yy > 0.0 { (xy * xy / (xx * yy)).clamp(0.0, 1.0) } else { 1.0 };
    Some(Line { at_zero: y - slope * x, slope, fit })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn no_line_goes_through_one_point() {
        assert_eq!(fit_line(&[]), None);
        assert_eq!(fit_line(&[(1.0, 2.0)]), None);
        assert_eq!(fit_line(&[(1.0, 2.0), (1.0, 3.0)]), None);
    }

    proptest! {
        #[test]
        fn a_line_is_found_again(at_zero in -1e3..1e3_f64, slope in -1e3..1e3_f64) {
            let points: Vec<_> = (0..10).map(|x| (f64::from(x), at_zero + slope * f64::from(x))).collect();
            let line = fit_line(&points).unwrap();
            prop_assert!((line.at_zero - at_zero).abs() < 1e-6 && (line.slope - slope).abs() < 1e-6);
            prop_assert!(line.fit > 0.999 || slope.abs() < 1e-6);
        }
    }
}

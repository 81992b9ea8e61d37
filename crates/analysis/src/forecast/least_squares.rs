//! Weighted linear least squares with few parameters, and their covariances.

/// A row: coefficients, the value that `coefficients · parameters` should have, and the row's
/// weight.
pub(super) type Row = (Vec<f64>, f64, f64);

/// The solution of a least-squares problem.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Solution {
    /// The parameters, in the order of the coefficients.
    pub(super) values: Vec<f64>,
    /// The covariances of the parameters; `None` if there are no more rows than parameters.
    pub(super) covariance: Option<Vec<Vec<f64>>>,
    /// The weighted sum of the squared residuals that the parameters leave.
    pub(super) left: f64,
}

/// Returns the parameters that minimize the weighted squares of `row · parameters` minus the row's
/// value; `None` if the rows do not determine them.
pub(super) fn least_squares(rows: &[Row]) -> Option<Solution> {
    let count = rows.first()?.0.len();
    if rows.len() < count || count == 0 {
        return None;
    }
    // Scale the columns to equal length first, for the condition of the normal equations.
    let length =
        |column: usize| rows.iter().map(|(x, _, w)| w * x[column] * x[column]).sum::<f64>().sqrt();
    let scales: Vec<f64> = (0..count).map(length).collect();
    if scales.iter().any(|scale| !scale.is_normal()) {
        return None;
    }
    let product = |of: &dyn Fn(&Row) -> f64| rows.iter().map(of).sum::<f64>();
    let normal: Vec<Vec<f64>> = (0..count)
        .map(|i| {
            let entry = |j: usize| product(&|(x, _, w)| w * x[i] * x[j]) / (scales[i] * scales[j]);
            (0..count).map(entry).collect()
        })
        .collect();
    let inverted = inverse(&normal)?;
    let right: Vec<f64> =
        (0..count).map(|i| product(&|(x, y, w)| w * x[i] * y) / scales[i]).collect();
    let value =
        |i: usize| inverted[i].iter().zip(&right).map(|(a, b)| a * b).sum::<f64>() / scales[i];
    let values: Vec<f64> = (0..count).map(value).collect();
    let of_row = |x: &[f64]| x.iter().zip(&values).map(|(x, value)| x * value).sum::<f64>();
    let left = product(&|(x, y, w)| w * (y - of_row(x)).powi(2));
    let freedom = rows.len() - count;
    let covariance = (freedom > 0).then(|| {
        let variance = left / freedom as f64;
        let entry = |i: usize, j: usize| inverted[i][j] * variance / (scales[i] * scales[j]);
        (0..count).map(|i| (0..count).map(|j| entry(i, j)).collect()).collect()
    });
    let finite = values.iter().all(|value| value.is_finite()) && left.is_finite();
    finite.then_some(Solution { values, covariance, left })
}

/// A pivot below this counts as zero, in a matrix with ones on its diagonal.
const NOTHING: f64 = 1e-11;

/// Returns the inverse of a small symmetric matrix, by elimination with pivots; `None` if singular.
fn inverse(matrix: &[Vec<f64>]) -> Option<Vec<Vec<f64>>> {
    let count = matrix.len();
    let unit = |row: usize| (0..count).map(move |column| f64::from(u8::from(row == column)));
    let mut rows: Vec<Vec<f64>> = matrix
        .iter()
        .enumerate()
        .map(|(at, row)| row.iter().copied().chain(unit(at)).collect())
        .collect();
    for column in 0..count {
        let best = (column..count)
            .max_by(|&a, &b| rows[a][column].abs().total_cmp(&rows[b][column].abs()))?;
        rows.swap(column, best);
        let pivot = rows[column][column];
        if pivot.abs() < NOTHING {
            return None;
        }
        rows[column].iter_mut().for_each(|entry| *entry /= pivot);
        let source = rows[column].clone();
        for (_, row) in rows.iter_mut().enumerate().filter(|(at, _)| *at != column) {
            let factor = row[column];
            row.iter_mut().zip(&source).for_each(|(entry, from)| *entry -= factor * from);
        }
    }
    Some(rows.into_iter().map(|row| row[count..].to_vec()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plane_is_found_again_and_known_exactly() {
        let rows: Vec<_> = (1..9)
            .map(|n| {
                let n = f64::from(n);
                (vec![1.0, n, n * n], 3.0 - 2.0 * n + 0.5 * n * n, 1.0)
            })
            .collect();
        let found = least_squares(&rows).unwrap();
        for (value, expected) in found.values.iter().zip([3.0, -2.0, 0.5]) {
            assert!((value - expected).abs() < 1e-9, "{value}");
        }
        assert!(found.left < 1e-15);
        assert!(found.covariance.unwrap()[2][2] < 1e-12);
    }

    #[test]
    fn the_textbook_error_of_a_mean() {
        let rows: Vec<_> = [1.0, 2.0, 3.0, 4.0].map(|y| (vec![1.0], y, 1.0)).to_vec();
        let found = least_squares(&rows).unwrap();
        assert!((found.values[0] - 2.5).abs() < 1e-12);
        // The variance is 5/3, and a quarter of it for the mean.
        assert!((found.covariance.unwrap()[0][0] - 5.0 / 12.0).abs() < 1e-12);
    }

    #[test]
    fn what_is_not_determined_is_not_found() {
        assert_eq!(least_squares(&[]), None);
        assert_eq!(least_squares(&[(vec![1.0, 2.0], 3.0, 1.0)]), None);
        let same = (vec![1.0, 2.0], 3.0, 1.0);
        assert_eq!(least_squares(&[same.clone(), same.clone(), same]), None);
    }
}

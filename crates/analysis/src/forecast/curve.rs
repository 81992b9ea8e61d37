//! Amdahl's law and the Universal Scalability Law (Gunther, Guerrilla Capacity Planning, 2007),
//! fitted to the points as a check. Both laws are independent of what the nodes do.
//!
//! With the throughput `X(n) = γ n / (1 + α (n - 1) + β n (n - 1))` the quotient `n / X` is linear
//! in `1/γ`, `α/γ` and `β/γ`, so the fit needs no search. Errors are relative to the measured
//! times.

use serde::Serialize;

use super::least_squares::{Row, Solution, least_squares};
use super::points::Points;
use super::{Point, Work};

/// A scalability law.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Curve {
    /// Amdahl's law: a part of the work is serial; `β` is 0.
    Amdahl,
    /// The Universal Scalability Law: in addition, a cost grows with the number of pairs of nodes.
    Usl,
}

/// A fitted parameter with its error.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Parameter {
    /// The value of the parameter.
    pub value: f64,
    /// The standard error of the parameter; `None` if it was set to 0, or if there are no more
    /// points than parameters.
    pub error: Option<f64>,
}

/// A scalability law with its fitted parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// The law that was fitted.
    pub curve: Curve,
    /// The serial share of the work, `α`.
    pub contention: Parameter,
    /// The cost of each pair of nodes, `β`.
    pub coherency: Parameter,
    /// The predicted seconds of one node, `1/γ`.
    pub alone: Parameter,
    /// Whether a parameter was set to 0 since it would be negative, which is impossible.
    pub held: bool,
    /// The node count of the highest throughput; `None` if the throughput grows without limit, or
    /// falls from the first node on.
    pub peak: Option<f64>,
    /// The root mean square of the curve's relative errors at the points.
    pub miss: f64,
}

impl Fit {
    /// Fits a curve to the points; `None` if the points do not determine it.
    pub(super) fn compute(curve: Curve, work: &Work<'_>, points: &Points) -> Option<Self> {
        let wanted = match curve {
            Curve::Amdahl => 2,
            Curve::Usl => 3,
        };
        if points.counts() < wanted {
            return None;
        }
        let rows = |columns: &[usize]| -> Vec<Row> {
            let row = |point: &Point| {
                let n = f64::from(point.nodes);
                // Seconds per node and unit of work: n / X.
                let each = match work {
                    Work::Fixed { .. } => n * point.seconds,
                    Work::Growing { .. } => point.seconds,
                };
                let all = [1.0, n - 1.0, n * (n - 1.0)];
                (columns.iter().map(|&column| all[column]).collect(), each, each.powi(-2))
            };
            points.all.iter().map(row).collect()
        };
        let all: &[usize] = if curve == Curve::Usl { &[0, 1, 2] } else { &[0, 1] };
        let mut columns = all.to_vec();
        // Negative parameters are impossible: drop them, the smallest one first.
        loop {
            let found = least_squares(&rows(&columns))?;
            let least = found.values.iter().zip(&columns).enumerate();
            let worst = least
                .filter(|(_, (value, column))| **column > 0 && **value < 0.0)
                .min_by(|(_, (a, _)), (_, (b, _))| a.total_cmp(b))
                .map(|(place, _)| place);
            match worst {
                Some(place) => drop(columns.remove(place)),
                None => return Self::new(curve, &found, &columns, all.len(), points.all.len()),
            }
        }
    }

    fn new(
        curve: Curve,
        found: &Solution,
        columns: &[usize],
        wanted: usize,
        points: usize,
    ) -> Option<Self> {
        let alone = found.values[0];
        if alone <= 0.0 {
            return None;
        }
        let error =
            |variance: f64| Some(variance.max(0.0).sqrt()).filter(|error| error.is_finite());
        let first = found.covariance.as_ref().and_then(|known| error(known[0][0]));
        let ratio = |column: usize| -> Parameter {
            let Some(place) = columns.iter().position(|&known| known == column) else {
                return Parameter { value: 0.0, error: None };
            };
            let value = found.values[place] / alone;
            // The first-order error of a quotient.
            let error = found.covariance.as_ref().and_then(|known| {
                let variance = known[place][place] + value * value * known[0][0]
                    - 2.0 * value * known[place][0];
                error(variance / (alone * alone))
            });
            Parameter { value, error }
        };
        let contention = ratio(1);
        let coherency = ratio(2);
        let peak = ((1.0 - contention.value) / coherency.value).sqrt();
        Some(Self {
            curve,
            contention,
            coherency,
            alone: Parameter { value: alone, error: first },
            held: columns.len() < wanted,
            peak: Some(peak).filter(|peak| peak.is_finite() && *peak >= 1.0),
            miss: (found.left / points as f64).sqrt(),
        })
    }

    /// Returns the time of `work` on `nodes` nodes by the curve, in seconds.
    pub fn seconds(&self, work: &Work<'_>, nodes: u32) -> f64 {
        let n = f64::from(nodes);
        let alpha = self.contention.value;
        let beta = self.coherency.value;
        let each = self.alone.value * (1.0 + alpha * (n - 1.0) + beta * n * (n - 1.0));
        match work {
            Work::Fixed { .. } => each / n,
            Work::Growing { .. } => each,
        }
    }
}

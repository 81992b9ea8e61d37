//! Amdahl's law and the Universal Scalability Law (Gunther, Guerrilla Capacity Planning, 2007), fitted to
//! the points as a check. They know nothing of what the nodes do.
//!
//! With throughput `X(n) = γ n / (1 + α (n - 1) + β n (n - 1))` the quotient `n / X` is linear in `1/γ`,
//! `α/γ` and `β/γ`, so the fit needs no search. Errors count relative to what was measured.

use serde::Serialize;

use super::least_squares::{Row, Solution, least_squares};
use super::points::Points;
use super::{Point, Work};

/// Which curve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Curve {
    /// A part of the work that isn't shared: `β` is 0.
    Amdahl,
    /// And a part that grows with the pairs of nodes.
    Usl,
}

/// A parameter and how sure it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Parameter {
    /// Its value.
    pub value: f64,
    /// Its standard error; none where there are no more points than parameters.
    pub error: Option<f64>,
}

/// A fitted curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Fit {
    /// Which.
    pub curve: Curve,
    /// The share of the work that only one node does at a time, `α`.
    pub contention: Parameter,
    /// What each pair of nodes costs, `β`.
    pub coherency: Parameter,
    /// Seconds of one node, by the curve: `1/γ`.
    pub alone: Parameter,
    /// Whether a parameter came out below 0, which can't be, and was held at 0.
    pub held: bool,
    /// The node count of the highest throughput; none where it has no end.
    pub peak: Option<f64>,
    /// How far the curve is from the points on average, as a share.
    pub miss: f64,
}

impl Fit {
    /// The curve through these points; none where they don't determine it.
    pub(super) fn of(curve: Curve, work: &Work<'_>, points: &Points) -> Option<Self> {
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
                // Seconds a node and unit of work: n / X.
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
        // What is below 0 can't be: it is taken out, the least one first.
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
            // The error of a quotient, to first order.
            let error = found.covariance.as_ref().and_then(|known| {
                let variance = known[place][place] + value * value * known[0][0]
                    - 2.0 * value * known[place][0];
                error(variance / (alone * alone))
            });
            Parameter { value, error }
        };
        let (contention, coherency) = (ratio(1), ratio(2));
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

    /// The time at a node count by the curve, in seconds.
    #[must_use]
    pub fn seconds(&self, work: &Work<'_>, nodes: u32) -> f64 {
        let n = f64::from(nodes);
        let (alpha, beta) = (self.contention.value, self.coherency.value);
        let each = self.alone.value * (1.0 + alpha * (n - 1.0) + beta * n * (n - 1.0));
        match work {
            Work::Fixed { .. } => each / n,
            Work::Growing { .. } => each,
        }
    }
}

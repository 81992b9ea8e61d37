//! Fits the parameters of a law to points, with minimal relative error.

use super::law::{Law, shared};
use super::least_squares::{Row, least_squares};
use super::points::Points;
use super::{Demand, Floor, Point, Work};

/// A law with its parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Calibrated {
    pub(super) law: Law,
    /// The seconds of work for a single node; for growing work, the seconds that each node adds.
    pub(super) slope: f64,
    /// The seconds that every run takes, whatever the number of nodes.
    pub(super) fixed: f64,
    /// The position between queue (0) and lockstep (1); only for [`Law::Bunched`].
    pub(super) bunched: f64,
    /// Whether a second parameter was fitted besides `slope`: `fixed` or `bunched`.
    pub(super) has_second: bool,
}

/// The number of points of the initial grid search.
const GRID: u32 = 32;

/// The number of steps of the golden-section search, which follows the grid search.
const STEPS: u32 = 36;

const GOLDEN: f64 = 0.618_033_988_749_894_9;

impl Calibrated {
    /// Returns `law` with the parameters that fit the points best.
    pub(super) fn to(law: Law, work: &Work<'_>, points: &Points) -> Self {
        match work {
            Work::Fixed { demands, .. } => Self::to_fixed(law, work, demands, points),
            Work::Growing { floor, .. } => Self::to_growing(law, work, *floor, points),
        }
    }

    /// Returns the number of fitted parameters.
    pub(super) fn parameters(&self) -> usize {
        1 + usize::from(self.has_second)
    }

    /// Returns the predicted times at `counts` (ascending), in seconds.
    pub(super) fn times(&self, work: &Work<'_>, counts: &[u32]) -> Vec<f64> {
        match work {
            Work::Fixed { jobs, demands } => {
                let by = |law| shared(law, self.slope, *jobs, demands, counts);
                let mut times = by(self.law);
                if self.bunched > 0.0 {
                    for (time, worst) in times.iter_mut().zip(by(Law::Lockstep)) {
                        *time += self.bunched * (worst - *time);
                    }
                }
                times.into_iter().map(|time| time + self.fixed).collect()
            }
            Work::Growing { floor, .. } => {
                let time = |&count: &u32| {
                    self.fixed + self.slope * f64::from(count) + floor(count).seconds.max(0.0)
                };
                counts.iter().map(time).collect()
            }
        }
    }

    /// Returns for each point the predicted time at its node count, in seconds.
    pub(super) fn fitted(&self, work: &Work<'_>, points: &Points) -> Vec<f64> {
        let counts: Vec<u32> = points.medians.iter().map(|point| point.nodes).collect();
        let times = self.times(work, &counts);
        let of = |point: &Point| counts.binary_search(&point.nodes).map_or(0.0, |at| times[at]);
        points.all.iter().map(of).collect()
    }

    /// Returns the mean square of the relative errors.
    pub(super) fn error(&self, work: &Work<'_>, points: &Points) -> f64 {
        let fitted = self.fitted(work, points);
        let errors = points.all.iter().zip(&fitted).map(|(point, time)| time / point.seconds - 1.0);
        errors.map(|error| error * error).sum::<f64>() / points.all.len().max(1) as f64
    }

    fn to_fixed(law: Law, work: &Work<'_>, demands: &[Demand], points: &Points) -> Self {
        let has_second = points.counts() >= 3;
        let of = |slope: f64| {
            let bare = Self { law, slope, fixed: 0.0, bunched: 0.0, has_second };
            let with = match law {
                _ if !has_second => bare,
                Law::Bunched => bare.with_bunched(work, points),
                _ => bare.with_fixed(work, points),
            };
            (with.error(work, points), with)
        };
        let least: f64 = demands.iter().map(|demand| demand.seconds).sum();
        let times = points.all.iter().map(|point| point.seconds);
        let (shortest, longest) =
            times.fold((f64::INFINITY, 0.0_f64), |(a, b), time| (a.min(time), b.max(time)));
        let low = least.max(shortest * 1e-3).max(f64::MIN_POSITIVE);
        let high = (longest * f64::from(points.most()) * 2.0).max(low * 2.0);
        search(low.ln(), high.ln(), |log| of(log.exp())).1
    }

    /// Sets `fixed` to the value that fits best.
    fn with_fixed(self, work: &Work<'_>, points: &Points) -> Self {
        let fitted = self.fitted(work, points);
        let weights = points.all.iter().map(|point| point.seconds.powi(-2));
        let left = points.all.iter().zip(&fitted).zip(weights.clone());
        let sum: f64 = left.map(|((point, time), weight)| (point.seconds - time) * weight).sum();
        Self { fixed: (sum / weights.sum::<f64>()).max(0.0), ..self }
    }

    /// Sets `bunched` to the value that fits best.
    fn with_bunched(self, work: &Work<'_>, points: &Points) -> Self {
        let queue = self.fitted(work, points);
        let worst = Self { bunched: 1.0, ..self }.fitted(work, points);
        let mut above = 0.0;
        let mut room = 0.0;
        for ((point, queue), worst) in points.all.iter().zip(&queue).zip(&worst) {
            let left = point.seconds - queue;
            let more = worst - queue;
            above += left * more / point.seconds.powi(2);
            room += more * more / point.seconds.powi(2);
        }
        let bunched = if room > 0.0 { (above / room).clamp(0.0, 1.0) } else { 0.0 };
        Self { bunched, ..self }
    }

    fn to_growing(
        law: Law,
        work: &Work<'_>,
        floor: &dyn Fn(u32) -> Floor,
        points: &Points,
    ) -> Self {
        let has_second = points.counts() >= 2;
        let row = |point: &Point| {
            let above = point.seconds - floor(point.nodes).seconds.max(0.0);
            (vec![1.0, f64::from(point.nodes)], above, point.seconds.powi(-2))
        };
        let rows: Vec<Row> = points.all.iter().map(row).collect();
        let made = |fixed: f64, slope: f64| Self { law, slope, fixed, bunched: 0.0, has_second };
        let both = has_second.then(|| least_squares(&rows)).flatten();
        let both = both.map(|fit| made(fit.values[0], fit.values[1]));
        if let Some(both) = both.filter(|both| both.fixed >= 0.0 && both.slope >= 0.0) {
            return both;
        }
        // A negative parameter is impossible: set one of the two to 0, whichever leaves the smaller
        // error.
        let alone = |column: usize| {
            let rows: Vec<_> = rows.iter().map(|(x, y, w)| (vec![x[column]], *y, *w)).collect();
            least_squares(&rows).map_or(0.0, |fit| fit.values[0].max(0.0))
        };
        let candidates = [made(alone(0), 0.0), made(0.0, alone(1))];
        let error = |one: &Self| one.error(work, points);
        if has_second && error(&candidates[1]) < error(&candidates[0]) {
            candidates[1]
        } else {
            candidates[0]
        }
    }
}

/// Searches for the argument between `low` and `high` at which the first element of `of` is
/// smallest; returns the result of `of` there.
fn search<T: Copy>(low: f64, high: f64, of: impl Fn(f64) -> (f64, T)) -> (f64, T) {
    let step = (high - low) / f64::from(GRID);
    let at = |place: u32| low + step * f64::from(place);
    let mut best = (0, of(low));
    for place in 1..=GRID {
        let found = of(at(place));
        if found.0 < best.1.0 {
            best = (place, found);
        }
    }
    let mut from = at(best.0.saturating_sub(1));
    let mut to = at((best.0 + 1).min(GRID));
    let mut found = best.1;
    for _ in 0..STEPS {
        let one = to - GOLDEN * (to - from);
        let other = from + GOLDEN * (to - from);
        let left = of(one);
        let right = of(other);
        if left.0 <= right.0 {
            to = other;
        } else {
            from = one;
        }
        for candidate in [left, right] {
            if candidate.0 < found.0 {
                found = candidate;
            }
        }
    }
    found
}

//! Prediction intervals by a bootstrap of relative residuals (Efron and Tibshirani, An Introduction
//! to the Bootstrap, 1993, 9.4). The same points always give the same interval.

use garland_core::splitmix::SplitMix;

use super::Work;
use super::calibrate::Calibrated;
use super::candidates::Candidates;
use super::points::Points;

/// The number of samples of each law.
const TIMES: usize = 200;

/// The fraction of the samples that is cut off at each end: the interval contains 90 % of them.
const TAIL: f64 = 0.05;

/// The spread of the predictions over the samples of all laws.
#[derive(Clone, Debug)]
pub(super) struct Spread {
    /// For each node count, the ends of the interval of predicted times, in seconds.
    pub(super) times: Vec<(f64, f64)>,
    /// The ends of the interval of the laws' `fixed` parts, in seconds.
    pub(super) fixed: (f64, f64),
}

/// Returns the spread of the predictions of `candidates` for `counts` (ascending). `None` if there
/// are no more points than parameters, so that errors are unknown.
pub(super) fn resampled_spread(
    candidates: &Candidates,
    work: &Work<'_>,
    points: &Points,
    counts: &[u32],
) -> Option<Spread> {
    let mut random = SplitMix(0x853C_49E6_748F_EA9B);
    let mut times = vec![(f64::INFINITY, 0.0_f64); counts.len()];
    let mut fixed = (f64::INFINITY, 0.0_f64);
    for law in &candidates.all {
        let freedom = points.all.len().checked_sub(law.parameters()).filter(|left| *left > 0)?;
        let fitted = law.fitted(work, points);
        // The fit has absorbed some of the errors.
        let lost = (points.all.len() as f64 / freedom as f64).sqrt();
        let errors: Vec<f64> = points
            .all
            .iter()
            .zip(&fitted)
            .map(|(point, time)| (point.seconds / time - 1.0) * lost)
            .collect();
        let mut outcomes = vec![Vec::with_capacity(TIMES); counts.len()];
        let mut offsets = Vec::with_capacity(TIMES);
        for _ in 0..TIMES {
            let mut again = points.clone();
            for (point, time) in again.all.iter_mut().zip(&fitted) {
                let error = errors[random.below(errors.len())];
                point.seconds = time * (1.0 + error).max(0.05);
            }
            let found = Calibrated::to(law.law, work, &again);
            offsets.push(found.fixed);
            for (outcome, time) in outcomes.iter_mut().zip(found.times(work, counts)) {
                outcome.push(time);
            }
        }
        for (time, outcome) in times.iter_mut().zip(&mut outcomes) {
            let (low, high) = middle(outcome);
            *time = (time.0.min(low), time.1.max(high));
        }
        let (low, high) = middle(&mut offsets);
        fixed = (fixed.0.min(low), fixed.1.max(high));
    }
    Some(Spread { times, fixed })
}

/// Returns the minimum and maximum of the values without the tails.
fn middle(values: &mut [f64]) -> (f64, f64) {
    values.sort_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    let cut = (TAIL * last as f64).floor() as usize;
    (values[cut], values[last - cut])
}

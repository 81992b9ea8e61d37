//! Selects the laws that explain the points.

use super::calibrate::Calibrated;
use super::law::Law;
use super::points::Points;
use super::{Refusal, Work};

/// A law is a candidate if its relative error is at most this multiple of the smallest error.
const AS_GOOD: f64 = 2.0;

/// A law is also a candidate if its relative error is at most this: repeated measurements differ by
/// more.
const NOISE: f64 = 0.03;

/// Relative errors below this value count as equal: the fit is exact.
const EXACT: f64 = 0.003;

/// If the smallest relative error is larger than this, no law fits, and the forecast is refused.
const NO_LAW: f64 = 0.25;

/// Laws with their parameters, best fit first.
#[derive(Clone, Debug)]
pub(super) struct Candidates {
    /// The laws; at least one.
    pub(super) all: Vec<Calibrated>,
    /// The root mean square of the first law's relative errors at the points.
    pub(super) miss: f64,
}

impl Candidates {
    /// Returns the laws that explain the points about as well as the best one.
    pub(super) fn select(work: &Work<'_>, points: &Points) -> Result<Self, Refusal> {
        // Two points cannot distinguish bunching from a queue.
        let known = |law: &&Law| **law != Law::Bunched || points.counts() >= 3;
        let laws = Law::possible_for(work).iter().filter(known);
        let mut found: Vec<(f64, Calibrated)> = laws
            .map(|&law| {
                let calibrated = Calibrated::to(law, work, points);
                (calibrated.error(work, points).sqrt(), calibrated)
            })
            .collect();
        // The sort is stable: laws are listed by prior likelihood, which decides between exact
        // fits.
        let rank = |miss: f64| miss.max(EXACT);
        found.sort_by(|(a, _), (b, _)| rank(*a).total_cmp(&rank(*b)));
        let miss = found[0].0;
        if miss > NO_LAW {
            return Err(Refusal::NoLaw { miss });
        }
        let good = |one: &(f64, Calibrated)| one.0 <= (miss * AS_GOOD).max(NOISE);
        Ok(Self { all: found.into_iter().filter(good).map(|(_, law)| law).collect(), miss })
    }

    /// Returns the law with the best fit.
    pub(super) fn best(&self) -> &Calibrated {
        &self.all[0]
    }
}

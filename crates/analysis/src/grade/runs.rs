//! What repeated runs measured of one figure.

use serde::{Deserialize, Serialize};

use super::limits::CONFIDENCE;
use crate::pairs::median;

/// What one run measured.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub struct Sample {
    /// The measured figure; `None` if the run did not show it.
    pub value: Option<f64>,
    /// Whether the run is void: the emulator lagged, so that it shows the machine and not the lab.
    pub void: bool,
}

impl Sample {
    /// Creates the sample of a valid run. A figure that is not finite counts as not shown.
    pub fn new(value: f64) -> Self {
        Self { value: Some(value).filter(|value| value.is_finite()), void: false }
    }

    /// Creates the sample of a valid run that gave no figure.
    pub fn none() -> Self {
        Self { value: None, void: false }
    }

    /// Returns this sample, void if `lagged`.
    #[must_use]
    pub fn voided(self, lagged: bool) -> Self {
        Self { void: self.void || lagged, ..self }
    }
}

/// The samples of all runs in the order in which they were made; none is left out.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
pub struct Runs(Vec<Sample>);

/// The values from `least` to `most`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Interval {
    pub least: f64,
    pub most: f64,
}

impl Runs {
    /// Creates the runs with these samples.
    pub fn new(samples: Vec<Sample>) -> Self {
        Self(samples)
    }

    /// Returns all samples, the void ones too.
    pub fn samples(&self) -> &[Sample] {
        &self.0
    }

    /// Returns the median of the valid runs; `None` if none of them shows the figure.
    pub fn median(&self) -> Option<f64> {
        median(self.valid().filter_map(|sample| sample.value).collect())
    }

    /// Returns how many runs are not void, and whether all of them show the figure.
    pub(super) fn shown(&self) -> (usize, bool) {
        (self.valid().count(), self.valid().all(|sample| sample.value.is_some()))
    }

    /// Returns the interval of the median of the valid runs. Of at least six it is the narrowest
    /// between two of them that has the median with a probability of [`CONFIDENCE`], of fewer it
    /// has them all. `None` if no valid run shows the figure.
    pub(super) fn interval(&self) -> Option<Interval> {
        let mut values: Vec<f64> = self.valid().filter_map(|sample| sample.value).collect();
        values.sort_by(f64::total_cmp);
        let left_out = count_skipped(values.len());
        let least = *values.get(left_out)?;
        let most = values[values.len() - 1 - left_out];
        Some(Interval { least, most })
    }

    fn valid(&self) -> impl Iterator<Item = &Sample> {
        self.0.iter().filter(|sample| !sample.void)
    }
}

impl Interval {
    /// Returns the interval with this much more on both sides.
    pub(super) fn widened(self, by: f64) -> Self {
        Self { least: self.least - by, most: self.most + by }
    }

    /// Returns whether the two have a value in common.
    pub(super) fn meets(self, other: Self) -> bool {
        self.least <= other.most && other.least <= self.most
    }
}

/// Returns how many of so many sorted values an interval of the median may leave out on each side:
/// the median is below the k-th smallest of n values if fewer than k of n fair coins show heads.
fn count_skipped(count: usize) -> usize {
    let mut ways = 1.0_f64;
    let mut below = 0.0;
    let all = 2.0_f64.powi(i32::try_from(count).unwrap_or(i32::MAX));
    for heads in 0..count / 2 {
        below += ways / all;
        if 1.0 - 2.0 * below < CONFIDENCE {
            return heads.saturating_sub(1);
        }
        ways *= (count - heads) as f64 / (heads + 1) as f64;
    }
    (count / 2).saturating_sub(1)
}

/// Returns by which factor a curve is higher at `place` than at its highest other place: above 1 if
/// the peak is there, about 1 if the curve is flat. `None` if the curve has no other place or not
/// this one.
pub fn lead(curve: &[(usize, f64)], place: usize) -> Option<f64> {
    let at = curve.iter().find(|(at, _)| *at == place)?.1;
    let others = curve.iter().filter(|(at, _)| *at != place).map(|(_, value)| *value);
    let highest = others.reduce(f64::max)?;
    Some(at / highest)
}

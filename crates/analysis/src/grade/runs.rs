//! What repeated runs measured of one figure.

use serde::{Deserialize, Serialize};

use super::error::EmulationError;
use super::limits::{RUNS, WIDEST};
use super::verdict::Why;
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

    /// Returns the interval of the valid runs, widened on both sides by the error of the emulation.
    pub(super) fn interval(&self, error: &EmulationError) -> Result<Interval, Why> {
        let (valid, all_show) = self.shown();
        if self.0.is_empty() {
            return Err(Why::NotMeasured);
        }
        if valid < RUNS {
            return Err(Why::Void { valid });
        }
        let middle = self.median().filter(|_| all_show).ok_or(Why::NotShown)?;
        let values = || self.valid().filter_map(|sample| sample.value);
        let widen = error.share() * middle.abs();
        let least = values().fold(f64::INFINITY, f64::min) - widen;
        let most = values().fold(f64::NEG_INFINITY, f64::max) + widen;
        let half = (most - least) / 2.0;
        if half > WIDEST * middle.abs() {
            return Err(Why::Wide { half: half / middle.abs() });
        }
        Ok(Interval { least, most })
    }

    fn valid(&self) -> impl Iterator<Item = &Sample> {
        self.0.iter().filter(|sample| !sample.void)
    }
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

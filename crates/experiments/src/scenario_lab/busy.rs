//! Whether the machine that emulates a lab had time to do so.

use garland_sys::processors::Processors;
use garland_terminal::failure::Failure;
use serde::Serialize;

use super::ScenarioLab;

/// The share of processor time in use above which the machine may itself be the limit, so that what
/// was measured is void. `garland balance` and `garland wires` warn at the same share.
const LAGS: f64 = 0.9;

/// The share of this machine's processor time that was in use during a measurement, from 0 to 1.
/// Programs of lower priority (`nice`) count, too: they yield, but where two processors share a
/// core they slow the other one down. Compiling at the lowest priority beside the lab once made
/// encodes 20 to 40 % slower.
#[derive(Clone, Copy, Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Busy(f64);

impl Busy {
    /// Calls `work`, and returns its result with the share of processor time in use meanwhile.
    pub fn during<T>(work: impl FnOnce() -> Result<T, Failure>) -> Result<(T, Self), Failure> {
        let before = Processors::now();
        let done = work()?;
        Ok((done, Self(before.busy_since())))
    }

    /// Returns whether the emulator may have lagged.
    pub fn lags(self) -> bool {
        self.0 > LAGS
    }

    /// Returns the larger of two shares.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self(self.0.max(other.0))
    }
}

impl ScenarioLab<'_> {
    /// Calls `work` unless the user has interrupted. Returns its result, and how busy the machine
    /// was.
    pub fn watch<T>(
        &self,
        work: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<(T, Busy), Failure> {
        self.go_on()?;
        Busy::during(work)
    }
}

//! The stated error of an emulation.

use serde::{Deserialize, Serialize};

/// By how much an emulation may be wrong itself, and how that is known.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(try_from = "Stated")]
pub struct EmulationError {
    #[serde(rename = "error")]
    share: f64,
    reason: String,
}

/// The fields before they are checked.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stated {
    error: f64,
    reason: String,
}

impl EmulationError {
    /// Returns an error of `share` of each figure, which `reason` gives evidence for. Refuses a
    /// share that is below 0 or not below 1, and an error without a reason.
    pub fn new(share: f64, reason: impl Into<String>) -> Result<Self, String> {
        let reason = reason.into();
        if !(0.0..1.0).contains(&share) {
            return Err(format!("an emulation's error must be from 0 to 1, not {share}"));
        }
        if reason.trim().is_empty() {
            return Err("an emulation's error must have a reason".to_owned());
        }
        Ok(Self { share, reason })
    }

    /// Returns the error as a share of a figure.
    pub fn share(&self) -> f64 {
        self.share
    }

    /// Returns how the error is known.
    pub fn reason(&self) -> &str {
        &self.reason
    }
}

impl TryFrom<Stated> for EmulationError {
    type Error = String;

    fn try_from(stated: Stated) -> Result<Self, String> {
        Self::new(stated.error, stated.reason)
    }
}

//! The part of a `garland.forecast/2` that is read.

use serde::{Deserialize, Serialize};

/// The part of a `garland.forecast/2` that is read.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ScalingForecast {
    /// The forecast by a scaling law.
    pub forecast: Answer,
    /// Simulations of the single jobs; empty if the simulator disagrees with the measured runs.
    pub simulated: Vec<Simulated>,
}

/// A simulation of the single jobs on a number of nodes.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Simulated {
    pub nodes: u32,
    pub seconds: f64,
}

/// The part of the forecast that is read.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Answer {
    pub curve: Vec<At>,
    pub knee: Option<Knee>,
}

/// A forecast for a number of nodes.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct At {
    pub nodes: u32,
    pub seconds: f64,
    pub interval: Option<(f64, f64)>,
}

/// The number of nodes beyond which more don't help.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Knee {
    pub nodes: f64,
    pub resource: String,
}

//! The fields of `garland.forecast/2` that are read.

use serde::{Deserialize, Serialize};

/// The fields of `garland.forecast/2` that are read.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ScalingForecast {
    /// The forecast by a scaling law.
    pub forecast: Answer,
    /// Simulations of the jobs one by one, for each number of nodes; empty if the simulator
    /// disagrees with the measured runs.
    pub simulated: Vec<Simulated>,
}

/// The simulated seconds of all jobs on a number of nodes.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Simulated {
    pub nodes: u32,
    pub seconds: f64,
}

/// The fields of a forecast by a scaling law that are read.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Answer {
    pub curve: Vec<At>,
    pub knee: Option<Knee>,
}

/// The seconds that are forecast for a number of nodes, and their interval if there is one.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct At {
    pub nodes: u32,
    pub seconds: f64,
    pub interval: Option<(f64, f64)>,
}

/// The number of nodes above which more nodes do not help, and the resource that is then the limit.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Knee {
    pub nodes: f64,
    pub resource: String,
}

//! What is read of a `garland.forecast/1`.

use serde::{Deserialize, Serialize};

/// What is read of a `garland.forecast/1`.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ScalingForecast {
    /// The curve, by a law.
    pub forecast: Answer,
    /// The same jobs one by one, where the simulator is right about what was measured.
    pub simulated: Vec<Simulated>,
}

/// Jobs one by one, on so many nodes.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Simulated {
    pub nodes: u32,
    pub seconds: f64,
}

/// What is read of its answer.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Answer {
    pub curve: Vec<At>,
    pub knee: Option<Knee>,
}

/// A node count of it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct At {
    pub nodes: u32,
    pub seconds: f64,
    pub interval: Option<(f64, f64)>,
}

/// Where more nodes stop to bring anything.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Knee {
    pub nodes: f64,
    pub resource: String,
}

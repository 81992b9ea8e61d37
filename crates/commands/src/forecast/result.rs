//! The result object of `garland forecast`.

use garland_analysis::forecast::{Demand, Floor, Forecast, Point};
use garland_results::head::{Head, Phases};
use serde::Serialize;

use super::measured::Measured;

/// The result object `garland.forecast/2`.
#[derive(Serialize)]
pub struct ForecastResult {
    #[serde(flatten)]
    pub head: Head,
    /// `fixed`: the nodes share a fixed amount of work; `growing`: each node adds its own work.
    pub work: &'static str,
    pub points: Vec<PointResult>,
    /// Bytes of each copy; `None` for a farm.
    pub bytes: Option<u64>,
    /// Shared resources, and how long the whole work keeps each busy.
    pub limits: Vec<Demand>,
    /// The forecast; `None` if nothing was measured.
    pub forecast: Option<Forecast>,
    /// The simulated copies or farms by number of nodes; empty without a topology, or if the
    /// simulation is too inaccurate.
    pub simulated: Vec<Simulated>,
    pub notes: Vec<String>,
}

/// A point and its source.
#[derive(Serialize)]
pub struct PointResult {
    #[serde(flatten)]
    pub point: Point,
    pub source: String,
}

/// A simulated copy or farm.
#[derive(Serialize)]
pub struct Simulated {
    pub nodes: u32,
    pub seconds: f64,
    /// The rate of a copy to each node in bytes per second; 0 for a farm.
    pub rate: f64,
    /// The bottleneck: the resource that is busy longest.
    pub limit: String,
}

impl Simulated {
    /// Creates the result for a copy of `length` bytes to `nodes` nodes; `length` is 0 for a farm.
    pub fn new(nodes: u32, floor: &Floor, length: u64) -> Self {
        let rate = if floor.seconds > 0.0 { length as f64 / floor.seconds } else { 0.0 };
        Self { nodes, seconds: floor.seconds, rate, limit: floor.name.clone() }
    }
}

impl ForecastResult {
    /// Creates a result without a forecast. The notes of `measured` are moved to the result.
    pub fn new(
        phases: Phases,
        work: &'static str,
        measured: &mut Measured,
        limits: &[Demand],
    ) -> Self {
        let points = measured.points.iter().zip(&measured.sources);
        Self {
            head: Head::new("garland.forecast/2", None, phases),
            work,
            points: points
                .map(|(point, source)| PointResult { point: *point, source: source.clone() })
                .collect(),
            bytes: None,
            limits: limits.to_vec(),
            forecast: None,
            simulated: Vec::new(),
            notes: std::mem::take(&mut measured.notes),
        }
    }
}

//! Measured points of the curve.

use serde::Serialize;

/// A measured time at a node count.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Point {
    /// The number of nodes, at least 1.
    pub nodes: u32,
    /// The time of the whole work, in seconds; above 0.
    pub seconds: f64,
}

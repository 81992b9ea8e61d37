//! The limit of a copy: the maximum rate that the network and the options allow.

use serde::{Deserialize, Serialize};

/// A rate limit, its origin, and how close a copy came to it.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Limit {
    /// Bytes per second.
    pub rate: u64,
    /// The origin of the figure, as text.
    pub source: String,
    /// The rate of the whole command, divided by the limit.
    pub achieved: Option<f64>,
}

impl Limit {
    /// Creates a limit of `bits` per second.
    pub fn new(bits: f64, source: String) -> Self {
        Self { rate: (bits / 8.0) as u64, source, achieved: None }
    }
}

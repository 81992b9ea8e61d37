//! The limit of a copy: the best that wires and options allow.

use serde::{Deserialize, Serialize};

/// A limit, where it comes from, and how near a copy came.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Limit {
    /// Bytes per second.
    pub rate: u64,
    /// Where the figure comes from, in words.
    pub source: String,
    /// The whole command's rate over the limit.
    pub achieved: Option<f64>,
}

impl Limit {
    /// A limit of so many bits per second.
    pub fn new(bits: f64, source: String) -> Self {
        Self { rate: (bits / 8.0) as u64, source, achieved: None }
    }
}

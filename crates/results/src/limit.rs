//! The limit of a copy: the maximum rate that the network and the options allow.

use serde::{Deserialize, Serialize};

/// A limit of a copy's rate, where it comes from, and how much of it the copy reached.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Limit {
    /// The limit in bytes per second.
    pub rate: u64,
    /// What sets the limit, as text.
    pub source: String,
    /// The rate of the whole command divided by the limit; `None` until the copy has ended, and if
    /// nodes already had bytes before it.
    pub achieved: Option<f64>,
}

impl Limit {
    /// Creates a limit of `bits` bits per second, of which nothing is reached yet; `source` says
    /// what sets it.
    pub fn new(bits: f64, source: String) -> Self {
        Self { rate: (bits / 8.0) as u64, source, achieved: None }
    }
}

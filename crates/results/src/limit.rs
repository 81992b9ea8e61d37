//! The limit of a copy: the maximum rate that the network and the options allow.

use serde::{Deserialize, Serialize};

/// A limit of a copy's rate, what sets the limit, and the fraction of the limit that was reached.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Limit {
    /// The limit in bytes per second.
    pub rate: u64,
    /// What sets the limit, as text.
    pub source: String,
    /// The rate of the whole command divided by the limit; `None` before the copy has ended, and if
    /// nodes had a part of the bytes before the copy.
    pub achieved: Option<f64>,
}

impl Limit {
    /// Creates a limit of `bits` bits per second, with `achieved` `None`. `source` says what sets
    /// the limit.
    pub fn new(bits: f64, source: String) -> Self {
        Self { rate: (bits / 8.0) as u64, source, achieved: None }
    }
}

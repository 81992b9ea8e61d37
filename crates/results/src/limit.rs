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
    /// The limit in bytes per second if trunks between switches were as fast as needed; `None` if
    /// that is the same, or unknown. A higher one means that hops share a slow trunk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub without_trunks: Option<u64>,
    /// The rate in bytes per second of the fastest hop while no other is in use; `None` if unknown.
    /// Hops that are slower are compared with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hop: Option<u64>,
    /// The rates at which the processors of the slowest machines would limit the copy, by the model
    /// of processors; empty if they are unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub processors: Vec<ProcessorRate>,
}

/// The rate at which the processors of one machine would limit a copy if nothing else did.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct ProcessorRate {
    /// The name of the node; `None` for the machine that emulates all nodes.
    pub node: Option<String>,
    /// The rate of the whole copy in bytes per second.
    pub rate: u64,
}

impl Limit {
    /// Creates a limit of `bits` bits per second, with `achieved` `None`. `source` says what sets
    /// the limit.
    pub fn new(bits: f64, source: String) -> Self {
        Self {
            rate: (bits / 8.0) as u64,
            source,
            achieved: None,
            without_trunks: None,
            hop: None,
            processors: Vec::new(),
        }
    }
}

//! The data of a run on the page.

use serde::Serialize;
use serde_json::Value;

use super::picture::Picture;
use super::timeline::Timeline;

/// A run on the page.
#[derive(Clone, Debug, Serialize)]
pub struct Sheet {
    /// The run's name.
    pub name: String,
    /// The stored result.
    pub result: Value,
    /// The ledger of a copy with traces.
    pub explained: Option<Value>,
    /// The timeline of its nodes.
    pub timeline: Option<Timeline>,
    /// The topologies of the run.
    pub pictures: Vec<Picture>,
    /// Faults of the stored files, in words.
    pub notes: Vec<String>,
}

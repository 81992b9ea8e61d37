//! A run on the page.

use serde::Serialize;
use serde_json::Value;

use super::picture::Picture;
use super::timeline::Timeline;

/// A run for the page.
#[derive(Clone, Debug, Serialize)]
pub struct Sheet {
    /// Its name.
    pub name: String,
    /// Its result, as it was kept.
    pub result: Value,
    /// The ledger of a copy with traces.
    pub explained: Option<Value>,
    /// The timeline of its nodes.
    pub timeline: Option<Timeline>,
    /// The topology of its nodes, or of those of each of its parts.
    pub pictures: Vec<Picture>,
    /// Faults of the stored files, in words.
    pub notes: Vec<String>,
}

//! A run as the page takes it.

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
    /// What the ledger says of it, if it was a copy with traces.
    pub explained: Option<Value>,
    /// When which node did what.
    pub timeline: Option<Timeline>,
    /// What joined its nodes, or those of each of its parts.
    pub pictures: Vec<Picture>,
    /// What is wrong with what was kept, in words.
    pub notes: Vec<String>,
}

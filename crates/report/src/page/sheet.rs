//! The data of a run on the page.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::picture::Picture;
use super::timeline::Timeline;

/// A run on the page.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Sheet {
    /// The run's name.
    pub name: String,
    /// The names of what a copy copied; `None` if unknown, and for other commands.
    pub sources: Option<String>,
    /// The stored result, of any command and version.
    pub result: Value,
    /// The result of explaining a copy from its traces: the ledger of its time. `None` without
    /// traces.
    pub explained: Option<Value>,
    /// The timeline of the run's nodes; `None` without traces or records of jobs.
    pub timeline: Option<Timeline>,
    /// The topologies of the labs in which the run took place.
    pub pictures: Vec<Picture>,
    /// The racks of the nodes in the user's cluster file, by node.
    pub racks: BTreeMap<String, String>,
    /// Messages about stored files that are missing or not valid.
    pub notes: Vec<String>,
}

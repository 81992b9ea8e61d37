//! A condition of the time that is put into a lab.

use serde::{Deserialize, Serialize};

/// A named condition of the time of a publication, such as a duplex mismatch.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Condition {
    name: String,
    source: Option<String>,
}

impl Condition {
    /// Creates a condition. `source` says where its size comes from: a manual, a paper, another
    /// publication; never the figures that it is to explain. Without one it explains nothing.
    pub fn new(name: impl Into<String>, source: Option<String>) -> Self {
        let source = source.filter(|source| !source.trim().is_empty());
        Self { name: name.into(), source }
    }

    /// Returns the condition's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns where the condition's size comes from; `None` if that is unknown.
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }
}

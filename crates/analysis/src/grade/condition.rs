//! A condition of the time that is put into a lab.

use serde::{Deserialize, Serialize};

use super::limits::LAW_ERROR;

/// A named condition of the time of a publication, such as a duplex mismatch.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct Condition {
    name: String,
    source: Option<String>,
    /// The published figures that were put in, or that a constant was fitted on, by their ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    constants: Vec<String>,
    /// Whether the figure is computed by a law instead of measured.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    computed: bool,
}

impl Condition {
    /// Creates a condition. `source` says where its size comes from: a manual, a paper, another
    /// publication; never the figures that it is to explain. Without one it explains nothing.
    pub fn new(name: impl Into<String>, source: Option<String>) -> Self {
        let source = source.filter(|source| !source.trim().is_empty());
        Self { name: name.into(), source, constants: Vec::new(), computed: false }
    }

    /// Creates a condition whose size was fitted on `constants`, which are ids of published figures
    /// and are not counted. What comes out with it follows from them.
    pub fn fitted(name: impl Into<String>, constants: Vec<String>) -> Self {
        Self { name: name.into(), source: None, constants, computed: false }
    }

    /// Creates a law that computes a figure from a measured one and from published `inputs`.
    pub fn law(name: impl Into<String>, inputs: Vec<String>) -> Self {
        Self { computed: true, ..Self::fitted(name, inputs) }
    }

    /// Returns the condition's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns where the condition's size comes from; `None` if that is unknown.
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// Returns the published figures that were put in, or that it was fitted on.
    pub fn constants(&self) -> &[String] {
        &self.constants
    }

    /// Returns by how much a figure may be off that comes out with the condition, as a share of it,
    /// if the emulation itself may be off by `emulation`.
    pub(super) fn error(&self, emulation: f64) -> f64 {
        if self.computed { LAW_ERROR.max(emulation) } else { emulation }
    }
}

//! Creates steps that are all executed in the same namespaces.

use garland_topology::{NodeId, Topology};

use crate::step::{Place, Step};
use crate::tool::Tool;

/// Creates steps that are executed in the namespaces of a [`Place`].
pub(crate) struct Writer(Place);

/// The writer for the namespace of the media.
pub(crate) const MEDIA: Writer = Writer(Place::Media);

impl Writer {
    /// Returns a writer for a node.
    pub(crate) fn new(topology: &Topology, node: NodeId) -> Writer {
        Writer(Place::Node(topology.nodes[node].name.clone()))
    }

    pub(crate) fn ip(&self, line: String) -> Step {
        self.batch(Tool::Ip, line)
    }

    pub(crate) fn tc(&self, line: String) -> Step {
        self.batch(Tool::Tc, line)
    }

    pub(crate) fn batch(&self, tool: Tool, text: String) -> Step {
        Step::Batch { tool, place: self.0.clone(), text }
    }

    pub(crate) fn sysctl(&self, key: &str, value: impl ToString) -> Step {
        Step::Sysctl { place: self.0.clone(), key: key.to_owned(), value: value.to_string() }
    }
}

//! The state of all watched nodes.

use garland_protocol::measure::{KernelCounts, NodeView};

use super::figures::Figures;

/// All nodes, in the order of the node list.
pub struct Board {
    pub nodes: Vec<Node>,
}

/// The state of a watched node.
pub struct Node {
    pub name: String,
    /// The last sample, with which the next one is compared; `None` before the first sample.
    last: Option<Box<NodeView>>,
    /// The figures from the last two samples; `None` before the second sample, and if the node is
    /// lost.
    pub figures: Option<Figures>,
    /// The number of updates of the figures so far.
    pub updates: u32,
    /// Why the node can no longer be watched; `None` if it is watched.
    pub lost: Option<String>,
}

impl Board {
    /// Creates a board of nodes with these names, without samples.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        let node = |name| Node { name, last: None, figures: None, updates: 0, lost: None };
        Self { nodes: names.into_iter().map(node).collect() }
    }

    /// Adds a sample of a node; returns whether its figures were updated.
    pub fn add(&mut self, at: usize, view: Box<NodeView>) -> bool {
        let node = &mut self.nodes[at];
        let figures = node.last.as_ref().and_then(|last| Figures::between(last, &view));
        node.last = Some(view);
        let is_new = figures.is_some();
        if is_new {
            node.figures = figures;
            node.updates += 1;
        }
        is_new
    }

    /// Marks the node with index `at` as lost, and discards its figures.
    pub fn lose(&mut self, at: usize, reason: String) {
        let node = &mut self.nodes[at];
        (node.figures, node.last, node.lost) = (None, None, Some(reason));
    }

    /// Returns whether every node that is not lost has had at least `count` updates.
    pub fn has_updates(&self, count: u32) -> bool {
        self.nodes.iter().all(|node| node.lost.is_some() || node.updates >= count)
    }
}

impl Node {
    /// Returns what the node's kernel has counted by its last sample; `None` before the first one,
    /// and if the node is lost.
    pub fn counts(&self) -> Option<&KernelCounts> {
        self.last.as_ref().map(|view| &view.kernel)
    }
}

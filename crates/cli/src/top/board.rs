//! What is known of all nodes that are watched.

use garland_protocol::NodeView;

use super::figures::Figures;

/// All nodes, in the order of the node list.
pub struct Board {
    pub nodes: Vec<Node>,
}

/// What is known of a node.
pub struct Node {
    pub name: String,
    /// The last look at it, with which the next is compared.
    last: Option<Box<NodeView>>,
    /// What the last two looks came to.
    pub figures: Option<Figures>,
    /// How often there were new figures.
    pub looks: u32,
    /// Why it can't be watched any more.
    pub lost: Option<String>,
}

impl Board {
    /// Nothing is known yet of the nodes of these names.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        let node = |name| Node { name, last: None, figures: None, looks: 0, lost: None };
        Self { nodes: names.into_iter().map(node).collect() }
    }

    /// Takes a look at a node in; says whether there are new figures.
    pub fn take(&mut self, at: usize, view: Box<NodeView>) -> bool {
        let node = &mut self.nodes[at];
        let figures = node.last.as_ref().and_then(|last| Figures::between(last, &view));
        node.last = Some(view);
        let is_new = figures.is_some();
        if is_new {
            node.figures = figures;
            node.looks += 1;
        }
        is_new
    }

    /// A node can't be watched any more. What was known of it isn't so any longer.
    pub fn lose(&mut self, at: usize, reason: String) {
        let node = &mut self.nodes[at];
        (node.figures, node.last, node.lost) = (None, None, Some(reason));
    }

    /// Whether every node that can be watched has had so many figures.
    pub fn has_looked(&self, count: u32) -> bool {
        self.nodes.iter().all(|node| node.lost.is_some() || node.looks >= count)
    }
}

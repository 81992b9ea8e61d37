//! The nodes of a farm run: which of them take part, and why the others do not.

use crate::farm::jobs::NodeFacts;

/// Timeout for nodes to report their resources and to mount files, in nanoseconds.
const OPENING_NS: u64 = 10_000_000_000;

/// The state of a node of a farm run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FarmNode {
    /// The node's resources; `None` if it has not reported them.
    pub facts: Option<NodeFacts>,
    /// Why the node gets no more jobs; `None` if it is still usable.
    pub gone: Option<String>,
}

/// The state of each node of a farm run. Jobs are assigned when all nodes are ready or gone.
#[derive(Debug)]
pub struct Readiness {
    nodes: Vec<FarmNode>,
    /// For each node, whether it has not mounted its files yet.
    unmounted: Vec<bool>,
    /// The time until which nodes may become ready, in monotonic nanoseconds; `None` once
    /// [`Self::settle`] has ended the wait.
    until_ns: Option<u64>,
}

impl Readiness {
    /// Creates the state of nodes, each with the reason why its agent cannot be reached, if so, and
    /// whether it has to mount files.
    pub fn new(nodes: impl Iterator<Item = (Option<String>, bool)>, now_ns: u64) -> Self {
        let nodes = nodes.map(|(gone, mounts)| (FarmNode { facts: None, gone }, mounts));
        let (nodes, unmounted) = nodes.unzip();
        Self { nodes, unmounted, until_ns: Some(now_ns + OPENING_NS) }
    }

    /// Returns the state of each node.
    pub fn nodes(&self) -> &[FarmNode] {
        &self.nodes
    }

    /// Whether the wait for nodes has ended.
    pub fn is_settled(&self) -> bool {
        self.until_ns.is_none()
    }

    /// Notes the resources of a node; too late after the wait.
    pub fn opened(&mut self, node: usize, facts: NodeFacts) {
        if !self.is_settled() {
            self.nodes[node].facts = Some(facts.bounded());
        }
    }

    /// Notes that a node has mounted its files, or why it cannot; too late after the wait.
    pub fn mounted(&mut self, node: usize, wrong: Option<String>) {
        match wrong {
            _ if self.is_settled() => {}
            Some(wrong) => drop(self.lose(node, wrong)),
            None => self.unmounted[node] = false,
        }
    }

    /// Notes that a node is lost. Returns false if it was gone before: the first reason counts.
    pub fn lose(&mut self, node: usize, reason: String) -> bool {
        let gone = &mut self.nodes[node].gone;
        let is_first = gone.is_none();
        gone.get_or_insert(reason);
        is_first
    }

    /// Ends the wait if every node is ready or gone, or if the time is over; then the nodes that
    /// are not ready are gone. Returns whether the wait ends now.
    pub fn settle(&mut self, now_ns: u64) -> bool {
        let Some(until_ns) = self.until_ns else { return false };
        let is_missing = |at: &usize| {
            let node = &self.nodes[*at];
            node.gone.is_none() && (node.facts.is_none() || self.unmounted[*at])
        };
        let missing: Vec<usize> = (0..self.nodes.len()).filter(is_missing).collect();
        if !missing.is_empty() && now_ns < until_ns {
            return false;
        }
        let seconds = OPENING_NS / 1_000_000_000;
        for at in missing {
            let reason = format!("its agent was not ready for jobs within {seconds} s");
            self.lose(at, reason);
        }
        self.until_ns = None;
        true
    }
}

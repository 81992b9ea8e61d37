//! Detects silent nodes: those from which no message arrived for too long.

use garland_core::plan::NodeId;

/// The times of the last messages of the watched nodes, and how long they may be silent.
#[derive(Debug)]
pub(super) struct Liveness {
    /// The time of each node's last message; `None` if the node is not watched.
    heard: Vec<Option<u64>>,
    /// The number of watched nodes.
    watched: usize,
    silence_ns: u64,
    /// No node can be silent before this time. Messages do not change this time, so their cost does
    /// not depend on the number of nodes.
    due: u64,
}

impl Liveness {
    /// Creates an instance that watches no node. A node is silent after `silence_ns` without a
    /// message.
    pub(super) fn new(silence_ns: u64) -> Self {
        Self { heard: Vec::new(), watched: 0, silence_ns, due: u64::MAX }
    }

    /// Watches a node, from which a message has just arrived.
    pub(super) fn watch(&mut self, now: u64, id: NodeId) {
        if self.heard.len() <= id.index() {
            self.heard.resize(id.index() + 1, None);
        }
        self.watched += usize::from(self.heard[id.index()].replace(now).is_none());
        self.due = self.due.min(now.saturating_add(self.silence_ns));
    }

    /// Stops watching a node.
    pub(super) fn forget(&mut self, id: NodeId) {
        let heard = self.heard.get_mut(id.index());
        self.watched -= usize::from(heard.is_some_and(|heard| heard.take().is_some()));
    }

    /// Whether a node is watched.
    pub(super) fn watches(&self, id: NodeId) -> bool {
        self.heard.get(id.index()).is_some_and(Option::is_some)
    }

    /// Whether no node is watched.
    pub(super) fn is_idle(&self) -> bool {
        self.watched == 0
    }

    /// Notes that a message of a node has arrived.
    pub(super) fn hear(&mut self, now: u64, id: NodeId) {
        if let Some(Some(heard)) = self.heard.get_mut(id.index()) {
            *heard = now;
        }
    }

    /// Excludes the last `ns` nanoseconds from the silence of all nodes.
    pub(super) fn excuse(&mut self, ns: u64) {
        self.heard.iter_mut().flatten().for_each(|heard| *heard += ns);
        self.due = self.due.saturating_add(ns);
    }

    /// Returns the time at which to look for silent nodes; `None` if no node is watched.
    pub(super) fn due(&self) -> Option<u64> {
        (self.watched > 0).then_some(self.due)
    }

    /// Stops watching the nodes that are silent, and returns them with the nanoseconds of their
    /// silence.
    pub(super) fn take_silent(&mut self, now: u64) -> Vec<(NodeId, u64)> {
        if now < self.due {
            return Vec::new();
        }
        let silence = |heard: &u64| now.saturating_sub(*heard);
        let nodes = (0..).map(NodeId).zip(&self.heard);
        let silent = nodes.filter_map(|(id, heard)| Some((id, heard.as_ref().map(silence)?)));
        let silent: Vec<_> = silent.filter(|(_, ns)| *ns >= self.silence_ns).collect();
        silent.iter().for_each(|(id, _)| self.forget(*id));
        let next = self.heard.iter().flatten().min();
        self.due = next.map_or(u64::MAX, |heard| heard.saturating_add(self.silence_ns));
        silent
    }
}

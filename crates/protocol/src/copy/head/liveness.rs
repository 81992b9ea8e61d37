//! Detects silent nodes: those from which no message arrived for too long.
//!
//! Silence is first a suspicion, which a message refutes, and only later counts as death. When most
//! nodes are silent at once, the fault is more likely at the head or in the network between, and
//! nobody is suspected.

use garland_core::plan::NodeId;

/// The watched nodes, and how long they may be silent.
#[derive(Debug)]
pub(super) struct Liveness {
    /// The record of each node; `None` if the node is not watched.
    nodes: Vec<Option<Watched>>,
    /// The number of watched nodes.
    watched: usize,
    suspect_after_ns: u64,
    dead_after_ns: u64,
    /// No node changes its state by silence before this time. Messages do not change this time, so
    /// their cost does not depend on the number of nodes.
    due: u64,
}

/// The record of a watched node.
#[derive(Clone, Copy, Debug)]
struct Watched {
    /// The time of its last message.
    heard: u64,
    /// The silence in nanoseconds after which it is suspected. Longer for a node that was suspected
    /// in error.
    limit_ns: u64,
    suspected: bool,
}

/// Nodes whose silence has passed a limit.
#[derive(Debug, Default)]
pub(super) struct Silent {
    /// The nodes that are suspected from now on.
    pub(super) suspects: Vec<NodeId>,
    /// The nodes that are dead, each with the nanoseconds of its silence.
    pub(super) dead: Vec<(NodeId, u64)>,
}

impl Liveness {
    /// Creates an instance that watches no node. A node is suspected after `suspect_after_ns`
    /// without a message, and dead after `dead_after_ns`.
    pub(super) fn new(suspect_after_ns: u64, dead_after_ns: u64) -> Self {
        let suspect_after_ns = suspect_after_ns.min(dead_after_ns);
        Self { nodes: Vec::new(), watched: 0, suspect_after_ns, dead_after_ns, due: u64::MAX }
    }

    /// Watches a node, from which a message has just arrived.
    pub(super) fn watch(&mut self, now: u64, id: NodeId) {
        if self.nodes.len() <= id.index() {
            self.nodes.resize(id.index() + 1, None);
        }
        let limit_ns = self.suspect_after_ns;
        let watched = Watched { heard: now, limit_ns, suspected: false };
        self.watched += usize::from(self.nodes[id.index()].replace(watched).is_none());
        self.due = self.due.min(now.saturating_add(limit_ns));
    }

    /// Stops watching a node.
    pub(super) fn forget(&mut self, id: NodeId) {
        let node = self.nodes.get_mut(id.index());
        self.watched -= usize::from(node.is_some_and(|node| node.take().is_some()));
    }

    /// Whether a node is watched.
    pub(super) fn watches(&self, id: NodeId) -> bool {
        self.nodes.get(id.index()).is_some_and(Option::is_some)
    }

    /// Whether a node is suspected.
    pub(super) fn suspects(&self, id: NodeId) -> bool {
        matches!(self.nodes.get(id.index()), Some(Some(Watched { suspected: true, .. })))
    }

    /// Whether a node is nearly silent for so long that it would be suspected.
    pub(super) fn is_quiet(&self, now: u64, id: NodeId) -> bool {
        let node = self.nodes.get(id.index()).and_then(Option::as_ref);
        node.is_some_and(|node| now.saturating_sub(node.heard) >= self.quiet_ns())
    }

    fn quiet_ns(&self) -> u64 {
        self.suspect_after_ns / 4 * 3
    }

    /// Whether no node is watched.
    pub(super) fn is_idle(&self) -> bool {
        self.watched == 0
    }

    /// Notes that a message of a node has arrived. Returns whether the node was suspected, which
    /// this refutes: it may then be silent for twice as long as it was.
    pub(super) fn hear(&mut self, now: u64, id: NodeId) -> bool {
        let Some(Some(node)) = self.nodes.get_mut(id.index()) else { return false };
        let silence = now.saturating_sub(node.heard);
        node.heard = now;
        if node.suspected {
            node.limit_ns = silence.saturating_mul(2).clamp(node.limit_ns, self.dead_after_ns);
        }
        std::mem::replace(&mut node.suspected, false)
    }

    /// Excludes the last `ns` nanoseconds from the silence of all nodes.
    pub(super) fn excuse(&mut self, ns: u64) {
        self.nodes.iter_mut().flatten().for_each(|node| node.heard += ns);
        self.due = self.due.saturating_add(ns);
    }

    /// Returns the time at which to look for silent nodes; `None` if no node is watched.
    pub(super) fn due(&self) -> Option<u64> {
        (self.watched > 0).then_some(self.due)
    }

    /// Suspects nodes, and stops watching those that are dead. Returns both.
    pub(super) fn take_silent(&mut self, now: u64) -> Silent {
        let mut silent = Silent::default();
        if now < self.due {
            return silent;
        }
        let silence = |node: &Watched| now.saturating_sub(node.heard);
        let quiet_ns = self.quiet_ns();
        let quiet = self.nodes.iter().flatten().filter(|node| silence(node) >= quiet_ns).count();
        let most = quiet * 2 > self.watched;
        for (id, entry) in (0..).map(NodeId).zip(&mut self.nodes) {
            let Some(node) = entry else { continue };
            let ns = silence(node);
            if ns >= self.dead_after_ns {
                silent.dead.push((id, ns));
                *entry = None;
            } else if ns >= node.limit_ns && !node.suspected && !most {
                silent.suspects.push(id);
                node.suspected = true;
            }
        }
        self.watched -= silent.dead.len();
        // A node that would be suspected if fewer were silent is looked at again soon.
        let soon = now.saturating_add(self.suspect_after_ns / 8).max(now + 1);
        let limits = self.nodes.iter().flatten().map(|node| {
            let dead = node.heard.saturating_add(self.dead_after_ns);
            let suspected = node.heard.saturating_add(node.limit_ns).max(soon);
            if node.suspected { dead } else { suspected.min(dead) }
        });
        self.due = limits.min().unwrap_or(u64::MAX);
        silent
    }
}

/// Returns the reason of the death of a node that was silent for `ns` nanoseconds.
pub(super) fn silence(ns: u64) -> String {
    match ns / 1_000_000_000 {
        0 => format!("no message from its agent for {} ms", ns / 1_000_000),
        seconds => format!("no message from its agent for {seconds} s"),
    }
}

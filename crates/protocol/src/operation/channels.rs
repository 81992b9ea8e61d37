//! Which control channels are opened again, and when an agent is lost: a channel that breaks or is
//! silent is dialled again; its agent is lost only if that is in vain.

use std::collections::{BTreeMap, BTreeSet};

use garland_core::plan::NodeId;

/// The maximum number of channels that are dialled again at the same time.
const DIALLED_MAX: usize = 64;

/// The interval in nanoseconds at which silent channels are looked for.
const LOOK_NS: u64 = 100_000_000;

/// What is known of an open channel.
#[derive(Clone, Copy, Debug)]
pub struct ChannelState {
    /// The node of its agent.
    pub node: NodeId,
    /// Whether it broke, which may not have been reported.
    pub is_broken: bool,
    /// How long nothing has arrived, in nanoseconds.
    pub silent_ns: u64,
}

/// The end of an attempt to open a channel again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DialEnd {
    /// The agent has accepted another connection of the session.
    Accepted,
    /// No agent answered in time.
    NoAnswer,
    /// The agent has ended the session.
    Over,
}

/// What becomes of a channel.
#[derive(Debug, PartialEq, Eq)]
pub enum ChannelFate {
    /// It stays as it is.
    Stays,
    /// It continues over the connection that the agent has accepted.
    Continues,
    /// Its agent is lost, and why.
    Lost(String),
}

/// The channels of an operation that are broken or dialled again.
#[derive(Debug)]
pub struct Channels {
    /// How long a channel may be silent before it is dialled again, in nanoseconds.
    silence_max_ns: u64,
    /// Why an agent is lost whose channel ended without a report.
    gone: String,
    /// The channels that broke and may continue, each with the reason.
    broken: BTreeMap<NodeId, String>,
    /// The channels that are dialled again.
    dialled: BTreeSet<NodeId>,
    /// The time at which silent channels were last looked for, in monotonic nanoseconds.
    looked_ns: u64,
}

impl Channels {
    /// Creates the state of open channels, which may be silent for `silence_max_ns`. `gone` says
    /// why an agent is lost if its channel ended without a report.
    #[must_use]
    pub fn new(silence_max_ns: u64, gone: String) -> Self {
        Self {
            silence_max_ns,
            gone,
            broken: BTreeMap::new(),
            dialled: BTreeSet::new(),
            looked_ns: 0,
        }
    }

    /// Notes that a channel broke, and why. Returns whether to dial it again now: one that finds no
    /// room is dialled later.
    #[must_use]
    pub fn broke(&mut self, node: NodeId, reason: String) -> bool {
        self.broken.entry(node).or_insert(reason);
        !self.dialled.contains(&node) && self.room() > 0
    }

    /// Returns the channels to dial again, if it is time to look for them: those that are silent or
    /// broke. Those that are only silent come last, since their nodes may be dead.
    pub fn due(
        &mut self,
        now_ns: u64,
        channels: impl FnOnce() -> Vec<ChannelState>,
    ) -> Vec<ChannelState> {
        if now_ns.saturating_sub(self.looked_ns) < LOOK_NS {
            return Vec::new();
        }
        self.looked_ns = now_ns;
        let mut due = channels();
        due.retain(|it| {
            let is_due = it.is_broken || it.silent_ns > self.silence_max_ns;
            is_due && !self.dialled.contains(&it.node)
        });
        due.sort_by_key(|it| !self.broken.contains_key(&it.node));
        due.truncate(self.room());
        due
    }

    /// Notes that a channel is dialled again.
    pub fn began(&mut self, node: NodeId) {
        self.dialled.insert(node);
    }

    /// Handles a channel that cannot be dialled again now.
    #[must_use]
    pub fn not_begun(&mut self, node: NodeId, is_broken: bool) -> ChannelFate {
        match (self.broken.remove(&node), is_broken) {
            (Some(reason), _) => ChannelFate::Lost(reason),
            (None, true) => ChannelFate::Lost(self.gone.clone()),
            (None, false) => ChannelFate::Stays,
        }
    }

    /// Handles the end of an attempt to open a channel again.
    #[must_use]
    pub fn dialled(&mut self, node: NodeId, end: DialEnd) -> ChannelFate {
        self.dialled.remove(&node);
        match (end, self.broken.remove(&node)) {
            (DialEnd::Accepted, _) => ChannelFate::Continues,
            // It is only silent: its agent is judged by that elsewhere.
            (DialEnd::NoAnswer, None) => ChannelFate::Stays,
            (DialEnd::NoAnswer, Some(reason)) => ChannelFate::Lost(reason),
            (DialEnd::Over, _) => ChannelFate::Lost(self.gone.clone()),
        }
    }

    /// Forgets a channel whose agent is lost.
    pub fn forget(&mut self, node: NodeId) {
        self.dialled.remove(&node);
        self.broken.remove(&node);
    }

    /// Returns how many more channels may be dialled.
    fn room(&self) -> usize {
        DIALLED_MAX.saturating_sub(self.dialled.len())
    }
}

#[cfg(test)]
mod tests;

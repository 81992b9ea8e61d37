//! The head's record of a node.

use super::disk::Disk;
use super::node_state::NodeState;
use super::watch::Slow;
use crate::report::Report;

/// The head's record of a node.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) state: NodeState,
    pub(super) last_seen: u64,
    pub(super) report: Report,
    /// When the last report arrived.
    pub(super) reported: u64,
    pub(super) disk: Disk,
    pub(super) detached: bool,
    /// Whether the node hangs in a call on its disk.
    pub(super) hangs: bool,
    /// The node's rate, if its link or machine slowed the others down.
    pub(super) slow: Option<Slow>,
    /// Whether the node has left all lanes.
    pub(super) left: bool,
    /// The digest of what the node holds, once it is complete.
    pub(super) root: Option<[u8; 32]>,
    /// The digest of what the node must hold: set once known, cleared with the order to commit.
    pub(super) wanted: Option<[u8; 32]>,
}

impl Node {
    /// Creates the record of a node that joins the copy now.
    pub(super) fn new(now: u64) -> Self {
        Self {
            state: NodeState::Joining,
            last_seen: now,
            report: Report::default(),
            reported: now,
            disk: Disk::new(now),
            detached: false,
            hangs: false,
            slow: None,
            left: false,
            root: None,
            wanted: None,
        }
    }
}

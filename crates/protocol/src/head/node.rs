//! What the head knows of a node.

use super::disk::Disk;
use super::node_state::NodeState;
use super::watch::Slow;
use crate::report::Report;

/// What the head knows of a node.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) state: NodeState,
    pub(super) last_seen: u64,
    pub(super) report: Report,
    /// When its last report came.
    pub(super) reported: u64,
    pub(super) disk: Disk,
    pub(super) detached: bool,
    /// Whether it hangs in a call on its disk.
    pub(super) hangs: bool,
    /// How slow it is, if its link or machine held the others up.
    pub(super) slow: Option<Slow>,
    /// Whether it has left all lanes.
    pub(super) left: bool,
    /// The digest of what it holds, once it is complete.
    pub(super) root: Option<[u8; 32]>,
    /// The digest of what it must hold, once that is known and until it is ordered to commit.
    pub(super) wanted: Option<[u8; 32]>,
}

impl Node {
    /// A node that joins the copy now.
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

//! What the head knows of a node.

use super::NodeState;
use super::disks::Disk;
use super::hops::Slow;
use crate::report::Report;

#[derive(Debug)]
pub(super) struct Node {
    pub(super) state: NodeState,
    pub(super) last_seen: u64,
    pub(super) report: Report,
    /// When it reported last.
    pub(super) reported: u64,
    pub(super) disk: Disk,
    pub(super) detached: bool,
    /// It hangs in a call on its disk.
    pub(super) hangs: bool,
    /// Its link or machine held the others up.
    pub(super) slow: Option<Slow>,
    /// It is off every chain, and no word from it is waited for.
    pub(super) left: bool,
    /// The digest of what it holds, once that is all of it.
    pub(super) root: Option<[u8; 32]>,
    /// The digest of what it must hold, once the other end knows.
    pub(super) wanted: Option<[u8; 32]>,
}

impl Node {
    /// A node that is told of the copy now.
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

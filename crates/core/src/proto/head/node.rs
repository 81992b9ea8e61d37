//! What the head knows of a node.

use super::NodeState;
use super::disks::Disk;
use crate::proto::report::Report;

#[derive(Debug)]
pub(super) struct Node {
    pub(super) state: NodeState,
    pub(super) last_seen: u64,
    pub(super) report: Report,
    pub(super) disk: Disk,
    pub(super) detached: bool,
    /// It is off every chain, and no word from it is waited for.
    pub(super) left: bool,
    /// The digest of what it holds, once that is all of it.
    pub(super) root: Option<[u8; 32]>,
    /// The digest of what it must hold, once the other end knows.
    pub(super) wanted: Option<[u8; 32]>,
}

//! What the head knows of a node.

use super::NodeState;
use crate::proto::message::Report;

#[derive(Debug)]
pub(super) struct Node {
    pub(super) state: NodeState,
    pub(super) last_seen: u64,
    pub(super) report: Report,
    /// The report and time that the next judgement of its disk is measured from.
    pub(super) mark: (u64, u64),
    pub(super) detached: bool,
    /// Its disk held the others up for more than half of the last window.
    pub(super) held_up: bool,
    /// It is off every chain, and no word from it is waited for.
    pub(super) left: bool,
    pub(super) root: Option<[u8; 32]>,
}

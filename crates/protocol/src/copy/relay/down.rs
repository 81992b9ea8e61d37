//! The link to a downstream, and its progress.

use std::collections::VecDeque;

use garland_core::index_set::IndexSet;
use garland_core::plan::NodeId;

#[derive(Debug)]
pub(super) struct Down {
    /// The node at the other end.
    pub(super) node: NodeId,
    pub(super) epoch: u32,
    /// Whether the link is open.
    pub(super) is_open: bool,
    /// Whether the downstream has sent `Resume`.
    pub(super) resumed: bool,
    /// The ordinal of the next block that the downstream expects.
    pub(super) next: u64,
    pub(super) again: VecDeque<u64>,
    /// The number of frames in which the downstream has reported blocks before its `Resume`.
    pub(super) reports: u64,
    /// The blocks that the downstream has, if it has reported any.
    pub(super) has: Option<IndexSet>,
    pub(super) ended: bool,
}

impl Down {
    pub(super) fn new(node: NodeId, epoch: u32) -> Self {
        Self {
            node,
            epoch,
            is_open: false,
            resumed: false,
            next: 0,
            again: VecDeque::new(),
            reports: 0,
            has: None,
            ended: false,
        }
    }

    /// Notes that block `index` with ordinal `place` was sent on this link.
    pub(super) fn sent(&mut self, index: u64, place: u64) {
        let again = self.again.iter().position(|&again| again == index);
        if let Some(at) = again {
            self.again.remove(at);
            // A frame must follow every block, or the receiver cannot tell a truncated block from a
            // changed one.
            self.ended = false;
        }
        if place == self.next || place > self.next && again.is_none() {
            self.next = place + 1;
        }
    }

    /// Whether the link is open, and its other end has not sent `Resume` yet.
    pub(super) fn is_awaited(&self) -> bool {
        self.is_open && !self.resumed
    }

    /// Whether the downstream has reported that it has block `index`.
    pub(super) fn has(&self, index: u64) -> bool {
        self.has.as_ref().is_some_and(|has| has.contains(index))
    }
}

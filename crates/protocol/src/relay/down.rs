//! A link to one downstream, and how far it has come.

use std::collections::VecDeque;

use garland_core::plan::BlockSet;

#[derive(Debug)]
pub(super) struct Down {
    pub(super) epoch: u32,
    /// The downstream has said where it stands.
    pub(super) resumed: bool,
    /// The place in the lane of the next block that it expects.
    pub(super) next: u64,
    pub(super) again: VecDeque<u64>,
    /// What it has told that it has, if it has told of any.
    pub(super) has: Option<BlockSet>,
    pub(super) ended: bool,
}

impl Down {
    pub(super) fn new(epoch: u32) -> Self {
        Self { epoch, resumed: false, next: 0, again: VecDeque::new(), has: None, ended: false }
    }

    /// Takes note that the block `index`, at `place` in the lane, has gone out on this link.
    pub(super) fn sent(&mut self, index: u64, place: u64) {
        let again = self.again.iter().position(|&again| again == index);
        if let Some(at) = again {
            self.again.remove(at);
            // A frame must follow every block, or its receiver couldn't tell cut off from changed.
            self.ended = false;
        }
        if place == self.next || place > self.next && again.is_none() {
            self.next = place + 1;
        }
    }
}

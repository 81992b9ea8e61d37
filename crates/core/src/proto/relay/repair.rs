//! Asking upstream again for blocks that this node, or its downstream, lacks.

use super::{Relay, RelayOrder};
use crate::proto::frame::Kind;
use crate::proto::sink::Sink;

/// How many blocks one node may have asked for again and not yet received.
const ASKED_MAX: usize = 16;

/// How many blocks a node that was let drop what its disk can't take has under way to it or with its
/// writer while it fetches them; the writer has room for more.
const CATCH_UP_MAX: usize = 4;

impl Relay {
    /// Asks upstream for what the downstream wants and this node can't give, and for what this
    /// node itself lacks: a changed block at once, what its disk couldn't take when the stream is
    /// over.
    pub(super) fn ask_for_missing(&mut self, sink: &Sink) -> Option<RelayOrder> {
        let open = matches!(self.up, Some((_, true)));
        if self.is_source || !open || self.asked.len() >= ASKED_MAX || !self.doubts.is_empty() {
            return None;
        }
        let wanted = self.downs.iter().flat_map(|down| &down.again).copied();
        let wanted = wanted.filter(|&index| {
            let place = self.blocks.ordinal(index);
            let passed = place.is_some_and(|place| place < self.cursor);
            passed && !sink.can_serve(index) && !sink.will_serve(index)
        });
        // A node whose disk is behind asks for what it had to drop when the stream is over, and for
        // no more than its disk takes: it would only have to drop it again.
        let behind = self.flying + self.asked.len() >= CATCH_UP_MAX;
        let now = !self.detached || self.up_ended && !behind;
        let lacking = sink.lacking().filter(|&index| now && sink.wants(index));
        let own = lacking.filter(|index| {
            let passed = self.blocks.ordinal(*index).is_some_and(|place| place < self.cursor);
            let suspect = self.unsettled.iter().any(|block| block.index == *index);
            passed && !suspect
        });
        let index = wanted.chain(own).find(|index| !self.asked.contains(index))?;
        self.asked.insert(index);
        Some(RelayOrder::AskUp(Kind::Again, index))
    }
}

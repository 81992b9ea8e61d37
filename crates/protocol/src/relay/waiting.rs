//! Finds the peer that an idle lane waits for.

use super::Relay;
use crate::sink::Sink;

impl Relay {
    /// Whether the upstream owes this node a block: the lane is not finished, or a block was
    /// requested again.
    #[must_use]
    pub fn is_owed(&self) -> bool {
        let open = matches!(self.up, Some((_, true)));
        open && (!self.up_ended || !self.asked.is_empty())
    }

    /// Whether the lane waits for this node's writer: for a block that a downstream is to be fed
    /// from here, or for all remaining blocks to be written.
    #[must_use]
    pub fn is_behind_writer(&self, sink: &Sink) -> bool {
        if self.is_source {
            return false;
        }
        let lacked_below = self.downs.iter().any(|down| {
            let next = (down.next < self.cursor).then(|| self.blocks.index(down.next));
            down.again.iter().copied().chain(next).any(|index| sink.will_surely_serve(index))
        });
        let all_came = self.up_ended && self.asked.is_empty();
        lacked_below || !self.doubts.is_empty() || all_came && self.flying > 0
    }
}

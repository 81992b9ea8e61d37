//! Bounds how many blocks a node may be sent a second time in the lane's order. Whoever is farthest
//! behind is served first: a node that opens its link again and again, and asks for all blocks each
//! time, would hold up the others for ever.

use super::down::Down;

/// How many bytes a node may ask for a second time, besides a share of what it was sent: one in so
/// many. An honest node lacks only what was in flight when its link broke: a few buffers of sockets.
const REPEATED_BYTES_MAX: u64 = 256 << 20;
const REPEATED_SHARE: u64 = 4;

/// What a node was sent over its earlier links.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Repeats {
    /// The ordinal after the last block in the lane's order.
    sent: u64,
    /// The number of blocks that were sent a second time.
    repeated: u64,
}

impl Repeats {
    /// Adds what was sent over a link that ends.
    pub(super) fn add(&mut self, link: &Down) {
        self.repeated += link.next.min(self.sent).saturating_sub(link.began);
        self.sent = self.sent.max(link.next);
    }

    /// Whether the node may be sent the blocks from the ordinal `place` on, which have `block_size`
    /// bytes each.
    pub(super) fn may_begin_at(&self, place: u64, block_size: u32) -> bool {
        let repeated = self.repeated + self.sent.saturating_sub(place);
        let spare = REPEATED_BYTES_MAX / u64::from(block_size.max(1));
        repeated <= spare + self.sent / REPEATED_SHARE
    }
}

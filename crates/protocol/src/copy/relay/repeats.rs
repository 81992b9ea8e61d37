//! Bounds how much a node may be sent a second time in the lane's order. Whoever is farthest behind
//! is served first: a node that opens its link again and again, and asks for all blocks each time,
//! would hold up the others for ever.

use super::down::Down;

/// How many bytes a node may be sent for a second time, besides a share of the lane up to where it
/// was: one in so many. An honest node lacks only what was in flight when its link broke: a few
/// buffers of sockets. What it has, and what has no bytes of its own on the wire, costs nothing.
const REPEATED_BYTES_MAX: u64 = 256 << 20;
const REPEATED_SHARE: u64 = 4;

/// What a node was sent over its earlier links.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Repeats {
    /// The ordinal after the last block in the lane's order.
    sent: u64,
    /// The bytes on the wire that were sent a second time.
    repeated_bytes: u64,
    /// The bytes on the wire of blocks that the node has requested one by one.
    repaired_bytes: u64,
}

impl Repeats {
    /// Notes how far the node got on a link that ends.
    pub(super) fn end(&mut self, link: &Down) {
        self.sent = self.sent.max(link.next);
    }

    /// Adds a block with the ordinal `place` that was sent in the lane's order.
    pub(super) fn add(&mut self, place: u64, bytes: u64) {
        if place < self.sent {
            self.repeated_bytes += bytes;
        }
    }

    /// Adds a block that the node has requested.
    pub(super) fn add_repair(&mut self, bytes: u64) {
        self.repaired_bytes += bytes;
    }

    /// Whether the node was sent more a second time than it can have lost, or has requested more
    /// than each of the lane's `blocks` once, as a node whose feeder changes all of them does, and
    /// one that drops blocks while its disk is slow. Blocks have `block_size` bytes each.
    pub(super) fn are_too_many(&self, block_size: u32, blocks: u64) -> bool {
        let bytes = |blocks: u64| blocks.saturating_mul(u64::from(block_size));
        let repeated_max = REPEATED_BYTES_MAX + bytes(self.sent) / REPEATED_SHARE;
        let repaired_max = REPEATED_BYTES_MAX.saturating_add(bytes(blocks));
        self.repeated_bytes > repeated_max || self.repaired_bytes > repaired_max
    }
}

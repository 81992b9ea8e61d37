//! Reports of a copy's threads on a node.

use garland_protocol::copy::LinkSide;

/// A report of a thread of a copy to the thread that talks to the head.
#[derive(Clone, Debug)]
pub enum Notice {
    /// The first block was received.
    First,
    /// A link broke or could not be opened: lane, epoch, side, reason.
    LinkLost(u16, u32, LinkSide, String),
    /// A corrupt block was received; its index.
    Bad(u64),
    /// A block was written; its index. Reported only if the head requested it.
    Written(u64),
    /// A corrupt frame was received: lane, epoch, side.
    BadFrame(u16, u32, LinkSide),
    /// All blocks are present; the root digest.
    Complete([u8; 32]),
    /// All blocks of the source were read; the root digest.
    Read([u8; 32]),
    /// The nodes at the other ends of links need a block of a source that has changed after others
    /// got it: lane, epochs, reason.
    Outdated(u16, Vec<u32>, String),
    /// The node cannot continue; the reason.
    Failed(String),
}

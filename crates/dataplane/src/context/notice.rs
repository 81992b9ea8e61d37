//! What a node's threads tell whoever speaks for the node.

use garland_protocol::LinkSide;

/// What a node's threads tell whoever speaks for the node.
#[derive(Clone, Debug)]
pub enum Notice {
    /// The first block has come in.
    First,
    /// A link broke or couldn't be opened: lane, epoch, side, reason.
    LinkLost(u16, u32, LinkSide, String),
    /// A block came in changed.
    Bad(u64),
    /// A block is written, and that is of interest.
    Written(u64),
    /// A frame came in changed: lane, epoch, side.
    BadFrame(u16, u32, LinkSide),
    /// Every block is held and this is their digest.
    Complete([u8; 32]),
    /// The source's blocks have all been read and have this digest.
    Read([u8; 32]),
    /// The node can't go on.
    Failed(String),
}

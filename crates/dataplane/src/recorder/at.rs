//! The lane, peer and block that a span of the trace belongs to.

use garland_core::plan::NodeId;
use garland_core::trace::{Exchange, NO_BLOCK, NONE, Span, Stage};

/// Returns the index of a node in the plan as records store it: 16 bits, `NONE` for an index that
/// does not fit.
pub fn peer_index(id: NodeId) -> u16 {
    u16::try_from(id.0).unwrap_or(NONE)
}

/// The lane, peer and block of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// The number of the lane, or `NONE`.
    pub lane: u16,
    /// The index in the plan of the node at the other end of the link, or `NONE`.
    pub peer: u16,
    /// The index of the block in the copy, or `NO_BLOCK`. For a control exchange, its number.
    pub block: u32,
}

impl At {
    /// The node as a whole: no lane, no peer, no block.
    pub const HERE: Self = Self { lane: NONE, peer: NONE, block: NO_BLOCK };

    /// Returns an instance with a lane and the index of a block, without a peer.
    pub fn block(lane: u16, index: u64) -> Self {
        Self { lane, ..Self::HERE }.with_block(index)
    }

    /// Returns an instance with the number of a control exchange, without lane and peer.
    pub fn exchange(exchange: Exchange) -> Self {
        Self { block: exchange.number(), ..Self::HERE }
    }

    /// Returns `self` with the peer replaced by `peer`.
    pub fn with(self, peer: u16) -> Self {
        Self { peer, ..self }
    }

    /// Returns `self` with the block replaced by block `index`.
    pub fn with_block(self, index: u64) -> Self {
        Self { block: u32::try_from(index).unwrap_or(NO_BLOCK), ..self }
    }

    /// Returns a span of `stage` from `begin_ns` to `end_ns`, all of which counts as busy.
    pub fn span(self, stage: Stage, begin_ns: u64, end_ns: u64) -> Span {
        let end_ns = end_ns.max(begin_ns);
        Span {
            stage,
            lane: self.lane,
            peer: self.peer,
            thread: 0,
            begin_ns,
            end_ns,
            busy_ns: end_ns - begin_ns,
            bytes: 0,
            block: self.block,
            count: 1,
            operation: 0,
        }
    }
}

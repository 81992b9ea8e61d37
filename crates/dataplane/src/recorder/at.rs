//! The lane, peer and block that a span belongs to.

use garland_core::plan::NodeId;
use garland_core::trace::{Exchange, NO_BLOCK, NONE, Span, Stage};

/// Returns the index of a node in the plan, in the width that records have.
pub fn peer_index(id: NodeId) -> u16 {
    u16::try_from(id.0).unwrap_or(NONE)
}

/// The lane, peer and block of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// The number of the lane.
    pub lane: u16,
    /// The other node's index in the plan.
    pub peer: u16,
    /// The index of the block in the copy.
    pub block: u32,
}

impl At {
    /// The node as a whole: no lane, no peer, no block.
    pub const HERE: Self = Self { lane: NONE, peer: NONE, block: NO_BLOCK };

    /// Returns a block of a lane, without a peer.
    pub fn block(lane: u16, index: u64) -> Self {
        Self { lane, ..Self::HERE }.of(index)
    }

    /// Returns the `At` of an order and its answer.
    pub fn exchange(exchange: Exchange) -> Self {
        Self { block: exchange.number(), ..Self::HERE }
    }

    /// Returns this value with another peer.
    pub fn with(self, peer: u16) -> Self {
        Self { peer, ..self }
    }

    /// Returns this value with another block.
    pub fn of(self, index: u64) -> Self {
        Self { block: u32::try_from(index).unwrap_or(NO_BLOCK), ..self }
    }

    /// Returns a span from `begin_ns` to `end_ns` that is busy all the time.
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

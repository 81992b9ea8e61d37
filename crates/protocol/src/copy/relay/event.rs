//! Events and orders of the relay machine. Links are identified by their sides and epochs.

use garland_core::plan::NodeId;

use crate::copy::frame::Kind;
use crate::copy::route::{LinkSide, Route};
use crate::copy::sink::{Landing, SinkError};

/// How long the other end of a new link downstream may take to send `Resume`, in nanoseconds: no
/// other downstream gets blocks in the lane's order before. Its thread may still be sending a block
/// of the link before this one. The head forgives no link that is lost as late as this after an
/// attempt to open it.
pub const RESUME_WITHIN_NS: u64 = 5_000_000_000;

/// An event for the relay machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelayEvent {
    /// The head changed this lane's hops.
    Route(Route),
    /// The link of this side and epoch is open.
    Opened(LinkSide, u32),
    /// A link broke, or could not be opened: the link's side and epoch, and the reason.
    Lost(LinkSide, u32, String),
    /// The other end of the downstream link with this epoch had [`RESUME_WITHIN_NS`] to send
    /// `Resume`.
    Overdue(u32),
    /// A downstream sent a request: the link's epoch, and `Resume` with an ordinal or `Again` with
    /// a block's index.
    Requested(u32, Kind, u64),
    /// A downstream reported blocks that it already has: the link's epoch, the index of the first
    /// of 256 blocks, and a bit for each.
    Have(u32, u64, [u8; 32]),
    /// The header of the block with this index arrived from upstream. The digest is the one that
    /// the source signed.
    Block(u64, [u8; 32]),
    /// The upstream declares void the block with this index, which it has just sent.
    Void(u64),
    /// The upstream has sent the lane's last block: the source has blocks only below this index.
    End(u64),
    /// The order `Receive` is done.
    Received {
        /// Whether the writer has the block.
        stored: bool,
    },
    /// The order `Receive` ended early because the upstream link broke; the forwarded part was
    /// padded.
    CutOff,
    /// The order `Feed` is done: the block was sent, with this many bytes on the wire.
    Fed(u64),
    /// The block of a `Feed` is not available yet; the relay may order it again later.
    NotYet,
    /// The block of a `Feed` is no longer kept, since all remaining nodes have it.
    Gone,
    /// The block of a `Feed` does not exist: the source has this number of blocks.
    Ended(u64),
    /// The block of a `Feed` cannot be read.
    Unreadable,
    /// The result of writing the block with this index. The sink knows it already
    /// ([`Sink::landed`](crate::copy::Sink::landed)): other lanes may depend on it, while this one
    /// waits until a neighbour reads.
    Landed(u64, Landing),
    /// The head ordered this node to drop blocks that its disk is too slow for.
    Detached,
}

/// Whether a received block goes to the node's writer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Store {
    /// No: the node does not need the block.
    #[default]
    No,
    /// Only if the writer has room: this node must not slow the others down.
    IfRoom,
    /// Yes: if the writer has no room, wait for it.
    Yes,
}

/// An order of the relay machine to its driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelayOrder {
    /// Connect to a neighbour of the route, for this epoch.
    Open(LinkSide, NodeId, u32),
    /// Close the link of this side and epoch.
    Close(LinkSide, u32),
    /// Send a frame of this kind with this index upstream.
    SendUp(Kind, u64),
    /// Report to the upstream which blocks are present: the index of the first of 256, and a bit
    /// for each.
    SendHave(u64, [u8; 32]),
    /// Send a frame without a block to a downstream: the link's epoch, the kind, and the index.
    SendDown(u32, Kind, u64),
    /// Receive the block whose header has arrived; answer with `Received` or `CutOff`.
    Receive {
        /// The index of the block.
        index: u64,
        /// Whether the block goes to the writer.
        store: Store,
        /// The epochs of the links on which the block is forwarded while it arrives.
        forward: Vec<u32>,
    },
    /// Read the block from the sink, seal it under this incarnation, and send it on these links;
    /// answer with `Fed`, `NotYet`, `Gone`, `Ended` or `Unreadable`.
    Feed {
        /// The index of the block.
        index: u64,
        /// The incarnation of this node's key to seal the block with.
        incarnation: u64,
        /// Whether a downstream requested the block (`Again`), out of the lane's order.
        again: bool,
        /// The epochs of the links to send the block on.
        to: Vec<u32>,
    },
    /// Report to the head that the block with this index arrived corrupt.
    ReportBad(u64),
    /// Report to the head that a link is lost: the link's side and epoch, and the reason.
    ReportLost(LinkSide, u32, String),
    /// Fail the copy on this node, for this reason.
    Fail(SinkError),
}

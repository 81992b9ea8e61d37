//! Events and orders of the relay machine. Links downstream are identified by their epochs.

use crate::frame::Kind;
use crate::route::{LinkSide, Route};
use crate::sink::{Landing, SinkError};
use garland_core::plan::NodeId;

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelayEvent {
    /// The head changed this lane's hops.
    Route(Route),
    /// The link to a downstream is open.
    DownOpened(u32),
    /// The link to a downstream broke, or couldn't be opened.
    DownLost(u32, String),
    /// A downstream sent a request: `Resume` with an ordinal, or `Again` with a block's index.
    Asked(u32, Kind, u64),
    /// A downstream has these blocks already: the first of 256, and a bit for each.
    Told(u32, u64, [u8; 32]),
    /// The upstream has opened its link.
    UpOpened(u32),
    /// The link from the upstream of this epoch broke.
    UpLost(u32, String),
    /// A block's header came from upstream; its digest is the one that the source signed.
    Block(u64, [u8; 32]),
    /// The upstream declares the block that it sent void.
    Void(u64),
    /// The upstream has sent the lane's last block: the source has no block of this index.
    End(u64),
    /// A `Receive` is done.
    Received {
        /// Whether the writer has the block.
        stored: bool,
    },
    /// A `Receive` ended early because the upstream broke; what had been forwarded was padded.
    CutOff,
    /// A `Feed` is done.
    Fed,
    /// The block of a `Feed` isn't there yet; it may be requested again.
    NotYet,
    /// The block of a `Feed` is no longer kept, since all remaining nodes have it.
    Gone,
    /// The block of a `Feed` doesn't exist: the source has this number of blocks.
    Ended(u64),
    /// The result of writing a block.
    Landed(u64, Landing),
    /// The head ordered this node to drop what its disk can't take.
    Detached,
}

/// Whether a received block goes to the node's writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// Not wanted.
    No,
    /// If the writer has room: this node must not hold the others up.
    IfRoom,
    /// Yes, after waiting for space if necessary.
    Yes,
}

/// An order to the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RelayOrder {
    /// Connect to a downstream that the route names, for this epoch.
    OpenDown(NodeId, u32),
    /// Close the link to a downstream.
    CloseDown(u32),
    /// Close the link from the upstream.
    CloseUp,
    /// Send a frame upstream.
    AskUp(Kind, u64),
    /// Report blocks that are here to the upstream: the first of 256, and a bit for each.
    TellUp(u64, [u8; 32]),
    /// Send a frame without a block to a downstream.
    SendDown(u32, Kind, u64),
    /// Receive the block whose header has come; answer with `Received` or `CutOff`.
    Receive {
        /// Its index.
        index: u64,
        /// Whether it goes to the writer.
        store: Store,
        /// The links that it is forwarded on while it arrives.
        forward: Vec<u32>,
    },
    /// Read the block from the sink, seal it under this incarnation and send it to these; answer
    /// with `Fed`.
    Feed {
        /// Its index.
        index: u64,
        /// The incarnation of this node's key.
        incarnation: u64,
        /// Whether a downstream requested it (`Again`), so that the lane doesn't advance.
        again: bool,
        /// The links.
        to: Vec<u32>,
    },
    /// Report to the head that a block arrived changed.
    ReportBad(u64),
    /// Report to the head that a link is lost.
    ReportLost(LinkSide, u32, String),
    /// The copy can't go on here.
    Fail(SinkError),
}

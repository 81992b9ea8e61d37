//! Events and orders of the head machine.

use crate::message::{FromAgent, ToAgent};
use crate::report::Report;
use crate::route::{NodeAddress, Route};
use garland_core::plan::NodeId;

/// An event.
#[derive(Clone, Debug)]
pub enum HeadEvent {
    /// A message from a node's agent.
    From(NodeId, FromAgent),
    /// The control connection to a node is lost, and why.
    Lost(NodeId, String),
    /// The whole source has been read, is unchanged, and has this digest.
    SourceRead([u8; 32]),
    /// The parts of all nodes are known: their digests, the first node's first.
    PartsKnown(Vec<[u8; 32]>),
    /// A block arrived changed at the head.
    Bad(u64),
    /// The source can't be read, or has changed.
    SourceFailed(String),
    /// One of the head's own links broke: lane, epoch and reason.
    LinkLost(u16, u32, String),
    /// A frame arrived changed over one of the head's own links: lane and epoch.
    BadFrame(u16, u32),
    /// An unplanned node of this name is to join; it gets the next index.
    Added(String),
    /// A node that was given up before it began is ready now, and listens at this address.
    Joined(NodeId, NodeAddress),
    /// The report of the head's own part.
    Own(Report),
    /// The user interrupted the copy.
    Interrupted,
    /// The head was suspended for this many nanoseconds.
    Slept(u64),
    /// The deadline has passed.
    Tick,
}

/// An order to the driver.
#[derive(Clone, Debug)]
pub enum HeadOrder {
    /// Send a message to a node.
    Send(NodeId, ToAgent),
    /// Set the head's own hops in a lane.
    Route(Route),
    /// The copy is over: all nodes have verdicts.
    Finished,
}

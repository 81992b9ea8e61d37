//! Events and orders of the head state machine.

use crate::message::{FromAgent, ToAgent};
use crate::report::Report;
use crate::route::{NodeAddress, Route};
use garland_core::plan::NodeId;

/// An event for the head state machine.
#[derive(Clone, Debug)]
pub enum HeadEvent {
    /// A message from a node's agent.
    From(NodeId, FromAgent),
    /// The control connection to a node was lost, and why.
    Lost(NodeId, String),
    /// The whole source was read without a change; this is its digest.
    SourceRead([u8; 32]),
    /// The digests of the parts of all nodes, in the order of the nodes.
    PartsKnown(Vec<[u8; 32]>),
    /// The block with this index was corrupt when it arrived at the head.
    Bad(u64),
    /// The source cannot be read, or has changed.
    SourceFailed(String),
    /// One of the head's own links broke: lane, epoch and reason.
    LinkLost(u16, u32, String),
    /// A corrupt frame arrived over one of the head's own links: lane and epoch.
    BadFrame(u16, u32),
    /// A node of this name that is not in the plan is to join; it gets the next index.
    Added(String),
    /// A node that failed before it began is ready now, and listens at this address.
    Joined(NodeId, NodeAddress),
    /// The report of the head's own reader or writer.
    Own(Report),
    /// The user interrupted the copy.
    Interrupted,
    /// The head was suspended for this many nanoseconds.
    Slept(u64),
    /// The deadline has passed.
    Tick,
}

/// An order of the head state machine to its driver.
#[derive(Clone, Debug)]
pub enum HeadOrder {
    /// Send a message to a node.
    Send(NodeId, ToAgent),
    /// Set the head's own hops in a lane.
    Route(Route),
    /// The copy is over: all nodes have verdicts.
    Finished,
}

//! What the head machine hears, and what it has done.

use crate::message::{FromAgent, ToAgent};
use crate::report::Report;
use crate::route::{NodeAddress, Route};
use garland_core::plan::NodeId;

/// What happened.
#[derive(Clone, Debug)]
pub enum HeadEvent {
    /// A message from a node's agent.
    From(NodeId, FromAgent),
    /// The control connection to a node is gone.
    Lost(NodeId, String),
    /// The whole source has been read, is unchanged, and has this digest.
    SourceRead([u8; 32]),
    /// The other end of every node's part is known whole: its digest, by node, the first node's first.
    PartsKnown(Vec<[u8; 32]>),
    /// A block came in changed at the head.
    Bad(u64),
    /// The source can't be read on, or has changed.
    SourceFailed(String),
    /// One of the head's own links broke.
    LinkLost(u16, u32, String),
    /// A frame came in changed over one of the head's own links.
    BadFrame(u16, u32),
    /// A node is to take part that the plan doesn't know, under this name: the next one by number. It
    /// hasn't come yet.
    Added(String),
    /// A node that couldn't be had can be now, and listens there.
    Joined(NodeId, NodeAddress),
    /// What the head itself says of its part.
    Own(Report),
    /// The user gave up.
    Interrupted,
    /// For so many nanoseconds the head itself couldn't listen: it was stopped, or its machine was.
    Slept(u64),
    /// Time went by.
    Tick,
}

/// What to do.
#[derive(Clone, Debug)]
pub enum HeadOrder {
    /// Send this to a node.
    Send(NodeId, ToAgent),
    /// The head's own hop of a lane has changed.
    Route(Route),
    /// The copy is over: every node has its verdict.
    Finished,
}

//! What the head machine hears, and what it has done.

use crate::plan::NodeId;
use crate::proto::message::{FromAgent, Route, ToAgent};

/// What happened.
#[derive(Clone, Debug)]
pub enum HeadEvent {
    /// A message from a node's agent.
    From(NodeId, FromAgent),
    /// The control connection to a node is gone.
    Lost(NodeId, String),
    /// The whole source has been read, is unchanged, and has this digest.
    SourceRead([u8; 32]),
    /// The source can't be read on, or has changed.
    SourceFailed(String),
    /// The head's own first link broke.
    LinkLost(u16, u32, String),
    /// A frame came in changed over the head's own first link.
    BadFrame(u16, u32),
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
    /// The head's own first hop of a lane has changed.
    Route(Route),
    /// The copy is over: every node has its verdict.
    Finished,
}

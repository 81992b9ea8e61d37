//! Events and orders of the head state machine.

use garland_core::plan::NodeId;

use crate::copy::report::Report;
use crate::copy::route::{NodeAddress, Route};
use crate::message::{FromAgent, ToAgent};

/// An event for the head state machine.
#[derive(Clone, Debug)]
pub enum HeadEvent {
    /// All agents that could be reached are connected: begin.
    Begin,
    /// A message from a node's agent.
    From(NodeId, FromAgent),
    /// A node's agent sent a message that is not about the copy.
    Heard(NodeId),
    /// A node's agent cannot take part, and why: it could not be reached, or has no free memory.
    Unavailable(NodeId, String),
    /// A node that is unavailable is still being reached: the copy is not over before the node has
    /// joined, or `Unavailable` says why it cannot.
    Awaited(NodeId),
    /// The control connection to a node was lost, and why.
    Lost(NodeId, String),
    /// The head has sent the last block.
    Sent,
    /// The whole source was read without a change; this is its digest.
    SourceRead([u8; 32]),
    /// The digests that the nodes' stripes must have, in the order of the nodes, are known.
    PartsKnown(Vec<[u8; 32]>),
    /// The first block has arrived at the head.
    FirstReceived,
    /// The whole file has arrived at the head.
    Received {
        /// The digests of the parts that arrived, in the order of the nodes.
        roots: Vec<[u8; 32]>,
        /// The digests that the parts must have, in the same order; empty if unknown.
        manifest: Vec<[u8; 32]>,
    },
    /// The head's own file got its final name, or could not get it, and why.
    Stored(Result<(), String>),
    /// The block with this index was corrupt when it arrived at the head.
    Bad(u64),
    /// The source cannot be read, or has changed.
    SourceFailed(String),
    /// The nodes at the other ends of the head's own links need a block of a source that has
    /// changed after others got it: lane, epochs and reason.
    Outdated(u16, Vec<u32>, String),
    /// One of the head's own links broke: lane, epoch and reason.
    LinkLost(u16, u32, String),
    /// A corrupt frame arrived over one of the head's own links: lane and epoch.
    BadFrame(u16, u32),
    /// A node that is not in the plan: its name, and its agent's addresses, or why the agent could
    /// not be reached. The node gets the next index, and joins if its agent was reached.
    Added(String, Result<NodeAddress, String>),
    /// A node that could not be reached before is ready now, and listens at this address.
    Joined(NodeId, NodeAddress),
    /// The report of the head's own reader or writer.
    Own(Report),
    /// The user interrupted the copy.
    Interrupted,
    /// The head was suspended for this many nanoseconds.
    Slept(u64),
    /// The time of [`Head::deadline`](super::Head::deadline) has come.
    Tick,
    /// Close the copy on all agents.
    Close,
}

/// An order of the head state machine to its driver.
#[derive(Clone, Debug)]
pub enum HeadOrder {
    /// Start the head's own lanes.
    Start,
    /// Order a node to begin, with its present routes.
    Begin(NodeId),
    /// Request memory of a node's agent, which was busy.
    Queue(NodeId),
    /// An agent is busy, or one makes the copy wait for so long that what others have granted is
    /// given back. Close the copy, and call [`Head::begin_again`](super::Head::begin_again).
    BeginAgain,
    /// Send a message to a node.
    Send(NodeId, ToAgent),
    /// Send a node the manifest of the stripes, whose digests are
    /// [`Head::roots`](super::Head::roots).
    Attach(NodeId),
    /// Set the head's own hops in a lane.
    Route(Route),
    /// Give the head's own file its final name.
    Commit,
    /// The copy is over: all nodes have verdicts.
    Finished,
}

//! The hops of a lane, as a node is told of them.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::plan::NodeId;

/// Where a node's agent listens, one address a rail.
pub type NodeAddress = Vec<SocketAddr>;

/// A hop of a lane as one node sees it. Where a link ends that this node opens, its address is
/// known: the downstream's, but for the head, which nobody can be sure to reach and which therefore
/// opens the link from its upstream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// The lane's number.
    pub lane: u16,
    /// Who feeds this node, the epoch of that link, and where to find it if this node opens it.
    pub upstream: Option<(NodeId, u32, Option<SocketAddr>)>,
    /// Whom this node feeds, the epoch of that link, and where to find it if this node opens it.
    pub downstream: Option<(NodeId, u32, Option<SocketAddr>)>,
}

/// Which side of a node a link is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkSide {
    /// Towards the head.
    Up,
    /// Away from it.
    Down,
}

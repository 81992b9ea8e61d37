//! The hops of a lane, for one node.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use garland_core::plan::NodeId;

/// The addresses at which a node's agent listens, one per rail.
pub type NodeAddress = Vec<SocketAddr>;

/// The hops of a lane as one node sees them. The address of the other end is given for links that this node
/// opens: those to downstreams, except the head, which may be unreachable and therefore opens the link from
/// its upstream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// The lane's number.
    pub lane: u16,
    /// The feeder of this node, the epoch of that link, and its address if this node opens it.
    pub upstream: Option<(NodeId, u32, Option<SocketAddr>)>,
    /// The nodes that this node feeds.
    pub downstreams: Vec<Downstream>,
}

/// A node that another feeds in a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Downstream {
    /// The node.
    pub node: NodeId,
    /// The epoch of the link.
    pub epoch: u32,
    /// Its address, if this node opens the link.
    pub address: Option<SocketAddr>,
    /// Whether it is fed on the side, from what this node holds, so that the lane doesn't wait for it.
    pub loose: bool,
}

/// The most nodes that one may feed in a lane.
pub const DOWNSTREAMS_MAX: usize = 64;

impl Route {
    /// The lane's own part: without those that are fed beside it.
    #[must_use]
    pub fn firm(&self) -> Self {
        let firm = self.downstreams.iter().filter(|down| !down.loose).copied();
        Self { lane: self.lane, upstream: self.upstream, downstreams: firm.collect() }
    }

    /// The part of each that is fed beside the lane.
    pub fn loose(&self) -> impl Iterator<Item = Self> {
        let loose = self.downstreams.iter().filter(|down| down.loose);
        loose.map(|down| Self { lane: self.lane, upstream: None, downstreams: vec![*down] })
    }

    /// The epochs of the links downstream.
    pub fn epochs_down(&self) -> impl Iterator<Item = u32> {
        self.downstreams.iter().map(|down| down.epoch)
    }

    /// The epoch of the link from upstream.
    #[must_use]
    pub fn epoch_up(&self) -> Option<u32> {
        self.upstream.map(|(_, epoch, _)| epoch)
    }
}

/// Which side of a node a link is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkSide {
    /// Towards the head.
    Up,
    /// Away from it.
    Down,
}

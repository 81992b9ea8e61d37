//! The hops of a lane, for one node.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::wire::Secret;
use garland_core::plan::NodeId;

/// The addresses at which a node's agent listens, one per rail.
pub type NodeAddress = Vec<SocketAddr>;

/// The hops of a lane as one node sees them. The address of the other end is given for links that
/// this node opens. A node opens the links to its downstreams. The head also opens the link from
/// its upstream, because nodes may be unable to connect to the head.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// The lane's number.
    pub lane: u16,
    /// The node that feeds this node, the epoch of the link from it, and its address if this node
    /// opens the link. `None` if no node feeds this node.
    pub upstream: Option<(NodeId, u32, Option<SocketAddr>)>,
    /// The nodes that this node feeds.
    pub downstreams: Vec<Downstream>,
    /// The secrets of these links, which the head adds when it sends the route.
    pub secrets: Vec<LinkSecret>,
}

/// A node to which another node sends a lane's blocks, and the link between the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Downstream {
    /// The node at the other end of the link.
    pub node: NodeId,
    /// The epoch of the link.
    pub epoch: u32,
    /// The address of the node, if this node opens the link.
    pub address: Option<SocketAddr>,
    /// Whether the node is fed on the side, from what this node holds, so that the lane does not
    /// wait for it.
    pub side_fed: bool,
}

/// The secret with which the two ends of a link authenticate each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkSecret {
    /// The epoch of the link in its lane.
    pub epoch: u32,
    /// The secret.
    pub secret: Secret,
}

/// The maximum number of nodes that a node may feed in a lane.
pub const DOWNSTREAMS_MAX: usize = 64;

impl Route {
    /// Returns the route without the downstreams that are fed on the side.
    #[must_use]
    pub fn without_side_feeds(&self) -> Self {
        let main = self.downstreams.iter().filter(|down| !down.side_fed).copied();
        Self { downstreams: main.collect(), ..self.clone() }
    }

    /// Returns a route for each downstream that is fed on the side.
    pub fn side_feeds(&self) -> impl Iterator<Item = Self> {
        let side_fed = self.downstreams.iter().filter(|down| down.side_fed);
        side_fed.map(|down| Self { upstream: None, downstreams: vec![*down], ..self.clone() })
    }

    /// Returns the secret of the link with this epoch; `None` if the route has none.
    #[must_use]
    pub fn secret(&self, epoch: u32) -> Option<&Secret> {
        let link = self.secrets.iter().find(|link| link.epoch == epoch)?;
        Some(&link.secret)
    }

    /// Returns the side and the epoch of each link that the node at its other end opens.
    pub fn links_of_others(&self) -> impl Iterator<Item = (LinkSide, u32)> {
        let up = self.upstream.filter(|(_, _, address)| address.is_none());
        let up = up.map(|(_, epoch, _)| (LinkSide::Up, epoch));
        let downs = self.downstreams.iter().filter(|down| down.address.is_none());
        up.into_iter().chain(downs.map(|down| (LinkSide::Down, down.epoch)))
    }

    /// Returns the epochs of the downstream links.
    pub fn epochs_down(&self) -> impl Iterator<Item = u32> {
        self.downstreams.iter().map(|down| down.epoch)
    }

    /// Returns the node at the other end of a link, and its address if this node opens the link;
    /// `None` if the link is not part of the route.
    #[must_use]
    pub fn peer(&self, side: LinkSide, epoch: u32) -> Option<(NodeId, Option<SocketAddr>)> {
        match side {
            LinkSide::Up => {
                self.upstream.filter(|(_, of, _)| *of == epoch).map(|(node, _, at)| (node, at))
            }
            LinkSide::Down => {
                let down = self.downstreams.iter().find(|down| down.epoch == epoch);
                down.map(|down| (down.node, down.address))
            }
        }
    }

    /// Whether a link belongs to a later route: its epoch is above all of this route's on that
    /// side.
    #[must_use]
    pub fn precedes(&self, side: LinkSide, epoch: u32) -> bool {
        let newest = match side {
            LinkSide::Up => self.epoch_up(),
            LinkSide::Down => self.epochs_down().max(),
        };
        newest.is_none_or(|newest| newest < epoch)
    }

    /// Returns the epoch of the link from upstream.
    #[must_use]
    pub fn epoch_up(&self) -> Option<u32> {
        self.upstream.map(|(_, epoch, _)| epoch)
    }
}

/// The side of a node in a lane that a link is on. In a lane to the head, blocks flow towards the
/// head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LinkSide {
    /// The side from which the node gets blocks: the link from its feeder.
    Up,
    /// The side to which the node sends blocks: the link to a node that it feeds.
    Down,
}

//! The hops of a lane, for one node.

use std::net::SocketAddr;

use garland_core::plan::NodeId;
use serde::{Deserialize, Serialize};

use crate::wire::Secret;

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
        self.part(self.upstream, main.collect())
    }

    /// Returns a route for each downstream that is fed on the side.
    pub fn side_feeds(&self) -> impl Iterator<Item = Self> {
        let side_fed = self.downstreams.iter().filter(|down| down.side_fed);
        side_fed.map(|down| self.part(None, vec![*down]))
    }

    /// Returns a part of the route, with the secrets of its own links only: a part is the same as
    /// before while these are.
    fn part(
        &self,
        upstream: Option<(NodeId, u32, Option<SocketAddr>)>,
        downstreams: Vec<Downstream>,
    ) -> Self {
        let mut part = Self { lane: self.lane, upstream, downstreams, secrets: Vec::new() };
        let own = self.secrets.iter().filter(|link| {
            part.epoch_up() == Some(link.epoch) || part.epochs_down().any(|of| of == link.epoch)
        });
        part.secrets = own.cloned().collect();
        part
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

#[cfg(test)]
mod tests {
    use super::*;

    fn down(node: u32, epoch: u32) -> Downstream {
        Downstream { node: NodeId(node), epoch, address: None, side_fed: true }
    }

    /// A route with two side feeds, of which the second link has this epoch.
    fn route(second: u32) -> Route {
        let secret = |epoch: u32| LinkSecret { epoch, secret: Secret([epoch as u8; 32]) };
        Route {
            lane: 0,
            upstream: Some((NodeId(0), 1, None)),
            downstreams: vec![down(2, 2), down(3, second)],
            secrets: [1, 2, second].map(secret).into(),
        }
    }

    #[test]
    fn a_part_of_a_route_changes_only_with_its_own_links() {
        let before: Vec<Route> = route(3).side_feeds().collect();
        let after: Vec<Route> = route(4).side_feeds().collect();
        assert_eq!(before[0], after[0]);
        assert_ne!(before[1], after[1]);
        assert_eq!(route(3).without_side_feeds(), route(4).without_side_feeds());
        let parts = before.iter().chain([&after[1]]);
        let epochs: Vec<Vec<u32>> =
            parts.map(|part| part.secrets.iter().map(|link| link.epoch).collect()).collect();
        assert_eq!(epochs, [[2], [3], [4]], "each has the secret of its link");
    }
}

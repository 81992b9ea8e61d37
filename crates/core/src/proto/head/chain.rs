//! Who feeds whom: the chain of each lane as it stands, and its links' epochs.

use std::collections::BTreeMap;

use super::retries::Retry;
use super::{Head, HeadOrder};
use crate::plan::{HEAD, LaneBlocks, NodeId};
use crate::proto::message::ToAgent;
use crate::proto::route::{LinkSide, Route};

#[derive(Debug, Default)]
pub(super) struct LaneState {
    /// What it carries.
    pub(super) blocks: Option<LaneBlocks>,
    /// As planned.
    pub(super) route: Vec<NodeId>,
    /// Who is still on it.
    pub(super) chain: Vec<NodeId>,
    /// The epoch of the link that ends at each node of the chain.
    pub(super) epochs: BTreeMap<NodeId, u32>,
    pub(super) next_epoch: u32,
    /// Links that broke, by their far end.
    pub(super) retries: BTreeMap<NodeId, Retry>,
    /// Nodes that couldn't reach the node behind them, and that one, which was failed for it.
    pub(super) unreached: BTreeMap<NodeId, NodeId>,
}

impl Head {
    /// A node's hops in every lane, as they stand now.
    #[must_use]
    pub fn routes(&self, node: NodeId) -> Vec<Route> {
        (0..self.lanes.len()).filter_map(|lane| self.route_of(lane, node)).collect()
    }

    /// The near and far end of the link of `epoch` on that side of a node; `None` when the chain
    /// has changed since.
    pub(super) fn ends_of(
        &self,
        by: NodeId,
        lane: u16,
        epoch: u32,
        side: LinkSide,
    ) -> Option<(NodeId, NodeId)> {
        let state = self.lanes.get(usize::from(lane))?;
        let place = state.chain.iter().position(|&node| node == by)?;
        let near = match side {
            LinkSide::Up => place.checked_sub(1)?,
            LinkSide::Down => place,
        };
        let far = *state.chain.get(near + 1)?;
        (state.epochs.get(&far) == Some(&epoch)).then_some((state.chain[near], far))
    }

    /// Who feeds a node of a lane; `None` when it isn't on it any more.
    pub(super) fn upstream_of(&self, lane: usize, node: NodeId) -> Option<NodeId> {
        let chain = &self.lanes[lane].chain;
        let place = chain.iter().position(|&other| other == node)?;
        chain.get(place.checked_sub(1)?).copied()
    }

    pub(super) fn splice(&mut self, lane: usize, id: NodeId) {
        let state = &mut self.lanes[lane];
        let Some(place) = state.chain.iter().position(|&node| node == id) else { return };
        state.chain.remove(place);
        state.epochs.remove(&id);
        state.retries.remove(&id);
        let near = place.checked_sub(1).and_then(|before| state.chain.get(before)).copied();
        let far = state.chain.get(place).copied();
        if let Some(far) = far {
            state.next_epoch += 1;
            state.epochs.insert(far, state.next_epoch);
            state.retries.remove(&far);
        }
        near.into_iter().chain(far).for_each(|end| self.send_route(lane, end));
    }

    /// The side of the head's own link in a lane: the head begins a lane, or ends it.
    pub(super) fn own_side(&self, lane: u16) -> LinkSide {
        let lane = self.lanes.get(usize::from(lane));
        let ends = lane.is_some_and(|lane| lane.route.first() != Some(&HEAD));
        if ends { LinkSide::Up } else { LinkSide::Down }
    }

    pub(super) fn send_route(&mut self, lane: usize, node: NodeId) {
        let Some(route) = self.route_of(lane, node) else { return };
        self.orders.push_back(if node == HEAD {
            HeadOrder::Route(route)
        } else {
            HeadOrder::Send(node, ToAgent::Route(self.copy, route))
        });
    }

    pub(super) fn route_of(&self, lane: usize, node: NodeId) -> Option<Route> {
        let state = &self.lanes[lane];
        let place = state.chain.iter().position(|&other| other == node)?;
        let address = |node: NodeId| {
            let addresses = self.addresses.get(node.index())?;
            // More lanes than addresses are spread over those.
            let rail = usize::from(self.rails[lane]).checked_rem(addresses.len())?;
            Some(addresses[rail])
        };
        let before = place.checked_sub(1).map(|before| state.chain[before]);
        let upstream = before.and_then(|near| {
            // The first of a lane has no link that ends there, until the one before it was lost.
            let epoch = *state.epochs.get(&node)?;
            Some((near, epoch, (node == HEAD).then(|| address(near)).flatten()))
        });
        let downstream = state.chain.get(place + 1).and_then(|&far| {
            let listens = address(far).filter(|_| far != HEAD);
            (far == HEAD || listens.is_some()).then(|| (far, state.epochs[&far], listens))
        });
        Some(Route { lane: u16::try_from(lane).ok()?, upstream, downstream })
    }
}

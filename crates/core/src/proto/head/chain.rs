//! Who feeds whom: the chain of each lane as it stands, and its links' epochs.

use std::collections::BTreeMap;

use super::retries::Retry;
use super::{Head, HeadOrder};
use crate::plan::{HEAD, NodeId};
use crate::proto::message::{LinkSide, Route, ToAgent};

#[derive(Debug, Default)]
pub(super) struct LaneState {
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
        let near = state.chain[place - 1];
        let far = state.chain.get(place).copied();
        if let Some(far) = far {
            state.next_epoch += 1;
            state.epochs.insert(far, state.next_epoch);
            state.retries.remove(&far);
        }
        self.send_route(lane, near);
        if let Some(far) = far {
            self.send_route(lane, far);
        }
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
        let upstream = (place > 0).then(|| (state.chain[place - 1], state.epochs[&node]));
        let downstream = state.chain.get(place + 1).and_then(|&far| {
            let addresses = self.addresses.get(far.index())?;
            // More lanes than addresses are spread over those.
            let rail = usize::from(self.rails[lane]).checked_rem(addresses.len())?;
            Some((far, state.epochs[&far], addresses[rail]))
        });
        Some(Route { lane: u16::try_from(lane).ok()?, upstream, downstream })
    }
}

//! The routes of a copy: which node feeds which in each lane.

use std::collections::BTreeSet;

use garland_core::plan::{HEAD, NodeId};

use super::{Head, HeadOrder, NodeState, SlowNodes};
use crate::copy::route::{DOWNSTREAMS_MAX, Downstream, LinkSide, Route};
use crate::message::ToAgent;

impl Head {
    /// Returns a node's present hops in all lanes.
    #[must_use]
    pub fn routes(&self, node: NodeId) -> Vec<Route> {
        (0..self.lanes.len()).filter_map(|lane| self.route_of(lane, node)).collect()
    }

    /// Removes a node from a lane. The nodes that the removed node fed get another feeder: usually
    /// the feeder of the removed node.
    pub(super) fn splice(&mut self, lane: usize, id: NodeId) {
        let state = &mut self.lanes[lane];
        let Some(place) = state.nodes.iter().position(|&node| node == id) else { return };
        let fed: Vec<NodeId> = state.fed_by(id).collect();
        let first = state.nodes.first().copied().filter(|&first| first != id);
        let near = state.feeders.remove(&id).or(first);
        state.nodes.remove(place);
        state.side_fed.remove(&id);
        state.epochs.remove(&id);
        state.retries.remove(&id);
        let mut changed: BTreeSet<NodeId> = near.into_iter().collect();
        self.attach_to_others(lane, &fed, near, &mut changed);
        changed.into_iter().for_each(|end| self.send_route(lane, end));
    }

    /// Moves a node to the side of a lane, to the feeder that [`Self::side_feeder`] chooses. The
    /// nodes that the moved node fed get another feeder: usually its previous feeder.
    pub(super) fn feed_aside(&mut self, lane: usize, id: NodeId) {
        let state = &mut self.lanes[lane];
        let Some(&near) = state.feeders.get(&id) else { return };
        let fed: Vec<NodeId> = state.fed_by(id).collect();
        let mut changed = BTreeSet::from([near, id]);
        // From now on the node is not chosen as a feeder.
        state.side_fed.insert(id);
        self.slow.insert(id);
        self.attach_to_others(lane, &fed, Some(near), &mut changed);
        // Not one that it fed: that node may be what is wrong, and would have it in its hands. So
        // may the node before it, which alone has a wire to spare if this is the last one; but a
        // node that is to fail for it is judged by what the head feeds it.
        let not: Vec<NodeId> = match self.policy.slow {
            SlowNodes::Fail => self.lanes[lane].nodes.iter().copied().skip(1).collect(),
            SlowNodes::Detach | SlowNodes::Wait => fed,
        };
        let feeder = self.other_side_feeder(lane, id, &not);
        self.lanes[lane].attach(id, feeder, true);
        changed.extend(feeder);
        changed.into_iter().for_each(|end| self.send_route(lane, end));
    }

    /// Moves a node to the side of a lane, to another feeder than `near`, which cannot reach it.
    /// The nodes that it fed get another feeder: usually `near`. Returns false if there is no other
    /// one.
    pub(super) fn feed_by_another(&mut self, lane: usize, id: NodeId, near: NodeId) -> bool {
        let Some(feeder) = self.other_side_feeder(lane, id, &[near]) else { return false };
        let state = &mut self.lanes[lane];
        let fed: Vec<NodeId> = state.fed_by(id).collect();
        state.side_fed.insert(id);
        let mut changed = BTreeSet::from([near, id, feeder]);
        self.attach_to_others(lane, &fed, Some(near), &mut changed);
        self.lanes[lane].attach(id, Some(feeder), true);
        changed.into_iter().for_each(|end| self.send_route(lane, end));
        true
    }

    /// Gives new feeders to the nodes `fed`, whose feeder leaves; `near` is the previous node in
    /// the chain. Adds the nodes whose routes change to `changed`.
    fn attach_to_others(
        &mut self,
        lane: usize,
        fed: &[NodeId],
        near: Option<NodeId>,
        changed: &mut BTreeSet<NodeId>,
    ) {
        for &far in fed {
            let on_side = self.lanes[lane].side_fed.contains(&far);
            let feeder = near.and_then(|near| match on_side {
                true => self.side_feeder(lane, far),
                false if !self.is_reached(far) => Some(HEAD),
                false => Some(self.lanes[lane].chain_feeder(far, near)),
            });
            self.lanes[lane].attach(far, feeder, on_side);
            changed.extend(feeder);
            changed.insert(far);
        }
    }

    /// Returns whether other nodes can feed a node: whether they reach it.
    fn is_reached(&self, of: NodeId) -> bool {
        self.reached.as_ref().is_none_or(|reached| reached.contains(&of))
    }

    /// Returns the feeder for node `of` on the side of a lane: of the nodes that can read back
    /// received blocks and are not slow, the one that feeds the fewest nodes, and of equal ones the
    /// last. If none of them has room for another downstream, or none reaches the node, returns the
    /// lane's first node; `None` if the first node has no room either.
    pub(super) fn side_feeder(&self, lane: usize, of: NodeId) -> Option<NodeId> {
        self.other_side_feeder(lane, of, &[])
    }

    /// Returns the feeder that [`Self::side_feeder`] describes, but none of those in `not`.
    fn other_side_feeder(&self, lane: usize, of: NodeId, not: &[NodeId]) -> Option<NodeId> {
        let state = &self.lanes[lane];
        let first = *state.nodes.first()?;
        // That the node before it reaches a node says nothing of the others, and the head reaches
        // all: by logins, if need be.
        let can_be_others = self.reached.is_none() || self.is_reached(of) && not.contains(&first);
        let can = |node: &&NodeId| {
            let known = &self.nodes[node.index()];
            let fit = known.report.holder && !known.detached && !self.slow.contains(node);
            let is_other = **node != of && **node != first && !not.contains(*node);
            can_be_others && is_other && fit && !state.is_behind(**node, of)
        };
        let free = state.nodes.iter().rev().filter(can);
        let free = free.min_by_key(|node| state.load(**node, of)).copied();
        let has_room = |node: &NodeId| state.load(*node, of) < DOWNSTREAMS_MAX;
        let feeder = free.filter(has_room).or_else(|| Some(first).filter(has_room));
        feeder.filter(|feeder| *feeder != of && !not.contains(feeder))
    }

    /// Fails the nodes to be fed on the side for which no feeder has room.
    pub(super) fn fail_unfed(&mut self) {
        while let Some((lane, id)) = self.unfed() {
            let first = self.lanes[lane].nodes.first().copied().unwrap_or(HEAD);
            let first = self.name(first);
            let reason = format!(
                "no node has room to feed it: {first} feeds {DOWNSTREAMS_MAX} nodes already; copy to \
                 it again when this copy is over"
            );
            self.take_out(id, NodeState::Failed(reason));
        }
    }

    fn unfed(&mut self) -> Option<(usize, NodeId)> {
        let mut lanes = self.lanes.iter_mut().enumerate().filter(|(_, state)| state.may_starve);
        lanes.find_map(|(lane, state)| {
            let first = state.nodes.first();
            let unfed = state.side_fed.iter().find(|&node| {
                let fed = state.feeders.contains_key(node);
                !fed && *node != HEAD && Some(node) != first && !self.nodes[node.index()].left
            });
            state.may_starve = unfed.is_some();
            unfed.map(|&node| (lane, node))
        })
    }

    /// Returns the side of the head's own link in a lane: `Down` if the lane begins at the head,
    /// `Up` if it ends there.
    pub(super) fn own_side(&self, lane: u16) -> LinkSide {
        let lane = self.lanes.get(usize::from(lane));
        let ends = lane.is_some_and(|lane| lane.route.first() != HEAD);
        if ends { LinkSide::Up } else { LinkSide::Down }
    }

    /// Sends a node its present hops in a lane.
    pub(super) fn send_route(&mut self, lane: usize, node: NodeId) {
        let Some(route) = self.route_of(lane, node) else { return };
        self.orders.push_back(if node == HEAD {
            HeadOrder::Route(route)
        } else {
            HeadOrder::Send(node, ToAgent::Route(self.copy, route))
        });
    }

    /// Returns the present hops of a node in a lane; `None` if the node has left the lane.
    pub(super) fn route_of(&self, lane: usize, node: NodeId) -> Option<Route> {
        let state = &self.lanes[lane];
        if !state.nodes.contains(&node) {
            return None;
        }
        let address = |listener: NodeId, far: NodeId| {
            let addresses = self.addresses.get(listener.index())?;
            let detour = state.detours.get(&far).copied().unwrap_or(0);
            // Lanes beyond the number of addresses wrap around.
            let rail = (usize::from(self.rails[lane]) + detour).checked_rem(addresses.len())?;
            Some(addresses[rail])
        };
        let upstream = state.feeders.get(&node).and_then(|&near| {
            let epoch = *state.epochs.get(&node)?;
            Some((near, epoch, (node == HEAD).then(|| address(near, node)).flatten()))
        });
        let downstream = |far: NodeId| {
            let listens = address(far, far).filter(|_| far != HEAD);
            let epoch = *state.epochs.get(&far).filter(|_| far == HEAD || listens.is_some())?;
            let side_fed = state.side_fed.contains(&far);
            Some(Downstream { node: far, epoch, address: listens, side_fed })
        };
        let downstreams = state.fed_by(node).filter_map(downstream).collect();
        // The driver adds the secrets of the links, which this machine does not know.
        let secrets = Vec::new();
        Some(Route { lane: u16::try_from(lane).ok()?, upstream, downstreams, secrets })
    }
}

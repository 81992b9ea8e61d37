//! Who feeds whom: the hops of each lane as they stand, and their links' epochs.

use std::collections::{BTreeMap, BTreeSet};

use super::hops::Watch;
use super::rails::Pace;
use super::retries::Retry;
use super::verdict::NodeState;
use super::{Head, HeadOrder};
use crate::message::ToAgent;
use crate::route::{DOWNSTREAMS_MAX, Downstream, LinkSide, Route};
use garland_core::plan::{self, HEAD, LaneBlocks, NodeId};

/// A node that has so many to feed isn't given those of another.
const FED_MAX: usize = 16;

#[derive(Debug)]
pub(super) struct LaneState {
    /// What it carries.
    pub(super) blocks: LaneBlocks,
    /// As planned.
    pub(super) route: plan::Route,
    /// Who is still on it, everyone behind who feeds it.
    pub(super) nodes: Vec<NodeId>,
    /// Who feeds each of these; nobody feeds the first.
    pub(super) feeders: BTreeMap<NodeId, NodeId>,
    /// Who is fed beside the lane: it waits for none of these.
    pub(super) loose: BTreeSet<NodeId>,
    /// The epoch of the link that ends at each node.
    pub(super) epochs: BTreeMap<NodeId, u32>,
    pub(super) next_epoch: u32,
    /// Which of its hops hold the others up.
    pub(super) watch: Watch,
    /// Links that broke, by their far end.
    pub(super) retries: BTreeMap<NodeId, Retry>,
    /// How soon it gets on.
    pub(super) pace: Pace,
    /// By how many rails farther than planned the link to a node goes: those before didn't hold.
    pub(super) detours: BTreeMap<NodeId, usize>,
    /// Nodes that couldn't reach one that they were to feed, and that one, which was failed for it.
    pub(super) unreached: BTreeMap<NodeId, NodeId>,
}

impl LaneState {
    pub(super) fn new(lane: &plan::Lane) -> Self {
        let far = lane.route.nodes().iter().skip(1);
        let epochs: BTreeMap<NodeId, u32> = far.copied().zip(1..).collect();
        Self {
            blocks: lane.blocks,
            nodes: lane.route.nodes().to_vec(),
            feeders: lane.route.hops().map(|(near, far)| (far, near)).collect(),
            loose: BTreeSet::new(),
            next_epoch: u32::try_from(epochs.len()).unwrap_or(u32::MAX),
            epochs,
            watch: Watch::default(),
            pace: Pace::default(),
            detours: BTreeMap::new(),
            retries: BTreeMap::new(),
            unreached: BTreeMap::new(),
            route: lane.route.clone(),
        }
    }

    /// Whom a node feeds.
    pub(super) fn fed_by(&self, node: NodeId) -> impl Iterator<Item = NodeId> {
        let nodes = self.nodes.iter().copied();
        nodes.filter(move |other| self.feeders.get(other) == Some(&node))
    }

    /// The link to a node is to be another one from now on.
    pub(super) fn renew(&mut self, far: NodeId) {
        self.next_epoch += 1;
        self.epochs.insert(far, self.next_epoch);
    }

    /// Puts a node behind another.
    pub(super) fn hang(&mut self, node: NodeId, near: Option<NodeId>, is_loose: bool) {
        match near {
            Some(near) => self.feeders.insert(node, near),
            None => self.feeders.remove(&node),
        };
        if is_loose {
            self.loose.insert(node);
            // Everyone comes behind who feeds it.
            self.nodes.retain(|&other| other != node);
            self.nodes.push(node);
        } else {
            self.loose.remove(&node);
        }
        self.renew(node);
        self.retries.remove(&node);
    }
}

impl Head {
    /// A node's hops in every lane, as they stand now.
    #[must_use]
    pub fn routes(&self, node: NodeId) -> Vec<Route> {
        (0..self.lanes.len()).filter_map(|lane| self.route_of(lane, node)).collect()
    }

    /// The near and far end of the link of `epoch` on that side of a node; `None` when the route
    /// has changed since.
    pub(super) fn ends_of(
        &self,
        by: NodeId,
        lane: u16,
        epoch: u32,
        side: LinkSide,
    ) -> Option<(NodeId, NodeId)> {
        let state = self.lanes.get(usize::from(lane))?;
        let of_epoch = |far: &NodeId| state.epochs.get(far) == Some(&epoch);
        let far = match side {
            LinkSide::Up => Some(by).filter(of_epoch)?,
            LinkSide::Down => state.fed_by(by).find(of_epoch)?,
        };
        Some((*state.feeders.get(&far)?, far))
    }

    /// Who feeds a node of a lane; `None` when it isn't on it any more.
    pub(super) fn upstream_of(&self, lane: usize, node: NodeId) -> Option<NodeId> {
        self.lanes[lane].feeders.get(&node).copied()
    }

    /// Takes a node out of a lane: whoever fed it feeds those that it fed.
    pub(super) fn splice(&mut self, lane: usize, id: NodeId) {
        let state = &mut self.lanes[lane];
        let Some(place) = state.nodes.iter().position(|&node| node == id) else { return };
        let fed: Vec<NodeId> = state.fed_by(id).collect();
        let first = state.nodes.first().copied().filter(|&first| first != id);
        let near = state.feeders.remove(&id).or(first);
        state.nodes.remove(place);
        state.loose.remove(&id);
        state.epochs.remove(&id);
        state.retries.remove(&id);
        let mut changed: BTreeSet<NodeId> = near.into_iter().collect();
        for &far in &fed {
            let is_loose = self.lanes[lane].loose.contains(&far);
            let feeder = match near {
                Some(near) if !is_loose => Some(self.firm_feeder(lane, far, near)),
                Some(_) => self.side_feeder(lane, far),
                None => None,
            };
            self.lanes[lane].hang(far, feeder, is_loose);
            changed.extend(feeder);
            changed.insert(far);
        }
        changed.into_iter().for_each(|end| self.send_route(lane, end));
    }

    /// Takes a node off the way of the others: whoever fed it feeds those that it fed, and it is fed
    /// beside the lane by one that has nobody else to feed, if there is one.
    pub(super) fn loosen(&mut self, lane: usize, id: NodeId) {
        let state = &mut self.lanes[lane];
        let Some(&near) = state.feeders.get(&id) else { return };
        let fed: Vec<NodeId> = state.fed_by(id).collect();
        let mut changed = BTreeSet::from([near, id]);
        // It isn't a feeder any more when others look for one.
        state.loose.insert(id);
        self.slow.insert(id);
        for &far in &fed {
            let is_loose = self.lanes[lane].loose.contains(&far);
            let feeder = match is_loose {
                true => self.side_feeder(lane, far),
                false => Some(self.firm_feeder(lane, far, near)),
            };
            self.lanes[lane].hang(far, feeder, is_loose);
            changed.extend(feeder);
            changed.insert(far);
        }
        let feeder = self.side_feeder(lane, id);
        self.lanes[lane].hang(id, feeder, true);
        changed.extend(feeder);
        changed.into_iter().for_each(|end| self.send_route(lane, end));
    }

    /// Who is to feed a node that the lane waits for, where `near` is the next to do it: another one
    /// if that has many to feed by now.
    fn firm_feeder(&self, lane: usize, of: NodeId, near: NodeId) -> NodeId {
        let state = &self.lanes[lane];
        let count = |node: NodeId| state.fed_by(node).filter(|&fed| fed != of).count();
        if count(near) < FED_MAX {
            return near;
        }
        let firm = state.nodes.iter().filter(|node| !state.loose.contains(node));
        let others = firm.filter(|node| **node != of && !self.is_fed_by(lane, **node, of));
        others.min_by_key(|node| count(**node)).copied().unwrap_or(near)
    }

    /// Who is to feed a node beside a lane: of those that can give back what they got, the one with
    /// the fewest to feed, the last of these; where there is none, the lane's first, which holds all.
    /// `None` where none of them has room.
    pub(super) fn side_feeder(&self, lane: usize, of: NodeId) -> Option<NodeId> {
        let state = &self.lanes[lane];
        let first = *state.nodes.first()?;
        let can = |node: &&NodeId| {
            let known = &self.nodes[node.index()];
            let fit = known.report.holder && !known.detached && !self.slow.contains(node);
            **node != of && **node != first && fit && !self.is_fed_by(lane, **node, of)
        };
        let busy = |node: &NodeId| state.fed_by(*node).filter(|&fed| fed != of).count();
        let free = state.nodes.iter().rev().filter(can).min_by_key(|node| busy(node)).copied();
        let has_room = |node: &NodeId| busy(node) < DOWNSTREAMS_MAX;
        let feeder = free.filter(has_room).or_else(|| Some(first).filter(has_room));
        feeder.filter(|&feeder| feeder != of)
    }

    /// Fails the nodes that are to be fed beside a lane and for which no feeder has room.
    pub(super) fn fail_unfed(&mut self) {
        while let Some((lane, id)) = self.unfed() {
            let first = self.lanes[lane].nodes.first().copied().unwrap_or(HEAD);
            let first = self.name(first);
            let reason = format!(
                "no node has room to feed it: {first} feeds {DOWNSTREAMS_MAX} nodes beside the \
                 others; copy to it again when this copy is over"
            );
            self.gone(id, NodeState::Failed(reason));
        }
    }

    fn unfed(&self) -> Option<(usize, NodeId)> {
        self.lanes.iter().enumerate().find_map(|(lane, state)| {
            let first = state.nodes.first();
            let unfed = state.loose.iter().find(|&node| {
                let fed = state.feeders.contains_key(node);
                !fed && *node != HEAD && Some(node) != first && self.is_alive(node.index())
            });
            unfed.map(|&node| (lane, node))
        })
    }

    /// Whether what a node gets comes by way of another.
    fn is_fed_by(&self, lane: usize, node: NodeId, by: NodeId) -> bool {
        let feeders = &self.lanes[lane].feeders;
        let mut near = Some(node);
        std::iter::from_fn(|| {
            near = near.and_then(|node| feeders.get(&node).copied());
            near
        })
        .any(|near| near == by)
    }

    /// The side of the head's own link in a lane: the head begins a lane, or ends it.
    pub(super) fn own_side(&self, lane: u16) -> LinkSide {
        let lane = self.lanes.get(usize::from(lane));
        let ends = lane.is_some_and(|lane| lane.route.first() != HEAD);
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
        if !state.nodes.contains(&node) {
            return None;
        }
        let address = |listener: NodeId, far: NodeId| {
            let addresses = self.addresses.get(listener.index())?;
            let detour = state.detours.get(&far).copied().unwrap_or(0);
            // More lanes than addresses are spread over those.
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
            let loose = state.loose.contains(&far);
            Some(Downstream { node: far, epoch, address: listens, loose })
        };
        let downstreams = state.fed_by(node).filter_map(downstream).collect();
        Some(Route { lane: u16::try_from(lane).ok()?, upstream, downstreams })
    }
}

//! Suspected nodes: silent for longer than usual, but not dead yet. The others are fed past them,
//! and a message takes them back in.

use garland_core::plan::NodeId;

use super::{Head, NodeState, Policy};
use crate::message::ToAgent;
use crate::wire::SessionOrder;

impl Head {
    /// Notes that a message of a node has arrived, which refutes a suspicion.
    pub(super) fn hear(&mut self, now: u64, id: NodeId) {
        if self.liveness.hear(now, id) {
            self.take_back(id);
        }
    }

    /// Asks a node's agent to await a broken channel's return as long as the policy says, and to
    /// send heartbeats as often as it says, if either is longer than usual.
    pub(super) fn ask_for_patience(&mut self, id: NodeId) {
        let policy = self.policy;
        let usual = Policy::for_nodes(1);
        let ms = |ns: u64| u32::try_from(ns / 1_000_000).unwrap_or(u32::MAX);
        if policy.dead_after_ns > usual.dead_after_ns {
            self.send(id, ToAgent::Session(SessionOrder::Await(ms(policy.dead_after_ns))));
        }
        if policy.heartbeat_ns > usual.heartbeat_ns {
            self.send(id, ToAgent::Session(SessionOrder::Beat(ms(policy.heartbeat_ns))));
        }
    }

    /// Bypasses the nodes that were suspected since the last call, and still are.
    pub(super) fn bypass_suspects(&mut self) {
        for id in std::mem::take(&mut self.bypassing) {
            if self.liveness.suspects(id) {
                self.bypass(id);
            }
        }
    }

    /// Removes a suspected node from the lanes in which others may wait for it, until its next
    /// message. Stays in lanes that begin at the node, because no other node can feed them.
    fn bypass(&mut self, id: NodeId) {
        self.nodes[id.index()].last_report = self.neighbours_report(id);
        for lane in 0..self.lanes.len() {
            let state = &self.lanes[lane];
            let others = state.nodes.iter().skip(1).any(|&other| other != id);
            if others && state.feeders.contains_key(&id) {
                self.splice(lane, id);
            }
        }
    }

    /// Adds a node that was suspected to the side of its lanes, unless it has every block.
    fn take_back(&mut self, id: NodeId) {
        let node = &self.nodes[id.index()];
        if node.left || !matches!(node.state, NodeState::Joining | NodeState::Ready) {
            return;
        }
        for lane in self.join_lanes(id) {
            self.send_route(lane, id);
        }
    }

    /// Adds a node to the side of all lanes that it belongs to and is not in. Returns these lanes.
    pub(super) fn join_lanes(&mut self, id: NodeId) -> Vec<usize> {
        let is_added = id.index() >= self.planned;
        let lacks = |&lane: &usize| {
            let state = &self.lanes[lane];
            (is_added || state.route.contains(id)) && !state.nodes.contains(&id)
        };
        let lanes: Vec<usize> = (0..self.lanes.len()).filter(lacks).collect();
        for &lane in &lanes {
            let feeder = self.side_feeder(lane, id);
            self.lanes[lane].attach(id, feeder, true);
            feeder.into_iter().for_each(|feeder| self.send_route(lane, feeder));
        }
        lanes
    }
}

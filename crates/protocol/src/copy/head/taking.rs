//! Finds nodes that take nothing from their links, although they say that they live. Who passes
//! blocks on takes nothing either while a node that it feeds takes nothing: of several it is the
//! last one that holds all of them up. The evidence is the sender's, so that a node which lies
//! about itself is found, too: it can only blame those that it feeds, which are moved away from it.

use garland_core::plan::{HEAD, NodeId};

use super::{Head, NodeState, SlowNodes};

/// How long it must be known that a node takes nothing before it is moved, in nanoseconds: by then
/// the nodes that it feeds are known to take nothing, if that is the reason.
const KNOWN_NS: u64 = 3_000_000_000;

impl Head {
    /// Looks whether a node that `near` feeds takes nothing, by the last report of `near`. It is
    /// then fed on the side, so that the others go on.
    pub(super) fn judge_taking(&mut self, now: u64, near: NodeId) {
        let waits = self.policy.slow == SlowNodes::Wait || self.policy.together;
        if waits || self.gathers || self.policy.readers_may_pause {
            return;
        }
        for lane in 0..self.lanes.len() {
            let far = self.untaken_by(lane, near).filter(|far| self.may_be_moved(lane, *far));
            let state = &mut self.lanes[lane];
            let feeders = &state.feeders;
            state
                .untaken
                .retain(|known, _| feeders.get(known) != Some(&near) || far == Some(*known));
            let Some(far) = far else { continue };
            let since = *state.untaken.entry(far).or_insert(now);
            if now.saturating_sub(since) >= KNOWN_NS {
                state.untaken.remove(&far);
                self.nodes[far.index()].tried = true;
                self.feed_aside(lane, far);
            }
        }
    }

    /// Returns the node that takes nothing from `near` in a lane, by the last report of `near`.
    fn untaken_by(&self, lane: usize, near: NodeId) -> Option<NodeId> {
        let epoch = self.nodes[near.index()].report.lanes.get(lane)?.untaken?;
        let state = &self.lanes[lane];
        let mut fed = state.fed_by(near).filter(|far| !state.side_fed.contains(far));
        fed.find(|far| state.epochs.get(far) == Some(&epoch))
    }

    /// Returns whether a node that takes nothing is to be moved: neither a node that it feeds nor a
    /// hanging disk is the reason, and other nodes are still copying.
    fn may_be_moved(&self, lane: usize, id: NodeId) -> bool {
        let is_held_up = self.untaken_by(lane, id).is_some() || self.is_held_up(id);
        let is_ready = |id: NodeId| self.nodes[id.index()].state == NodeState::Ready;
        let mut others = self.lanes[lane].nodes.iter().filter(|other| **other != HEAD);
        is_ready(id) && !is_held_up && others.any(|other| *other != id && is_ready(*other))
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use garland_core::plan::{Layout, Plan};

    use super::super::Policy;
    use super::*;
    use crate::copy::copy_id::CopyId;
    use crate::copy::report::{LaneReport, Report};

    const SECOND_NS: u64 = 1_000_000_000;

    /// A chain of this machine and three nodes, which are ready.
    fn chain(policy: Policy) -> Head {
        let names: Vec<String> = (1..=3).map(|node| format!("n{node}")).collect();
        let plan = Plan::broadcast(Layout::fitting(16 << 20), &names, 1).expect("a plan");
        let addresses = vec![vec![SocketAddr::from(([127, 0, 0, 1], 1))]; 4];
        let mut head = Head::new(CopyId([7; 16]), &plan, addresses, policy, 0);
        head.nodes.iter_mut().for_each(|node| node.state = NodeState::Ready);
        head
    }

    /// Has `near` report for some seconds that the nodes `far`, which it feeds, take nothing.
    fn reports(head: &mut Head, near: NodeId, far: NodeId, seconds: std::ops::Range<u64>) {
        for second in seconds {
            let untaken = head.lanes[0].epochs.get(&far).copied();
            let lane = LaneReport { untaken, ..LaneReport::default() };
            head.nodes[near.index()].report = Report { lanes: vec![lane], ..Report::default() };
            head.judge_taking(second * SECOND_NS, near);
        }
    }

    fn moved(head: &Head) -> Vec<u32> {
        head.lanes[0].side_fed.iter().map(|node| node.0).collect()
    }

    #[test]
    fn the_last_node_that_takes_nothing_is_moved_and_the_others_stay() {
        let mut head = chain(Policy::for_nodes(3));
        reports(&mut head, NodeId(1), NodeId(2), 0..1);
        reports(&mut head, HEAD, NodeId(1), 0..3);
        assert_eq!(moved(&head), [0; 0]);
        reports(&mut head, NodeId(1), NodeId(2), 3..4);
        assert_eq!(moved(&head), [2]);
        assert_eq!(head.lanes[0].feeders[&NodeId(3)], NodeId(1), "the next one has its feeder");
    }

    #[test]
    fn a_node_that_blames_those_that_it_feeds_is_moved_when_it_feeds_nobody() {
        let mut head = chain(Policy::for_nodes(3));
        // It blames each of them in turn, and the head's own link to it stands still all the time.
        for second in 0..8 {
            let far = if second < 4 { 2 } else { 3 };
            reports(&mut head, NodeId(1), NodeId(far), second..second + 1);
            reports(&mut head, HEAD, NodeId(1), second..second + 1);
        }
        assert_eq!(moved(&head), [2, 3]);
        reports(&mut head, HEAD, NodeId(1), 8..12);
        assert_eq!(moved(&head), [1, 2, 3]);
    }

    #[test]
    fn a_node_that_took_nothing_for_a_moment_stays() {
        let mut head = chain(Policy::for_nodes(3));
        reports(&mut head, HEAD, NodeId(1), 0..2);
        head.nodes[HEAD.index()].report = Report::default();
        head.judge_taking(2 * SECOND_NS, HEAD);
        reports(&mut head, HEAD, NodeId(1), 3..5);
        assert_eq!(moved(&head), [0; 0]);
    }

    #[test]
    fn nodes_are_waited_for_where_their_readers_may_pause_or_the_user_waits() {
        let usual = Policy::for_nodes(3);
        let pausing = usual.with_readers_that_may_pause(true);
        for policy in [pausing, usual.with_slow(SlowNodes::Wait, 0)] {
            let mut head = chain(policy);
            reports(&mut head, HEAD, NodeId(1), 0..60);
            assert_eq!(moved(&head), [0; 0]);
        }
    }
}

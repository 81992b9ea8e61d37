//! Finds nodes that take nothing from their links, although they say that they live. Who passes
//! blocks on takes nothing either while a node that it feeds takes nothing: of several it is the
//! last one that holds all of them up. The evidence is the sender's, so that a node which lies
//! about itself is found, too. What it says of itself, that its disk hangs or that those take
//! nothing that it feeds, puts off by a bounded time what happens to it.

use garland_core::plan::{HEAD, NodeId};

use super::lane::Untaken;
use super::{Head, NodeState, SlowNodes};

/// How long it must be known that a node takes nothing before it is moved, in nanoseconds: by then
/// the nodes that it feeds are known to take nothing, if that is the reason.
const KNOWN_NS: u64 = 3_000_000_000;

/// How much longer a node is waited for that says that others hold it up, in nanoseconds: by then
/// those are moved, and all are judged anew. It may say so and take it back again and again.
const OTHERS_MOVE_NS: u64 = 2 * KNOWN_NS;

/// How many nodes are moved by the word of the node that feeds them. The next one that it blames
/// stays, and it is moved itself: it may be what all of them have in common.
const BLAMED_MAX: usize = 2;

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
            if self.is_due(now, lane, far) {
                // Other nodes may have waited for the one that is moved.
                self.lanes[lane].untaken.clear();
                self.move_aside(lane, near, far);
            }
        }
    }

    /// Notes that a node takes nothing, and returns whether it has been waited for long enough.
    /// What it says of itself and of others only puts that off, by a bounded time.
    fn is_due(&mut self, now: u64, lane: usize, far: NodeId) -> bool {
        let last = self.last_untaken(lane, far);
        let hangs = self.is_held_up(last);
        let excuse_ns = if hangs { self.policy.stuck_after_ns } else { KNOWN_NS };
        let untaken = &mut self.lanes[lane].untaken;
        let known = untaken.entry(far).or_insert(Untaken { since: now, alone_since: None });
        let due = if last != far {
            known.alone_since = None;
            known.since.saturating_add(excuse_ns).saturating_add(OTHERS_MOVE_NS)
        } else if hangs {
            known.since.saturating_add(excuse_ns)
        } else {
            known.alone_since.get_or_insert(now).saturating_add(excuse_ns)
        };
        now >= due
    }

    /// Returns the last one of the nodes from `far` on of which each says that it feeds the next
    /// one, which takes nothing.
    fn last_untaken(&self, lane: usize, far: NodeId) -> NodeId {
        let chain = std::iter::successors(Some(far), |node| self.untaken_by(lane, *node));
        chain.take(self.nodes.len()).last().unwrap_or(far)
    }

    /// Feeds `far` on the side, which takes nothing from `near`; or `near`, if it has blamed others
    /// before.
    fn move_aside(&mut self, lane: usize, near: NodeId, far: NodeId) {
        let blamed = &self.nodes[near.index()].blamed;
        if near == HEAD || blamed.len() < BLAMED_MAX || blamed.contains(&far) {
            if near != HEAD {
                self.nodes[near.index()].blamed.insert(far);
            }
            let node = &mut self.nodes[far.index()];
            node.tried = true;
            node.took_nothing = true;
            return self.feed_aside(lane, far);
        }
        for id in blamed.clone() {
            // They may feed others again, unless they were measured.
            if self.nodes[id.index()].slow.is_none() {
                self.slow.remove(&id);
            }
        }
        let node = &mut self.nodes[near.index()];
        node.tried = true;
        node.took_nothing = true;
        match self.nodes[near.index()].state {
            NodeState::Ready => self.feed_aside(lane, near),
            _ => self.splice(lane, near),
        }
    }

    /// Returns the node that takes nothing from `near` in a lane, by the last report of `near`.
    fn untaken_by(&self, lane: usize, near: NodeId) -> Option<NodeId> {
        let epoch = self.nodes[near.index()].report.lanes.get(lane)?.untaken?;
        let state = &self.lanes[lane];
        let mut fed = state.fed_by(near).filter(|far| !state.side_fed.contains(far));
        fed.find(|far| state.epochs.get(far) == Some(&epoch))
    }

    /// Returns whether a node that takes nothing may be moved: it and others are still copying.
    fn may_be_moved(&self, lane: usize, id: NodeId) -> bool {
        let is_ready = |id: NodeId| self.nodes[id.index()].state == NodeState::Ready;
        let mut others = self.lanes[lane].nodes.iter().filter(|other| **other != HEAD);
        is_ready(id) && others.any(|other| *other != id && is_ready(*other))
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use garland_core::plan::{Layout, Plan};

    use super::super::Policy;
    use super::*;
    use crate::copy::copy_id::CopyId;
    use crate::copy::report::{DiskCall, LaneReport, PendingCall, Report};

    const SECOND_NS: u64 = 1_000_000_000;

    /// A chain of this machine and three nodes, which are ready.
    fn chain(policy: Policy) -> Head {
        chain_of(3, policy)
    }

    /// A chain of this machine and some nodes, which are ready.
    fn chain_of(nodes: usize, policy: Policy) -> Head {
        let names: Vec<String> = (1..=nodes).map(|node| format!("n{node}")).collect();
        let plan = Plan::broadcast(Layout::fitting(16 << 20), &names, 1).expect("a plan");
        let addresses = vec![vec![SocketAddr::from(([127, 0, 0, 1], 1))]; nodes + 1];
        let mut head = Head::new(CopyId([7; 16]), &plan, addresses, policy, 0);
        head.nodes.iter_mut().for_each(|node| node.state = NodeState::Ready);
        head
    }

    /// Has `near` report for some seconds that the nodes `far`, which it feeds, take nothing.
    fn reports(head: &mut Head, near: NodeId, far: NodeId, seconds: std::ops::Range<u64>) {
        for second in seconds {
            let untaken = head.lanes[0].epochs.get(&far).copied();
            say(head, second, near, untaken, None);
        }
    }

    /// Has `near` report the link of this epoch, to which nothing is taken, and a call on its disk.
    fn say(
        head: &mut Head,
        second: u64,
        near: NodeId,
        untaken: Option<u32>,
        pending: Option<PendingCall>,
    ) {
        let lane = LaneReport { untaken, ..LaneReport::default() };
        let report = Report { lanes: vec![lane], pending, ..Report::default() };
        head.nodes[near.index()].report = report;
        head.judge_taking(second * SECOND_NS, near);
    }

    /// A call on a disk that hangs, within the time that it states for itself.
    fn hanging_call() -> PendingCall {
        let silent_ns = 6 * SECOND_NS;
        let path = "x".to_owned();
        PendingCall { operation: DiskCall::Write, path, silent_ns, allowance_ns: silent_ns }
    }

    /// Returns the second at which node 1 is moved, to which this machine gives bytes that it does
    /// not take, while it says each second what `says` returns: the epoch of a link, and a call.
    fn moved_at(says: impl Fn(&Head, u64) -> (Option<u32>, Option<PendingCall>)) -> Option<u64> {
        let mut head = chain(Policy::for_nodes(3));
        (0..300).find(|second| {
            let (untaken, pending) = says(&head, *second);
            say(&mut head, *second, NodeId(1), untaken, pending);
            reports(&mut head, HEAD, NodeId(1), *second..*second + 1);
            moved(&head).contains(&1)
        })
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
    fn what_a_node_says_of_its_disk_puts_off_for_a_bounded_time_that_it_is_moved() {
        assert_eq!(moved_at(|_, _| (None, None)), Some(3));
        // All the time, and now and then.
        let stuck_after_s = Policy::for_nodes(3).stuck_after_ns / SECOND_NS;
        assert_eq!(moved_at(|_, _| (None, Some(hanging_call()))), Some(stuck_after_s));
        let now_and_then = |second: u64| second.is_multiple_of(2).then(hanging_call);
        assert_eq!(moved_at(|_, second| (None, now_and_then(second))), Some(5));
    }

    #[test]
    fn who_blames_others_and_takes_it_back_is_moved() {
        let second_node = |head: &Head| head.lanes[0].epochs.get(&NodeId(2)).copied();
        let now_and_then =
            |head: &Head, second: u64| second_node(head).filter(|_| second.is_multiple_of(2));
        let at = moved_at(|head, second| (now_and_then(head, second), None));
        assert!(at.is_some_and(|at| at <= 12), "{at:?}");
    }

    #[test]
    fn who_blames_one_after_the_other_is_moved_in_place_of_the_third() {
        let mut head = chain_of(10, Policy::for_nodes(10));
        for second in 0..100 {
            let state = &head.lanes[0];
            let fed = state.fed_by(NodeId(1)).find(|far| !state.side_fed.contains(far));
            let untaken = fed.and_then(|far| state.epochs.get(&far).copied());
            say(&mut head, second, NodeId(1), untaken, None);
        }
        assert_eq!(moved(&head), [1, 2, 3]);
        assert!(!head.slow.contains(&NodeId(2)) && head.slow.contains(&NodeId(1)));
        assert_eq!(head.lanes[0].feeders[&NodeId(4)], HEAD);
        assert_eq!(head.lanes[0].feeders[&NodeId(5)], NodeId(4), "the chain goes on");
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

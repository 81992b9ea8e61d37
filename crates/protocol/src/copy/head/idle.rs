//! Finds copies in which no byte moves, although the nodes say that they live. Only copies that
//! stand for themselves are judged, such as those of a farm's files: what they hold up can go
//! elsewhere.

use garland_core::plan::HEAD;

use super::idleness::Moved;
use super::node::Node;
use super::{Head, NodeState};

/// How many times longer a copy may stand still while an agent says that other copies use its
/// memory.
const BUSY_FACTOR: u64 = 5;

/// The number of bytes a second that a copy must get within its limit on average, so that it goes
/// on. Very slow wires and disks carry more; a byte now and then would hold a copy up for ever.
const PACE_MIN: u64 = 4_000;

impl Head {
    /// Takes the nodes out of a copy in which next to nothing has moved for longer than the policy
    /// allows.
    pub(super) fn judge_idleness(&mut self, now: u64) {
        let Some(limit_ns) = self.policy.idle_after_ns else { return };
        let least = limit_ns / 1_000_000_000 * PACE_MIN;
        let moved = self.moved();
        self.idleness.note(now, moved, least);
        let is_queued = !self.admission.waited_for().is_empty();
        let limit_ns = limit_ns.saturating_mul(if is_queued { BUSY_FACTOR } else { 1 });
        if self.idleness.lasts_ns(now) < limit_ns {
            return;
        }
        let seconds = limit_ns / 1_000_000_000;
        let reason = format!("fewer than {least} bytes were copied in {seconds} s");
        for id in self.receivers() {
            // The rest of what a source has delivered is this machine's work.
            if !self.delivered.contains_key(&id) && !self.has_verdict(id) {
                self.take_out(id, NodeState::Dead(reason.clone()));
            }
        }
    }

    fn moved(&self) -> Moved {
        let of_nodes = || self.nodes.iter().skip(1);
        let has_all = |node: &Node| u64::from(node.report.held >= self.blocks);
        let held: u64 = of_nodes().map(|node| node.report.held.min(self.blocks)).sum();
        let lanes = &self.nodes[HEAD.index()].report.lanes;
        let received: u64 = lanes.iter().map(|lane| lane.received).sum();
        let sent: u64 = lanes.iter().filter_map(|lane| Some(lane.hop?.sent)).sum();
        let bytes = |blocks: u64| blocks.saturating_mul(u64::from(self.block_size));
        Moved {
            ranks: of_nodes().map(|node| rank(&node.state) + has_all(node)).sum(),
            held: bytes(held),
            // A node that asks for blocks again and again gets more than the copy has.
            sent: sent.min(bytes(self.blocks)),
            received: bytes(received.min(self.blocks)),
        }
    }
}

/// Returns how far a node in this state is.
fn rank(state: &NodeState) -> u64 {
    match state {
        NodeState::Joining => 0,
        NodeState::Ready => 1,
        NodeState::Complete => 2,
        NodeState::Prepared => 3,
        NodeState::Committed | NodeState::Failed(_) | NodeState::Dead(_) => 4,
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use garland_core::plan::{Layout, NodeId, Plan};

    use super::super::{HeadEvent, Policy};
    use super::*;
    use crate::copy::copy_id::CopyId;
    use crate::copy::report::{HopReport, LaneReport, Report};
    use crate::message::FromAgent;

    const SECOND_NS: u64 = 1_000_000_000;
    /// The number of bytes that are progress in a minute.
    const ENOUGH: u64 = 500_000;

    /// Returns the head of a copy of 16 MiB to one node.
    fn new_head(policy: Policy) -> Head {
        let plan = Plan::broadcast(Layout::fitting(16 << 20), &["n1".to_owned()], 1);
        let address = vec![SocketAddr::from(([127, 0, 0, 1], 1))];
        let plan = plan.expect("a plan of one node");
        let mut head = Head::new(CopyId([7; 16]), &plan, vec![address.clone(), address], policy, 0);
        head.handle(0, HeadEvent::Begin);
        head
    }

    /// Has the node say each second until `until_s` that it lives and has as many blocks as `held`
    /// returns, while its kernel has acknowledged as many bytes as `sent` returns. Returns the
    /// second in which the node was given up.
    fn given_up(
        policy: Policy,
        until_s: u64,
        held: impl Fn(u64) -> u64,
        sent: impl Fn(u64) -> u64,
    ) -> Option<u64> {
        let mut head = new_head(policy);
        let node = NodeId(1);
        for second in 1..=until_s {
            let now = second * SECOND_NS;
            let report = Report { held: held(second), ..Report::default() };
            let heartbeat = FromAgent::Heartbeat(vec![(CopyId([7; 16]), report)]);
            head.handle(now, HeadEvent::From(node, heartbeat));
            let hop = HopReport { epoch: 1, sent: sent(second), ..HopReport::default() };
            let lanes = vec![LaneReport { received: 0, hop: Some(hop), untaken: None }];
            head.handle(now, HeadEvent::Own(Report { lanes, ..Report::default() }));
            head.handle(now, HeadEvent::Tick);
            if matches!(head.states().nth(1), Some(NodeState::Dead(_))) {
                return Some(second);
            }
        }
        None
    }

    fn limited() -> Policy {
        Policy::for_nodes(1).with_idle_after(60 * SECOND_NS)
    }

    #[test]
    fn a_node_that_only_lives_is_given_up_and_one_that_gets_bytes_is_not() {
        assert_eq!(given_up(limited(), 200, |_| 0, |_| 0), Some(60));
        assert_eq!(given_up(limited(), 200, |second| second / 50, |_| 0), None);
        assert_eq!(given_up(limited(), 200, |_| 0, |second| second / 50 * ENOUGH), None);
        // It got something at 30 s, and nothing afterwards.
        assert_eq!(given_up(limited(), 200, |_| 0, |second| second.min(30) * ENOUGH), Some(90));
    }

    #[test]
    fn a_byte_now_and_then_is_no_progress_and_a_slow_wire_is() {
        assert_eq!(given_up(limited(), 200, |_| 0, |second| second / 50), Some(60));
        assert_eq!(given_up(limited(), 200, |_| 0, |second| second * 2_000), Some(60));
        assert_eq!(given_up(limited(), 1000, |_| 0, |second| second * 10_000), None);
    }

    #[test]
    fn what_a_node_claims_beyond_the_copy_is_no_progress() {
        let at_s = given_up(limited(), 400, |second| 1_000_000 + second, |_| 0);
        assert_eq!(at_s, Some(61));
    }

    #[test]
    fn a_link_that_is_opened_again_and_again_is_no_progress() {
        assert_eq!(given_up(limited(), 400, |_| 0, |second| second % 7 * ENOUGH), Some(66));
    }

    #[test]
    fn what_is_sent_beyond_the_copy_is_no_progress() {
        // 16 MiB in 34 s, and on and on.
        let sent = |second: u64| second * ENOUGH;
        assert_eq!(given_up(limited(), 400, |_| 0, sent), Some(94));
    }

    #[test]
    fn a_copy_that_nobody_can_do_without_stands_as_long_as_its_user_likes() {
        assert_eq!(given_up(Policy::for_nodes(1), 1000, |_| 0, |_| 0), None);
    }
}

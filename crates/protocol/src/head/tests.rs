//! Tests of the head's components.

use super::admission::{Admission, Step};
use super::liveness::Liveness;
use super::milestones::{Milestone, Milestones};
use garland_core::plan::NodeId;

#[test]
fn agents_are_asked_one_by_one_in_the_order_of_their_keys() {
    let agents = [3, 1, 2, 4].map(|key| ([key; 32], NodeId(u32::from(10 - key)))).to_vec();
    let mut admission = Admission::default();
    assert!(admission.refuse(5, NodeId(8)) && !admission.refuse(6, NodeId(7)));
    assert_eq!(admission.step(6), None);
    admission.queue(agents);
    assert_eq!(admission.step(7), Some(Step::Ask(NodeId(9))));
    assert_eq!(admission.step(7), None);
    admission.settle(NodeId(7));
    assert_eq!(admission.step(7), None, "a death further on changes nothing");
    assert_eq!(admission.waited_for(), [NodeId(8)]);
    admission.settle(NodeId(9));
    assert_eq!(admission.step(7), Some(Step::Ask(NodeId(8))));
    admission.settle(NodeId(8));
    assert_eq!(admission.waited_for(), [NodeId(6)]);
    assert_eq!(admission.step(7), Some(Step::Ask(NodeId(6))));
    admission.settle(NodeId(6));
    assert_eq!(admission.step(8), Some(Step::Through));
    assert_eq!((admission.waited(), admission.step(9)), (Some((5, 8)), None));
}

#[test]
fn the_silent_are_found_when_they_are_due() {
    let mut liveness = Liveness::new(100);
    (1..=3).for_each(|id| liveness.watch(id.into(), NodeId(id)));
    assert_eq!(liveness.due(), Some(101));
    liveness.hear(60, NodeId(1));
    liveness.forget(NodeId(2));
    assert_eq!(liveness.due(), Some(101), "earlier than needed, since messages do not move it");
    assert_eq!(liveness.take_silent(101), []);
    assert_eq!(liveness.due(), Some(103));
    assert_eq!(liveness.take_silent(110), [(NodeId(3), 107)]);
    assert!(liveness.watches(NodeId(1)) && !liveness.watches(NodeId(3)));
    liveness.excuse(50);
    assert_eq!((liveness.take_silent(209), liveness.due()), (vec![], Some(210)));
    assert_eq!(liveness.take_silent(210), [(NodeId(1), 100)]);
    assert!(liveness.is_idle() && liveness.due().is_none());
}

#[test]
fn a_phase_ends_when_the_last_node_has_reached_it_or_failed() {
    let mut milestones = Milestones::new(2);
    let times = |milestones: &Milestones| {
        let moments = milestones.moments(None, 99);
        [moments.ready, moments.first, moments.held]
    };
    milestones.reach(1, NodeId(1), Milestone::Ready);
    milestones.reach(2, NodeId(1), Milestone::Ready);
    assert!(!milestones.is_ready());
    milestones.reach(3, NodeId(2), Milestone::Over);
    assert_eq!(times(&milestones), [3, 99, 99]);
    milestones.reach(4, NodeId(1), Milestone::First);
    milestones.reach(5, NodeId(1), Milestone::Held);
    assert_eq!(times(&milestones), [3, 4, 5]);
    // A new node: the copy has begun, and has not ended.
    milestones.join(NodeId(3));
    assert_eq!(times(&milestones), [3, 4, 99]);
    milestones.reach(6, NodeId(3), Milestone::Over);
    assert_eq!(times(&milestones), [3, 4, 6]);
}

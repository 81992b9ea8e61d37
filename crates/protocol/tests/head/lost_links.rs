//! Links that are lost again and again, and who is to blame.

use std::net::SocketAddr;

use garland_core::plan::{Layout, NodeId, Plan};
use garland_protocol::FromAgent;
use garland_protocol::copy::{Head, HeadEvent as Event, LaneReport, LinkSide, Policy, Report};

use crate::{COPY, SECOND, begun, failures, feeder, head_for, links};

/// Simulates a copy to three nodes, in which the link from n1 to n2 is lost every `period` fifths
/// of a second, by n2's doing. `passes` tells whether blocks arrive over it in between. Returns the
/// seconds after which n1 no longer feeds n2 in the chain; `None` if it does so for ten minutes.
fn flapping(period: u64, passes: bool) -> Option<u64> {
    let names: Vec<String> = (1..=3).map(|number| format!("n{number}")).collect();
    let plan = Plan::broadcast(Layout::fitting(1 << 40), &names, 1).expect("there are nodes");
    let addresses = vec![vec![SocketAddr::from(([127, 0, 0, 1], 1))]; 4];
    let mut head = begun(Head::new(COPY, &plan, addresses, Policy::for_nodes(3), 0));
    for step in 1..3000 {
        let now = step * SECOND / 5;
        // n2 says that it gets blocks in any case; n1 gets none while it waits for n2.
        for node in 1..=3 {
            let received = if node == 2 || passes { step } else { 1 };
            let lanes = vec![LaneReport { received, hop: None, untaken: None }];
            let report = Report { lanes, holder: true, ..Report::default() };
            let heartbeat = FromAgent::Heartbeat(vec![(COPY, report)]);
            head.handle(now, Event::From(NodeId(node), heartbeat));
        }
        head.handle(now, Event::Tick);
        while head.poll().is_some() {}
        if feeder(&head, NodeId(2)) != (NodeId(1), false) {
            assert_eq!(failures(&head, 3), []);
            return Some(step / 5);
        }
        if step % period == 0 {
            let (_, epoch) = links(&head, NodeId(2))[0];
            let side = LinkSide::Down;
            let reason = "its other end closed it".to_owned();
            let lost = FromAgent::LinkLost { copy: COPY, lane: 0, epoch, side, reason };
            head.handle(now, Event::From(NodeId(1), lost));
        }
    }
    None
}

#[test]
fn a_link_that_is_lost_every_minute_and_carries_blocks_is_tried_for_ever() {
    assert_eq!(flapping(300, true), None);
    assert_eq!(flapping(55, true), None);
    // Nothing is sent over it: its attempts succeed all the same.
    assert_eq!(flapping(300, false), None);
}

/// Reports the loss of the upstream link of `far` by its feeder until it is given up.
fn lose_until_given_up(head: &mut Head, begin: u64, far: u32, nodes: u32) -> u64 {
    let (near, _) = feeder(head, NodeId(far));
    let mut now = begin;
    while head.verdict(NodeId(far)).is_none() && feeder(head, NodeId(far)).0 == near {
        now += SECOND / 5;
        for node in 1..=nodes {
            // Each can feed others.
            let report = Report { holder: true, ..Report::default() };
            let heartbeat = FromAgent::Heartbeat(vec![(COPY, report)]);
            head.handle(now, Event::From(NodeId(node), heartbeat));
        }
        head.handle(now, Event::Tick);
        while head.poll().is_some() {}
        let Some(route) = head.routes(NodeId(far)).pop() else { break };
        let (_, epoch, _) = route.upstream.expect("it is fed");
        let side = LinkSide::Up;
        let reason = "it lies".to_owned();
        let lost = FromAgent::LinkLost { copy: COPY, lane: 0, epoch, side, reason };
        head.handle(now, Event::From(NodeId(far), lost));
    }
    now
}

#[test]
fn nobody_fails_for_a_link_to_a_node_that_has_failed_itself() {
    let mut head = head_for(5);
    // n3 breaks its links, first that from n2 and then that from another feeder.
    let now = lose_until_given_up(&mut head, 0, 3, 5);
    assert_eq!((failures(&head, 5), feeder(&head, NodeId(4))), (vec![], (NodeId(2), false)));
    let now = lose_until_given_up(&mut head, now, 3, 5);
    assert_eq!(failures(&head, 5).into_iter().map(|it| it.0).collect::<Vec<_>>(), [3]);
    // n4 does so next: n2 has reached all others.
    let now = lose_until_given_up(&mut head, now, 4, 5);
    assert_eq!(failures(&head, 5).into_iter().map(|it| it.0).collect::<Vec<_>>(), [3]);
    // The feeder that gave n4 up fails: that it gave n4 up is no sign any more.
    let failed = FromAgent::Failed(COPY, "its disk is full".to_owned());
    head.handle(now, Event::From(NodeId(2), failed));
    lose_until_given_up(&mut head, now, 4, 5);
    assert_eq!(failures(&head, 5).into_iter().map(|it| it.0).collect::<Vec<_>>(), [2, 3]);
}

//! The head machine, rule by rule.

use std::net::SocketAddr;

use garland_core::plan::{HEAD, Layout, NodeId, Plan};
use garland_core::proto::{
    BadFrame, Copy, FromAgent, Head, HeadEvent as Event, HeadOrder, LinkSide, Policy, ToAgent,
    Verdict,
};

const COPY: Copy = Copy([7; 16]);
const SECOND: u64 = 1_000_000_000;

/// A head of a copy to `count` nodes.
fn head(count: usize) -> Head {
    let names: Vec<String> = (1..=count).map(|number| format!("n{number}")).collect();
    let plan = Plan::broadcast(Layout::fitting(1 << 20), &names, 1).expect("there are nodes");
    let addresses = vec![vec![SocketAddr::from(([127, 0, 0, 1], 1))]; count + 1];
    Head::new(COPY, &plan, addresses, Policy::for_nodes(count), 0)
}

fn hear_all(head: &mut Head, now: u64, count: u32) {
    for node in 1..=count {
        head.handle(now, Event::From(NodeId(node), FromAgent::Heartbeat(None)));
    }
}

#[test]
fn nobody_is_dead_because_the_head_slept() {
    let mut head = head(2);
    head.handle(SECOND, Event::Slept(SECOND));
    head.handle(2 * SECOND, Event::Tick);
    assert_eq!(head.verdict(NodeId(1)), None);
    hear_all(&mut head, 2 * SECOND, 1);
    head.handle(5 * SECOND / 2, Event::Tick);
    assert_eq!(head.verdict(NodeId(1)), None);
    assert!(matches!(head.verdict(NodeId(2)), Some(Verdict::Dead(_))));
}

#[test]
fn a_node_that_reaches_nobody_takes_one_with_it_and_not_all_behind_it() {
    const NODES: u32 = 5;
    let mut head = head(NODES as usize);
    let (mut now, mut told) = (0, 0);
    // Node 2 can't connect to anybody; all others could.
    for _ in 0..60 {
        now += SECOND / 5;
        hear_all(&mut head, now, NODES);
        head.handle(now, Event::Tick);
        while head.poll().is_some() {}
        for route in head.routes(NodeId(2)) {
            let Some((_, epoch, _)) = route.downstream.filter(|(_, epoch, _)| *epoch > told) else {
                continue;
            };
            told = epoch;
            let reason = "no route to host".to_owned();
            let (copy, side) = (COPY, LinkSide::Down);
            let lost = FromAgent::LinkLost { copy, lane: 0, epoch, side, reason };
            head.handle(now, Event::From(NodeId(2), lost));
        }
    }
    let failed: Vec<u32> = (1..=NODES).filter(|&n| head.verdict(NodeId(n)).is_some()).collect();
    assert_eq!(failed, [2, 3]);
    let Some(Verdict::Failed(reason)) = head.verdict(NodeId(2)) else { panic!("it is failed") };
    assert!(reason.contains("reaches none of the nodes behind it"), "{reason}");
}

#[test]
fn a_changed_frame_names_its_hop_whichever_way_it_went() {
    let mut head = head(3);
    let routes = head.routes(NodeId(2));
    let (up, down) = (routes[0].upstream.map(|up| up.1), routes[0].downstream.map(|down| down.1));
    let (Some(up), Some(down)) = (up, down) else { panic!("it is in the middle") };
    let bad = |epoch, side| FromAgent::BadFrame { copy: COPY, lane: 0, epoch, side };
    head.handle(1, Event::From(NodeId(2), bad(up, LinkSide::Up)));
    head.handle(1, Event::From(NodeId(2), bad(down, LinkSide::Down)));
    head.handle(1, Event::From(NodeId(2), bad(down + 9, LinkSide::Down)));
    let hop = |from, to| BadFrame { from: NodeId(from), to: NodeId(to) };
    assert_eq!(head.bad_frames(), [hop(1, 2), hop(3, 2)]);
    let epoch = head.routes(HEAD)[0].downstream.map(|down| down.1).expect("it has a downstream");
    head.handle(1, Event::BadFrame(0, epoch));
    assert_eq!(head.bad_frames()[2], hop(1, 0));
}

#[test]
fn a_file_that_got_its_name_before_the_user_gave_up_is_told_of() {
    let mut head = head(2);
    let root = [5; 32];
    for node in [1, 2] {
        let complete = FromAgent::Complete(COPY, root, Default::default());
        head.handle(1, Event::From(NodeId(node), complete));
    }
    head.handle(1, Event::SourceRead(root));
    let commits = std::iter::from_fn(|| head.poll());
    let commits = commits.filter(|o| matches!(o, HeadOrder::Send(_, ToAgent::Commit(..))));
    assert_eq!(commits.count(), 2);
    head.handle(2, Event::Interrupted);
    let committed = FromAgent::Committed(COPY, Default::default());
    head.handle(3, Event::From(NodeId(1), committed));
    assert_eq!(head.verdict(NodeId(1)), Some(Verdict::Ok));
    assert_eq!(head.verdict(NodeId(2)), Some(Verdict::Failed("interrupted".to_owned())));
}

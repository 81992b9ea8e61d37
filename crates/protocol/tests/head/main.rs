//! Rules of the head machine.

mod lost_links;
mod stripes;

use std::collections::BTreeSet;
use std::net::SocketAddr;

use garland_core::plan::{HEAD, Layout, NodeId, Plan};
use garland_protocol::copy::{
    BadFrame, CopyId, DiskCall, Head, HeadEvent as Event, HeadOrder, LinkSide, PendingCall, Policy,
    Report, Route, SlowNodes, Verdict,
};
use garland_protocol::{FromAgent, ToAgent};

const COPY: CopyId = CopyId([7; 16]);
const SECOND: u64 = 1_000_000_000;

/// A head of a copy to `count` nodes.
fn head_for(count: usize) -> Head {
    head_of(count, Policy::for_nodes(count))
}

/// A head with `count` nodes and this policy.
fn head_of(count: usize, policy: Policy) -> Head {
    let names: Vec<String> = (1..=count).map(|number| format!("n{number}")).collect();
    let plan = Plan::broadcast(Layout::fitting(1 << 20), &names, 1).expect("there are nodes");
    let addresses = vec![vec![SocketAddr::from(([127, 0, 0, 1], 1))]; count + 1];
    begun(Head::new(COPY, &plan, addresses, policy, 0))
}

/// Begins the copy.
fn begun(mut head: Head) -> Head {
    head.handle(0, Event::Begin);
    head
}

fn hear_all(head: &mut Head, now: u64, count: u32) {
    for node in 1..=count {
        head.handle(now, Event::From(NodeId(node), FromAgent::Heartbeat(Vec::new())));
    }
}

#[test]
fn no_node_is_dead_because_the_head_was_suspended() {
    let mut head = head_for(2);
    head.handle(SECOND, Event::Slept(SECOND));
    head.handle(2 * SECOND, Event::Tick);
    assert_eq!(head.verdict(NodeId(1)), None);
    for second in 2..7 {
        hear_all(&mut head, second * SECOND, 1);
        head.handle(second * SECOND + SECOND / 2, Event::Tick);
    }
    assert_eq!(head.verdict(NodeId(1)), None);
    assert!(matches!(head.verdict(NodeId(2)), Some(Verdict::Dead(_))));
}

/// Returns the links of a node with their epochs.
fn links(head: &Head, node: NodeId) -> Vec<(LinkSide, u32)> {
    let routes = head.routes(node).into_iter();
    let links = routes.flat_map(|route| {
        let up = route.upstream.map(|(_, epoch, _)| (LinkSide::Up, epoch));
        let downs = route.epochs_down().map(|epoch| (LinkSide::Down, epoch));
        up.into_iter().chain(downs.collect::<Vec<_>>())
    });
    links.collect()
}

/// Simulates twelve seconds of a copy to `nodes` nodes that all send heartbeats. Every open link
/// breaks within a fifth of a second if `lost` returns a reason for one of its ends; that end
/// reports it.
fn breaking(nodes: u32, lost: impl Fn(NodeId, LinkSide) -> Option<&'static str>) -> Head {
    let mut head = head_for(nodes as usize);
    let mut told = BTreeSet::new();
    for step in 1..60 {
        let now = step * SECOND / 5;
        hear_all(&mut head, now, nodes);
        head.handle(now, Event::Tick);
        while head.poll().is_some() {}
        for node in (1..=nodes).map(NodeId) {
            for (side, epoch) in links(&head, node) {
                let Some(reason) = lost(node, side).filter(|_| told.insert((node, epoch))) else {
                    continue;
                };
                let copy = COPY;
                let reason = reason.to_owned();
                let lost = FromAgent::LinkLost { copy, lane: 0, epoch, side, reason };
                head.handle(now, Event::From(node, lost));
            }
        }
    }
    head
}

fn failures(head: &Head, nodes: u32) -> Vec<(u32, String)> {
    let failed = |node| match head.verdict(NodeId(node)) {
        Some(Verdict::Failed(reason)) => Some((node, reason)),
        None => None,
        Some(other) => panic!("node {node} is {other:?}"),
    };
    (1..=nodes).filter_map(failed).collect()
}

/// Returns how often the link to each node was opened again.
fn reopened(head: &Head, nodes: u32) -> Vec<u32> {
    (1..=nodes).map(|node| head.outcome_of(NodeId(node)).reopened).collect()
}

#[test]
fn a_node_that_two_feeders_cannot_reach_fails_and_both_are_named() {
    let head = breaking(4, |node, side| match (node, side) {
        (NodeId(4), LinkSide::Up) => Some("its other end closed it"),
        (NodeId(3), LinkSide::Down) => Some("linking to 10.0.0.4:7000: connection refused"),
        _ => None,
    });
    let reason = "n3 gave up the link to n4 after 3 tries: linking to 10.0.0.4:7000: connection \
                  refused (both are alive: check for a firewall between them); the head gave up the \
                  link to n4 after 3 tries: its other end closed it (both are alive: check for a \
                  firewall between them)";
    assert_eq!(failures(&head, 4), [(4, reason.to_owned())]);
    assert_eq!(reopened(&head, 4), [0, 0, 0, 6], "three times by each feeder");
}

#[test]
fn a_node_that_reached_a_limit_of_its_own_is_told_of_no_firewall() {
    let head = breaking(2, |node, side| match (node, side) {
        (NodeId(1), LinkSide::Down) => Some("cannot connect to 10.0.0.2:7000: too many open files"),
        (NodeId(2), LinkSide::Up) => Some("its other end closed it"),
        _ => None,
    });
    let failed = failures(&head, 2);
    let [(2, reason)] = &failed[..] else { panic!("one node fails: {failed:?}") };
    let advice =
        "too many open files (both are alive: raise the limit of open files on n1: ulimit -Hn)";
    assert!(reason.contains(advice), "{reason}");
    // The far end may be the one that lacks something.
    let head = breaking(1, |_, _| Some("cannot start a thread that feeds it: try again"));
    let advice = "raise the limit of processes and threads on n1: ulimit -u";
    assert!(failures(&head, 1)[0].1.contains(advice), "{:?}", failures(&head, 1));
}

#[test]
fn a_node_that_loses_the_links_on_both_its_sides_fails_alone() {
    let head = breaking(5, |node, _| (node == NodeId(2)).then_some("network is down"));
    let failed = failures(&head, 5);
    assert_eq!(failed.iter().map(|(node, _)| *node).collect::<Vec<_>>(), [2], "{failed:?}");
    assert!(failed[0].1.contains("n1 gave up the link to n2"), "{failed:?}");
}

#[test]
fn a_node_fails_alone_if_it_needs_again_what_the_source_no_longer_has() {
    let mut head = head_for(3);
    let [_, (_, epoch)] = links(&head, NodeId(1))[..] else { panic!("it is in the middle") };
    let outdated = |epoch| Event::Outdated(0, vec![epoch], "it lacks a block".to_owned());
    head.handle(1, outdated(epoch));
    assert_eq!(failures(&head, 3), [], "this is no link of the head's");
    let (_, epoch) = links(&head, NodeId(1))[0];
    head.handle(1, outdated(epoch));
    assert_eq!(failures(&head, 3), [(1, "it lacks a block".to_owned())]);
    assert_eq!(feeder(&head, NodeId(2)).0, HEAD);
    head.handle(1, outdated(epoch));
    assert_eq!(failures(&head, 3).len(), 1, "the link is over");
}

#[test]
fn a_silent_node_is_dead_and_its_neighbours_report_is_added() {
    let mut head = head_for(3);
    hear_all(&mut head, SECOND, 3);
    let epoch = head.routes(NodeId(1))[0].downstreams[0].epoch;
    let reason = "connection reset by peer".to_owned();
    let lost = FromAgent::LinkLost { copy: COPY, lane: 0, epoch, side: LinkSide::Down, reason };
    for quarter in 5..26 {
        let now = quarter * SECOND / 4;
        hear_all(&mut head, now, 1);
        head.handle(now, Event::From(NodeId(3), FromAgent::Heartbeat(Vec::new())));
        if quarter == 8 {
            head.handle(now, Event::From(NodeId(1), lost.clone()));
        }
        head.handle(now, Event::Tick);
    }
    let Some(Verdict::Dead(reason)) = head.verdict(NodeId(2)) else { panic!("it is dead") };
    assert!(reason.starts_with("no message from its agent for 5 s; "), "{reason}");
    assert!(reason.ends_with("n1 lost its link to it: connection reset by peer"), "{reason}");
}

#[test]
fn a_suspected_node_is_bypassed_and_taken_back_in_when_it_speaks() {
    let mut head = head_for(3);
    hear_all(&mut head, SECOND, 3);
    let fed = |head: &Head, node| -> Vec<u32> {
        let routes = head.routes(NodeId(node)).into_iter();
        routes.flat_map(|route| route.downstreams).map(|down| down.node.0).collect()
    };
    let mut bypassed = None;
    for tenth in 11..55 {
        let now = tenth * SECOND / 10;
        for node in [1, 3] {
            head.handle(now, Event::From(NodeId(node), FromAgent::Heartbeat(Vec::new())));
        }
        head.handle(now, Event::Tick);
        if fed(&head, 1) == [3] {
            bypassed.get_or_insert(now);
        }
    }
    assert_eq!(bypassed, Some(22 * SECOND / 10));
    assert_eq!(head.verdict(NodeId(2)), None, "it is only suspected");
    while head.poll().is_some() {}
    head.handle(11 * SECOND / 2, Event::Heard(NodeId(2)));
    assert_eq!((fed(&head, 0), fed(&head, 1), fed(&head, 3)), (vec![1, 2], vec![3], vec![]));
    let told = std::iter::from_fn(|| head.poll()).filter_map(|order| match order {
        HeadOrder::Send(node, ToAgent::Route(_, route)) => Some((node, route.upstream.is_some())),
        _ => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), [(NodeId(2), true)], "it learns who feeds it now");
}

#[test]
fn a_node_that_is_suspected_before_the_copy_begins_gets_its_routes_first() {
    let names: Vec<String> = (1..=3).map(|number| format!("n{number}")).collect();
    let plan = Plan::broadcast(Layout::fitting(1 << 20), &names, 1).expect("there are nodes");
    let addresses = vec![vec![SocketAddr::from(([127, 0, 0, 1], 1))]; 4];
    let mut head = Head::new(COPY, &plan, addresses, Policy::for_nodes(3), 0);
    for tenth in 1..20 {
        for node in [1, 3] {
            head.handle(tenth * SECOND / 10, Event::Heard(NodeId(node)));
        }
        head.handle(tenth * SECOND / 10, Event::Tick);
    }
    head.handle(2 * SECOND, Event::Begin);
    assert_eq!(links(&head, NodeId(2)).len(), 2, "its order to begin has them");
    let due = head.deadline().expect("the others must not wait for it");
    assert!(due <= 2 * SECOND);
    head.handle(2 * SECOND, Event::Tick);
    assert_eq!(links(&head, NodeId(2)).len(), 0);
}

#[test]
fn a_silent_node_is_not_called_alive_because_all_are_silent() {
    let mut head = head_of(1, Policy::for_nodes(1).with_dead_after(30 * SECOND));
    for fifth in 1..100 {
        let now = fifth * SECOND / 5;
        let epoch = links(&head, NodeId(1))[0].1;
        head.handle(now, Event::LinkLost(0, epoch, "no route to host".to_owned()));
        head.handle(now, Event::Tick);
    }
    assert_eq!(head.verdict(NodeId(1)), None);
}

#[test]
fn attempts_while_a_node_is_silent_do_not_count() {
    let mut head = head_for(1);
    hear_all(&mut head, SECOND / 10, 1);
    // Each loss is followed by an attempt. The node speaks again before it is dead.
    for half in 3..12 {
        let now = half * SECOND / 2;
        if half > 9 {
            hear_all(&mut head, now, 1);
        }
        let epoch = links(&head, NodeId(1))[0].1;
        head.handle(now, Event::LinkLost(0, epoch, "timed out".to_owned()));
        head.handle(now + SECOND * 2 / 5, Event::Tick);
        assert_eq!(head.verdict(NodeId(1)), None, "after {half} halves of a second");
    }
}

#[test]
fn a_node_that_reaches_no_other_fails_and_nobody_behind_it() {
    let head = breaking(5, |node, side| {
        (node == NodeId(2) && side == LinkSide::Down).then_some("no route to host")
    });
    let failed = failures(&head, 5);
    assert_eq!(failed.iter().map(|(node, _)| *node).collect::<Vec<_>>(), [2]);
    assert!(failed[0].1.starts_with("it reaches neither n3 nor n4, which are alive"), "{failed:?}");
    assert!(failed[0].1.contains("after 3 tries: no route to host"), "{failed:?}");
}

#[test]
fn a_changed_frame_names_its_hop_in_both_directions() {
    let mut head = head_for(3);
    let routes = head.routes(NodeId(2));
    let up = routes[0].epoch_up();
    let down = routes[0].epochs_down().next();
    let (Some(up), Some(down)) = (up, down) else { panic!("it is in the middle") };
    let bad = |epoch, side| FromAgent::BadFrame { copy: COPY, lane: 0, epoch, side };
    head.handle(1, Event::From(NodeId(2), bad(up, LinkSide::Up)));
    head.handle(1, Event::From(NodeId(2), bad(down, LinkSide::Down)));
    head.handle(1, Event::From(NodeId(2), bad(down + 9, LinkSide::Down)));
    let hop = |from, to| BadFrame { from: NodeId(from), to: NodeId(to) };
    assert_eq!(head.bad_frames(), [hop(1, 2), hop(3, 2)]);
    let epoch = head.routes(HEAD)[0].downstreams[0].epoch;
    head.handle(1, Event::BadFrame(0, epoch));
    assert_eq!(head.bad_frames()[2], hop(1, 0));
}

#[test]
fn reports_of_one_node_about_blocks_and_frames_do_not_fill_the_heads_memory() {
    let names: Vec<String> = (1..=3).map(|number| format!("n{number}")).collect();
    let plan = Plan::broadcast(Layout::new(4096 * 3000, 4096).unwrap(), &names, 1).unwrap();
    let addresses = vec![vec![SocketAddr::from(([127, 0, 0, 1], 1))]; 4];
    let mut head = begun(Head::new(COPY, &plan, addresses, Policy::for_nodes(3), 0));
    let bad = |index| FromAgent::Bad(COPY, index);
    // What another node reports is kept, also of blocks beyond those of the node that floods.
    head.handle(1, Event::From(NodeId(1), bad(2999)));
    for index in (3000..9000).chain(u64::MAX - 9..=u64::MAX) {
        head.handle(1, Event::From(NodeId(2), bad(index)));
    }
    assert_eq!(head.faults().len(), 1, "there are no such blocks");
    for index in 0..3000 {
        head.handle(1, Event::From(NodeId(2), bad(index)));
    }
    head.handle(1, Event::From(NodeId(3), bad(2998)));
    let faults = head.faults();
    assert_eq!(faults.len(), 1001, "n3 is not to blame for what n2 did not have room to report");
    assert!(faults.iter().all(|fault| fault.to == NodeId(if fault.index == 2999 { 1 } else { 2 })));
    let epoch = head.routes(NodeId(3))[0].epoch_up().unwrap();
    for _ in 0..3000 {
        let frame = FromAgent::BadFrame { copy: COPY, lane: 0, epoch, side: LinkSide::Up };
        head.handle(1, Event::From(NodeId(3), frame));
    }
    assert_eq!(head.bad_frames().len(), 999);
}

#[test]
fn a_file_committed_before_the_interrupt_is_reported() {
    let mut head = head_for(2);
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
    assert_eq!(head.verdict(NodeId(2)), Some(Verdict::Unknown("interrupted".to_owned())));
}

#[test]
fn a_late_node_without_a_feeder_fails_with_a_reason() {
    const LATE: u32 = 70;
    let mut head = head_for(1);
    // The planned node cannot feed others: its blocks cannot be read back.
    let address = vec![SocketAddr::from(([127, 0, 0, 1], 1))];
    for late in 2..2 + LATE {
        head.handle(1, Event::Added(format!("late{late}"), Ok(address.clone())));
    }
    let fed: Vec<NodeId> = head.routes(HEAD)[0].downstreams.iter().map(|down| down.node).collect();
    assert_eq!(fed.len(), 64, "a node feeds 64 at most");
    for late in (2..2 + LATE).map(NodeId) {
        match head.verdict(late) {
            None => assert!(fed.contains(&late), "{late:?} has no feeder"),
            Some(Verdict::Failed(reason)) => {
                let wanted = "no node has room to feed it: the head feeds 64 nodes";
                assert!(reason.starts_with(wanted), "{reason}");
                assert!(!fed.contains(&late), "{late:?} is fed and has failed");
            }
            Some(other) => panic!("{late:?} is {other:?}"),
        }
    }
    assert_eq!(failures(&head, 1 + LATE).len(), 7, "the lane's own node is one of the 64");
}

#[test]
fn the_head_opens_the_links_on_which_it_receives() {
    let mut head = stripes::striped(true);
    let port = |route: Option<(NodeId, u32, Option<SocketAddr>)>| {
        route.map(|(node, _, address)| (node.0, address.map(|address| address.port())))
    };
    let ends = |head: &Head, node| -> Vec<_> {
        let routes = head.routes(node).into_iter();
        let down = |route: &Route| {
            let down = route.downstreams.first();
            port(down.map(|down| (down.node, down.epoch, down.address)))
        };
        routes.map(|route| (route.lane, port(route.upstream), down(&route))).collect()
    };
    let [one, two] = [(0, Some((1, Some(7001))), None), (1, Some((2, Some(7002))), None)];
    assert_eq!(ends(&head, HEAD), [one, two]);
    assert_eq!(ends(&head, NodeId(2)), [(1, None, Some((0, None)))]);
    // A link that cannot be opened fails the node at its other end, not the head.
    let mut told = None;
    for step in 1..60 {
        let now = step * SECOND / 5;
        hear_all(&mut head, now, 2);
        let present = head.routes(HEAD).first().and_then(|route| route.upstream);
        let epoch = present.map(|(_, epoch, _)| epoch);
        if let Some(epoch) = epoch.filter(|_| told != epoch) {
            head.handle(now, Event::LinkLost(0, epoch, "refused".to_owned()));
        }
        told = epoch;
        head.handle(now, Event::Tick);
    }
    let Some(Verdict::Failed(reason)) = head.verdict(NodeId(1)) else { panic!("it has failed") };
    assert!(
        reason.starts_with("the head gave up the link to io1 after 3 tries: refused"),
        "{reason}"
    );
    assert!(matches!(head.verdict(NodeId(2)), Some(Verdict::Failed(_))));
    assert_eq!(reopened(&head, 2), [3, 0], "the link to the head is the source's");
}

/// A heartbeat of a node whose write has made no progress for this many seconds.
fn pending(seconds: u64) -> FromAgent {
    let call = PendingCall {
        operation: DiskCall::Write,
        path: "/d/y".to_owned(),
        silent_ns: seconds * SECOND,
        allowance_ns: 0,
    };
    let pending = Some(call).filter(|_| seconds > 0);
    FromAgent::Heartbeat(vec![(COPY, Report { pending, ..Report::default() })])
}

/// Simulates more than a minute of a copy to three nodes, of which the second hangs in a write from
/// the first second on. Calls `look` with the head every fifth of a second, and returns the head.
fn hanging(policy: Policy, mut look: impl FnMut(u64, &mut Head)) -> Head {
    let mut head = head_of(3, policy);
    for step in 1..=330 {
        let now = step * SECOND / 5;
        for node in 1..=3 {
            let silent = if node == 2 { now.saturating_sub(SECOND) / SECOND } else { 0 };
            head.handle(now, Event::From(NodeId(node), pending(silent)));
        }
        head.handle(now, Event::Tick);
        look(now, &mut head);
    }
    head
}

#[test]
fn a_node_that_hangs_on_its_disk_is_detached_and_fails_later() {
    let mut detached = None;
    let mut failed = None;
    let head = hanging(Policy::for_nodes(3), |now, head| {
        let orders: Vec<HeadOrder> = std::iter::from_fn(|| head.poll()).collect();
        let detach =
            |order: &HeadOrder| matches!(order, HeadOrder::Send(NodeId(2), ToAgent::Detach(_)));
        if orders.iter().any(detach) {
            detached = Some(now);
            assert!(head.is_detached(NodeId(2)) && head.hangs_in(NodeId(2)).is_some());
            // From now on the first node feeds the third.
            let fed = head.routes(NodeId(1)).into_iter().flat_map(|route| route.downstreams);
            assert!(fed.into_iter().any(|down| down.node == NodeId(3) && !down.side_fed));
            let third = head.routes(NodeId(3)).into_iter().flat_map(|route| route.upstream);
            assert!(third.into_iter().all(|(near, ..)| near == NodeId(1)));
        }
        if head.verdict(NodeId(2)).is_some() {
            failed.get_or_insert(now);
        }
    });
    assert_eq!((detached, failed), (Some(6 * SECOND), Some(61 * SECOND)));
    let Some(Verdict::Failed(reason)) = head.verdict(NodeId(2)) else { panic!("it failed") };
    assert!(reason.starts_with("writing /d/y: no progress for 60 s"), "{reason}");
    assert_eq!((head.verdict(NodeId(1)), head.verdict(NodeId(3))), (None, None));
}

#[test]
fn a_node_that_hangs_fails_after_the_time_of_the_policy() {
    let failed_at = |policy: Policy| {
        let mut failed = None;
        hanging(policy, |now, head| {
            if head.verdict(NodeId(2)).is_some() {
                failed.get_or_insert(now / SECOND);
            }
        });
        failed
    };
    let policy = Policy::for_nodes(3);
    assert_eq!(failed_at(policy.with_stuck_after(20 * SECOND)), Some(21));
    assert_eq!(failed_at(policy.with_slow(SlowNodes::Fail, 500)), Some(6));
    assert_eq!(failed_at(policy.with_slow(SlowNodes::Wait, 0)), Some(61));
    assert_eq!(failed_at(policy.with_stuck_after(100 * SECOND)), None);
    assert_eq!(failed_at(policy.together()), Some(61));
}

#[test]
fn a_long_fsync_is_reported_and_has_time_for_its_bytes() {
    let mut head = head_for(3);
    let mut fsync = |seconds: u64| {
        let call = PendingCall {
            operation: DiskCall::Finish,
            path: "/d/y".to_owned(),
            silent_ns: seconds * SECOND,
            allowance_ns: 200 * SECOND,
        };
        let report = Report { pending: Some(call), ..Report::default() };
        let heartbeat = FromAgent::Heartbeat(vec![(COPY, report)]);
        head.handle(seconds * SECOND, Event::From(NodeId(2), heartbeat));
        let named = head.hangs_in(NodeId(2)).is_some();
        (named, head.is_detached(NodeId(2)), head.verdict(NodeId(2)).is_some())
    };
    assert_eq!(fsync(4), (false, false, false));
    assert_eq!(fsync(6), (true, false, false));
    assert_eq!(fsync(259), (true, false, false));
    assert_eq!(fsync(260), (true, false, true));
}

#[test]
fn a_head_that_hangs_on_its_own_disk_ends_the_copy() {
    let mut head = head_for(2);
    let FromAgent::Heartbeat(mut reports) = pending(60) else { panic!("it is one") };
    head.handle(SECOND, Event::Own(reports.remove(0).1));
    let Some(Verdict::Failed(reason)) = head.verdict(NodeId(1)) else { panic!("it failed") };
    assert!(reason.starts_with("on this machine: writing /d/y: no progress"), "{reason}");
}

#[test]
fn no_node_fails_for_a_link_to_a_node_that_still_opens_its_file() {
    let mut head = head_for(2);
    for step in 1..100 {
        let now = step * SECOND / 5;
        let call = PendingCall {
            operation: DiskCall::Open,
            path: "/d/y".to_owned(),
            silent_ns: 2 * SECOND,
            allowance_ns: 0,
        };
        let report = Report { pending: Some(call), ..Report::default() };
        head.handle(now, Event::From(NodeId(1), FromAgent::Heartbeat(Vec::new())));
        head.handle(now, Event::From(NodeId(2), FromAgent::Heartbeat(vec![(COPY, report)])));
        for (side, epoch) in links(&head, NodeId(2)) {
            if side == LinkSide::Up {
                let reason = "it isn't expected there".to_owned();
                let lost = FromAgent::LinkLost {
                    copy: COPY,
                    lane: 0,
                    epoch,
                    side: LinkSide::Down,
                    reason,
                };
                head.handle(now, Event::From(NodeId(1), lost));
            }
        }
        head.handle(now, Event::Tick);
    }
    assert_eq!((head.verdict(NodeId(1)), head.verdict(NodeId(2))), (None, None));
}

#[test]
fn who_claims_to_open_its_file_does_not_hold_up_its_feeder_for_ever() {
    let mut head = head_for(2);
    // The first node's links to the second break while that one opens its file, says it.
    let mut moved = None;
    for step in 1..400 {
        let now = step * SECOND / 5;
        let call = PendingCall {
            operation: DiskCall::Open,
            path: "/d/y".to_owned(),
            silent_ns: 2 * SECOND,
            allowance_ns: 0,
        };
        let report = Report { pending: Some(call), ..Report::default() };
        head.handle(now, Event::From(NodeId(1), FromAgent::Heartbeat(Vec::new())));
        head.handle(now, Event::From(NodeId(2), FromAgent::Heartbeat(vec![(COPY, report)])));
        for (_, epoch) in links(&head, NodeId(2)).into_iter().filter(|it| it.0 == LinkSide::Up) {
            let side = LinkSide::Down;
            let reason = "it asked for no blocks".to_owned();
            let lost = FromAgent::LinkLost { copy: COPY, lane: 0, epoch, side, reason };
            head.handle(now, Event::From(NodeId(1), lost));
        }
        head.handle(now, Event::Tick);
        if moved.is_none() && feeder(&head, NodeId(2)) == (HEAD, true) {
            moved = Some(step / 5);
        }
    }
    let seconds = moved.expect("the link is given up");
    assert!((60..65).contains(&seconds), "after {seconds} s");
    assert_eq!([1, 2].map(|node| head.verdict(NodeId(node))), [None, None]);
}

/// Returns the feeder of a node, and whether it is fed on the side.
fn feeder(head: &Head, node: NodeId) -> (NodeId, bool) {
    let near = head.routes(node).into_iter().find_map(|route| route.upstream).expect("it is fed").0;
    let fed = head.routes(near).into_iter().flat_map(|route| route.downstreams);
    let side_fed = fed.into_iter().find(|down| down.node == node).expect("a downstream").side_fed;
    (near, side_fed)
}

#[test]
fn a_node_is_fed_by_another_only_after_its_feeder_had_more_for_long() {
    // The head's machine has run for long, and the nodes before the last get a block every so
    // often.
    let began = 1_000_000 * SECOND;
    let names: Vec<String> = (1..=4).map(|number| format!("n{number}")).collect();
    let plan = Plan::broadcast(Layout::fitting(1 << 30), &names, 1).expect("there are nodes");
    let addresses = vec![vec![SocketAddr::from(([127, 0, 0, 1], 1))]; 5];
    let mut head = begun(Head::new(COPY, &plan, addresses, Policy::for_nodes(4), began));
    for node in (1..=4).map(NodeId) {
        head.handle(began, Event::From(node, FromAgent::Ready(COPY)));
    }
    let mut moved = None;
    for tick in 1..700 {
        let seconds = tick / 10;
        let now = began + tick * SECOND / 10;
        // Nobody gets anything for 30 s, then all but the last node do.
        let others = 1 + seconds.saturating_sub(29).min(20);
        for node in (1..=4).map(NodeId) {
            let held = if node == NodeId(4) { u64::from(seconds > 0) } else { others };
            let report = Report { held, whole: held, holder: true, ..Report::default() };
            let heartbeat = FromAgent::Heartbeat(vec![(COPY, report)]);
            head.handle(now, Event::From(node, heartbeat));
        }
        head.handle(now, Event::Tick);
        if moved.is_none() && feeder(&head, NodeId(4)) != (NodeId(3), false) {
            moved = Some((tick, feeder(&head, NodeId(4))));
        }
    }
    let (tick, to) = moved.expect("the last node is fed by another one in the end");
    assert!((449..=451).contains(&tick), "after {tick} tenths of a second");
    assert_eq!(to, (NodeId(2), true));
    assert!((1..=4).all(|node| head.verdict(NodeId(node)).is_none()));
}

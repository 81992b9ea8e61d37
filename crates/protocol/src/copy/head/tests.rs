//! Tests of the head's components.

use std::net::SocketAddr;

use garland_core::plan::{HEAD, Layout, NodeId, Plan};

use super::admission::{Admission, Consequence, Step};
use super::liveness::Liveness;
use super::milestones::{Milestone, Milestones};
use super::watch::{Mark, Watch};
use super::{Head, HeadEvent, NodeState, Policy, SlowNodes};
use crate::copy::copy_id::CopyId;
use crate::copy::report::{HopReport, LaneReport, Report};
use crate::message::FromAgent;

const COPY: CopyId = CopyId([7; 16]);

#[test]
fn agents_are_asked_one_by_one_in_the_order_of_their_keys() {
    let agents = [3, 1, 2, 4].map(|key| ([key; 32], NodeId(u32::from(10 - key)))).to_vec();
    let mut admission = Admission::default();
    assert_eq!(admission.refuse(5, NodeId(8)), Consequence::BeginAgain);
    assert_eq!(admission.refuse(6, NodeId(7)), Consequence::Nothing);
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

const MINUTE: u64 = 60_000_000_000;

/// An admission that queues for memory of two agents.
fn queued() -> Admission {
    let mut admission = Admission::default();
    assert_eq!(admission.refuse(0, NodeId(2)), Consequence::BeginAgain);
    queue_again(&mut admission);
    admission
}

fn queue_again(admission: &mut Admission) {
    admission.queue([1, 2].map(|id| ([id as u8; 32], NodeId(id))).to_vec());
}

/// Asks the agent `id`, which grants memory.
fn grant(admission: &mut Admission, now: u64, id: u32) {
    assert_eq!(admission.step(now), Some(Step::Ask(NodeId(id))));
    admission.grant(NodeId(id));
}

#[test]
fn memory_that_agents_granted_is_given_back_while_another_one_lets_wait() {
    let mut admission = queued();
    let mut now = 0;
    for _ in 0..9 {
        now += MINUTE;
        grant(&mut admission, now, 1);
        assert_eq!(admission.step(now), Some(Step::Ask(NodeId(2))));
        assert_eq!(admission.due(), Some(now + MINUTE));
        assert_eq!(admission.step(now + MINUTE - 1), None);
        now += MINUTE;
        assert_eq!(admission.step(now), Some(Step::GiveBack));
        assert_eq!((admission.due(), admission.step(now + MINUTE)), (None, None), "told once");
        assert_eq!(admission.waited_for(), [NodeId(2)]);
        queue_again(&mut admission);
    }
    // When it has memory at last, the copy has waited since the beginning.
    grant(&mut admission, now, 1);
    grant(&mut admission, now, 2);
    assert_eq!(admission.step(now), Some(Step::Through));
    assert_eq!((admission.waited(), admission.due()), (Some((0, now)), None));
}

#[test]
fn a_copy_goes_on_without_an_agent_that_never_grants_memory_if_others_do() {
    // Whichever is asked first.
    for busy in [1, 2] {
        let mut admission = queued();
        let mut now = 0;
        let without = loop {
            match admission.step(now) {
                Some(Step::Ask(id)) if id != NodeId(busy) => admission.grant(id),
                Some(Step::Ask(_)) => {}
                Some(Step::GiveBack) => queue_again(&mut admission),
                Some(Step::GoOnWithout(id)) => break id,
                Some(Step::Through) => panic!("one has granted nothing"),
                None => now = admission.due().expect("it does not wait for ever"),
            }
        };
        assert_eq!(without, NodeId(busy));
        assert!((10 * MINUTE..=25 * MINUTE).contains(&now), "{now}");
        admission.settle(without);
        assert_eq!(admission.step(now), Some(Step::Through));
    }
}

#[test]
fn a_copy_waits_as_long_as_no_agent_has_memory() {
    let mut admission = queued();
    let mut now = 0;
    for _ in 0..1000 {
        now = admission.due().unwrap_or(now);
        match admission.step(now) {
            Some(Step::GiveBack) => queue_again(&mut admission),
            step => assert!(matches!(step, Some(Step::Ask(_)) | None), "{step:?}"),
        }
    }
}

#[test]
fn an_agent_that_grants_memory_and_then_has_none_ends_a_copy_a_bounded_number_of_times() {
    let mut admission = Admission::default();
    let mut begun_again = 0;
    while admission.refuse(0, NodeId(1)) == Consequence::BeginAgain {
        begun_again += 1;
        assert!(begun_again < 100, "without end");
        admission.queue(vec![([1; 32], NodeId(1))]);
        assert_eq!(admission.step(0), Some(Step::Ask(NodeId(1))));
        admission.grant(NodeId(1));
        assert_eq!(admission.step(0), Some(Step::Through));
    }
    assert_eq!(begun_again, 3);
    assert_eq!(admission.refuse(0, NodeId(1)), Consequence::GoOnWithout);
}

#[test]
fn the_silent_are_found_when_they_are_due() {
    let mut liveness = Liveness::new(100, 100);
    (1..=3).for_each(|id| liveness.watch(id.into(), NodeId(id)));
    assert_eq!(liveness.due(), Some(101));
    liveness.hear(60, NodeId(1));
    liveness.forget(NodeId(2));
    assert_eq!(liveness.due(), Some(101), "earlier than needed, since messages do not move it");
    assert_eq!(liveness.take_silent(101).dead, []);
    assert_eq!(liveness.due(), Some(103));
    assert_eq!(liveness.take_silent(110).dead, [(NodeId(3), 107)]);
    assert!(liveness.watches(NodeId(1)) && !liveness.watches(NodeId(3)));
    liveness.excuse(50);
    assert_eq!((liveness.take_silent(209).dead, liveness.due()), (vec![], Some(210)));
    assert_eq!(liveness.take_silent(210).dead, [(NodeId(1), 100)]);
    assert!(liveness.is_idle() && liveness.due().is_none());
}

#[test]
fn silence_is_a_suspicion_first_and_a_message_refutes_it() {
    let mut liveness = Liveness::new(100, 500);
    (1..=3).for_each(|id| liveness.watch(0, NodeId(id)));
    for now in [90, 140] {
        [1, 3].into_iter().for_each(|id| assert!(!liveness.hear(now, NodeId(id))));
        let suspects = liveness.take_silent(now + 20).suspects;
        assert_eq!(suspects, if now == 90 { vec![NodeId(2)] } else { vec![] }, "told once");
    }
    assert!(liveness.suspects(NodeId(2)) && liveness.hear(200, NodeId(2)));
    assert!(!liveness.suspects(NodeId(2)) && !liveness.hear(200, NodeId(2)));
    // It was silent for 200 once: it may be for 400 now.
    for now in (250..=700).step_by(50) {
        [1, 3].into_iter().for_each(|id| assert!(!liveness.hear(now, NodeId(id))));
        let silent = liveness.take_silent(now);
        assert_eq!(silent.suspects, if now == 600 { vec![NodeId(2)] } else { vec![] }, "{now}");
        assert_eq!(silent.dead, if now == 700 { vec![(NodeId(2), 500)] } else { vec![] });
    }
}

#[test]
fn nobody_is_suspected_while_most_are_silent() {
    let mut liveness = Liveness::new(100, 500);
    (1..=4).for_each(|id| liveness.watch(u64::from(id), NodeId(id)));
    let mut suspects = Vec::new();
    for now in 90..300 {
        suspects.extend(liveness.take_silent(now).suspects);
    }
    assert_eq!(suspects, [], "the fault is at the head or in the network");
    [1, 2].into_iter().for_each(|id| assert!(!liveness.hear(300, NodeId(id))));
    for now in 300..350 {
        suspects.extend(liveness.take_silent(now).suspects);
    }
    assert_eq!(suspects, [NodeId(3), NodeId(4)], "the others are back");
    [1, 2].into_iter().for_each(|id| assert!(!liveness.hear(480, NodeId(id))));
    let dead = (480..510).flat_map(|now| liveness.take_silent(now).dead);
    assert_eq!(dead.collect::<Vec<_>>(), [(NodeId(3), 500), (NodeId(4), 500)]);
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

#[test]
fn a_hop_that_carries_holes_says_nothing_of_its_wire() {
    const MIB: u64 = 1 << 20;
    let mark = |sent: u64, passed: u64, at: u64| {
        let hop = HopReport { epoch: 1, sent, busy_ns: at, blocked_ns: 0 };
        Mark { at, hop, writer_at: at, writer: (0, 0), is_excused: true, starved_ns: 0, passed }
    };
    // Bytes of the wire and blocks of 4 MiB in a window: much of a block, one of a slow wire, and
    // holes with and without a block of bytes among them.
    let cases =
        [(3 * MIB, 1, false), (100_000, 1, false), (100_000, 900, true), (5 * MIB, 900, true)];
    for (sent, passed, is_hollow) in cases {
        let mut watch = Watch::default();
        let ends = (NodeId(0), NodeId(1));
        let mut measure = |mark| watch.measure(&[(ends.0, ends.1, mark)], 4 << 20);
        assert!(measure(mark(0, 7, 0)).is_some_and(|hops| hops.is_empty()));
        let hops = measure(mark(sent, 7 + passed, 200_000_000)).expect("bytes have moved");
        assert_eq!(hops[0].is_hollow(), is_hollow, "{sent} bytes, {passed} blocks");
    }
}

#[test]
fn one_of_two_nodes_that_lacks_processors_is_not_like_most() {
    let is_excused = |starved_ns: [u64; 2]| {
        let mut watch = Watch::default();
        let mut measure = |at: u64| {
            let marks = [1_u32, 2].map(|far| {
                let hop = HopReport { epoch: 1, sent: at / 100, busy_ns: at, blocked_ns: at / 2 };
                let starved_ns = starved_ns[(far - 1) as usize].min(at);
                let is_excused = true;
                let writer = (0, 0);
                let mark =
                    Mark { at, hop, writer_at: at, writer, is_excused, starved_ns, passed: at };
                (NodeId(far - 1), NodeId(far), mark)
            });
            watch.measure(&marks, 1)
        };
        assert!(measure(0).is_some_and(|hops| hops.is_empty()));
        let hops = measure(200_000_000).expect("bytes have moved");
        hops[1].is_starved_as(&hops)
    };
    assert!(!is_excused([0, u64::MAX]));
    assert!(is_excused([u64::MAX, u64::MAX]));
}

/// What a node that takes a block now and then says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Excuse {
    None,
    Pipe,
    /// Its disk is busy, although it was told not to wait for it.
    BusyDisk,
    /// Its disk is busy for a part of the time that is too short to be told so.
    LessBusyDisk,
    /// Its disk is busy, and no more nodes may be told not to wait.
    OneMoreBusyDisk,
    /// It got many blocks, which had no bytes.
    Holes,
    /// It passes on much more than it gets.
    Fast,
    /// Its link to the next node is not there.
    NoHop,
    /// It lives, and reports nothing.
    Mute,
    /// It reports in a tenth of the time.
    Rare,
}

#[test]
fn a_node_that_takes_a_block_now_and_then_is_fed_on_the_side_whatever_it_says() {
    let disks = [Excuse::BusyDisk, Excuse::LessBusyDisk, Excuse::OneMoreBusyDisk];
    let others = [Excuse::None, Excuse::Pipe, Excuse::Holes, Excuse::Fast];
    let silent = [Excuse::NoHop, Excuse::Mute, Excuse::Rare];
    for excuse in others.into_iter().chain(disks).chain(silent) {
        let (moved_after, side_fed) = moved_with(excuse);
        // A node that is fast by its own word has the next one tried first.
        let is_fast = excuse == Excuse::Fast;
        let tenths_max = if is_fast { 400 } else { 200 };
        let is_moved = moved_after.is_some_and(|tenths| tenths <= tenths_max);
        assert!(is_moved, "{excuse:?}: {moved_after:?}");
        assert_eq!(side_fed, if is_fast { 2 } else { 1 }, "{excuse:?}");
    }
}

/// Returns after how many tenths of a second such a node is fed on the side, and how many are then.
fn moved_with(excuse: Excuse) -> (Option<u64>, usize) {
    const MIB: u64 = 1 << 20;
    let mut head = head_of_five(Policy::for_nodes(5));
    let slow = 3;
    head.nodes[3].detached = excuse == Excuse::BusyDisk;
    head.nodes[5].detached = excuse == Excuse::OneMoreBusyDisk;
    let is_moved = |head: &Head| head.lanes[0].side_fed.contains(&NodeId(slow));
    let moved_after = (1..600).find(|tenth| {
        let now = tenth * 100_000_000;
        // It takes one each 3 s, which the others have in no time.
        let blocks = tenth / 30;
        for near in 0..5_u32 {
            let waits = near < slow;
            // How long the receiver takes bytes is an accident, where it mostly takes none.
            let moving_ns = blocks * [1_000_000, 150_000_000, 10_000_000][(near % 3) as usize];
            let hop = HopReport {
                epoch: near + 1,
                sent: blocks * MIB,
                busy_ns: if waits { now } else { moving_ns },
                blocked_ns: if waits { now - moving_ns } else { 0 },
            };
            let said = if near == slow { excuse } else { Excuse::None };
            if said == Excuse::Mute || said == Excuse::Rare && tenth % 10 != 0 {
                continue;
            }
            let received = if said == Excuse::Holes { tenth * 40 } else { blocks };
            let fast = HopReport { sent: now, busy_ns: now, blocked_ns: 0, ..hop };
            let hop = match said {
                Excuse::NoHop => None,
                Excuse::Fast => Some(fast),
                _ => Some(hop),
            };
            let lanes = vec![LaneReport { received, hop, untaken: None }];
            let disk_ns = match said {
                Excuse::LessBusyDisk => now * 2 / 5,
                Excuse::BusyDisk | Excuse::OneMoreBusyDisk => now,
                _ => 0,
            };
            let report = Report {
                lanes,
                holder: said != Excuse::Pipe,
                stalled_ns: disk_ns,
                blocked_ns: disk_ns,
                ..Report::default()
            };
            head.judge_disk(now, NodeId(near), report);
            head.nodes[NodeId(near).index()].reported = now;
        }
        head.judge_hops(now);
        is_moved(&head)
    });
    (moved_after, head.lanes[0].side_fed.len())
}

#[test]
fn a_suspect_is_not_fed_by_whom_it_fed_and_by_the_head_if_it_is_to_fail() {
    for (slow, feeders) in [(SlowNodes::Detach, &[1_u32, 2, 3][..]), (SlowNodes::Fail, &[0])] {
        let mut head = head_of_five(Policy::for_nodes(5).with_slow(slow, 500));
        for node in &mut head.nodes {
            node.report.holder = true;
        }
        let suspect = NodeId(4);
        head.feed_aside(0, suspect);
        let feeder = head.lanes[0].feeders[&suspect];
        assert!(feeders.contains(&feeder.0), "{slow:?}: {feeder:?}");
    }
}

#[test]
fn an_excuse_does_not_start_over_by_windows_without_a_suspect() {
    let second = 1_000_000_000;
    let mut watch = Watch::default();
    let [one, other] = [NodeId(3), NodeId(4)];
    assert!(watch.excuses(second, one) && watch.excuses(2 * second, other));
    assert!(watch.excuses(3 * second, one));
    assert!(!watch.excuses(5 * second, one));
    assert!(watch.excuses(5 * second, other));
    assert!(!watch.excuses(24 * second, one));
    assert!(watch.excuses(45 * second, one), "it has needed none for long");
}

/// Returns a head of a copy of 512 MiB to five nodes, which are ready.
fn head_of_five(policy: Policy) -> Head {
    let names: Vec<String> = (1..=5).map(|node| format!("n{node}")).collect();
    let plan = Plan::broadcast(Layout::fitting(512 << 20), &names, 1).expect("a plan");
    let addresses = vec![vec![SocketAddr::from(([127, 0, 0, 1], 1))]; 6];
    let mut head = Head::new(COPY, &plan, addresses, policy, 0);
    head.nodes.iter_mut().for_each(|node| node.state = NodeState::Ready);
    head
}

/// Returns a head of a copy of 16 MiB to two nodes.
fn head_of_two() -> Head {
    let plan = Plan::broadcast(Layout::fitting(16 << 20), &["n1".to_owned(), "n2".to_owned()], 1);
    let address = || vec![SocketAddr::from(([127, 0, 0, 1], 1))];
    let addresses = (0..3).map(|_| address()).collect();
    Head::new(COPY, &plan.unwrap(), addresses, Policy::for_nodes(2), 0)
}

#[test]
fn what_a_receiver_says_of_itself_does_not_make_its_hop_hollow() {
    let hollow = |claimed: u64| {
        let mut head = head_of_two();
        let mut look = |now: u64, blocks: u64, claimed: u64| {
            let sent = blocks * u64::from(head.block_size);
            let hop = HopReport { epoch: 1, sent, busy_ns: now, blocked_ns: 0 };
            let sender = LaneReport { received: blocks, hop: Some(hop), untaken: None };
            let receiver = LaneReport { received: claimed, hop: None, untaken: None };
            for (id, lane) in [(HEAD, sender), (NodeId(1), receiver)] {
                let node = &mut head.nodes[id.index()];
                node.report = Report { lanes: vec![lane], ..Report::default() };
                node.reported = now;
            }
            head.measure_hops(0).unwrap_or_default()
        };
        assert!(look(0, 0, 0).is_empty());
        look(200_000_000, 8, claimed)[0].is_hollow()
    };
    assert_eq!([8, 100_000].map(hollow), [false, false]);
}

#[test]
fn no_node_has_more_than_there_is() {
    let mut head = head_of_two();
    let lane = LaneReport { received: u64::MAX, hop: None, untaken: None };
    let all = Report { held: u64::MAX, whole: u64::MAX, lanes: vec![lane], ..Report::default() };
    for node in [1, 2].map(NodeId) {
        let heartbeat = FromAgent::Heartbeat(vec![(COPY, all.clone())]);
        head.handle(1, HeadEvent::From(node, heartbeat));
    }
    let blocks = Layout::fitting(16 << 20).blocks();
    let report = head.report(NodeId(1));
    let said = [head.held_by_all(), report.held, report.lanes[0].received];
    assert_eq!(said, [blocks; 3]);
}

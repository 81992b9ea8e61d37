//! Drives the operation with messages and times, without sockets.

use super::*;
use crate::measure::StreamTask;

const SECOND: u64 = 1_000_000_000;

/// A round of nodes 0 and 1 that has begun at time 0, and the id of its meeting.
fn begun(orders: &mut Orders) -> (MeetingRound, CopyId) {
    let limit = Duration::from_secs(1);
    let task =
        StreamTask { forward: 1, write: 1, packet: None, warm_up_ms: 0, least_ms: 0, most_ms: 0 };
    let pair =
        Pair { from: 0, to: 1, rail: 0, streams: 1, limit, pin: None, task: Task::Stream(task) };
    let address = "10.0.0.1:7".parse().unwrap();
    let id = CopyId([7; 16]);
    let keys = MeetingKeys { id, secret: Secret([1; 32]) };
    let mut round = MeetingRound::new([(pair, keys)], &[vec![], vec![address]]);
    round.begin(0, orders);
    let dials = orders.take().into_iter().map(|(node, order)| match order {
        ToAgent::Probe(meeting) if meeting.id == id => (node, meeting.dial),
        other => panic!("{other:?}"),
    });
    assert!(dials.eq([(1, None), (0, Some(address))]));
    (round, id)
}

fn ended(id: CopyId, complaint: Option<Complaint>) -> AgentEvent {
    AgentEvent::Message(FromAgent::ProbeEnded(id, complaint))
}

/// Returns the only meeting's end, and the nodes on which it was ended early.
fn end(round: MeetingRound, orders: &mut Orders) -> (PairEnd, Vec<usize>) {
    assert!(round.is_over());
    let told = orders.take().into_iter().map(|(node, _)| node).collect();
    (round.into_ends().next().unwrap().0, told)
}

#[test]
fn a_meeting_is_done_when_both_agents_have_ended_it() {
    let mut orders = Orders::default();
    let (mut round, id) = begun(&mut orders);
    round.handle(1, 0, ended(id, None), &mut orders);
    round.handle(2, 2, ended(id, None), &mut orders);
    assert!(!round.is_over(), "a stranger's end does not count");
    round.handle(3, 1, ended(id, None), &mut orders);
    assert_eq!(end(round, &mut orders), (PairEnd::Done, vec![]));
}

#[test]
fn the_node_that_left_first_is_at_fault_even_if_its_complaint_arrives_last() {
    let blamed = |complaints: [(usize, bool); 2]| {
        let mut orders = Orders::default();
        let (mut round, id) = begun(&mut orders);
        for (node, left_alone) in complaints {
            let complaint = Complaint { reason: node.to_string(), left_alone };
            round.handle(0, node, ended(id, Some(complaint)), &mut orders);
        }
        round.tick(COMPLAINT_NS, &mut orders);
        assert!(!round.is_over(), "the loss of an agent may be noticed later");
        round.tick(COMPLAINT_NS + 1, &mut orders);
        end(round, &mut orders)
    };
    let failed = |node: usize| (PairEnd::Failed(node, node.to_string()), vec![0, 1]);
    assert_eq!(blamed([(0, true), (1, false)]), failed(1));
    assert_eq!(blamed([(1, false), (0, true)]), failed(1));
    assert_eq!(blamed([(0, false), (1, false)]), failed(0));
}

#[test]
fn lost_late_and_interrupted_agents_end_a_meeting_on_both_nodes() {
    let mut orders = Orders::default();
    let (mut round, id) = begun(&mut orders);
    let alone = Complaint { reason: "left alone".to_owned(), left_alone: true };
    round.handle(1, 0, ended(id, Some(alone)), &mut orders);
    round.handle(2, 1, AgentEvent::Lost("it was killed".to_owned()), &mut orders);
    let killed = PairEnd::Failed(1, "it was killed".to_owned());
    assert_eq!(end(round, &mut orders), (killed, vec![0, 1]));

    let (mut round, id) = begun(&mut orders);
    round.handle(1, 0, ended(id, None), &mut orders);
    round.tick(11 * SECOND, &mut orders);
    assert!(!round.is_over());
    round.tick(11 * SECOND + 1, &mut orders);
    let (late, _) = end(round, &mut orders);
    assert!(matches!(late, PairEnd::Failed(1, why) if why.contains("did not end")));

    let (mut round, _) = begun(&mut orders);
    round.interrupt(1, &mut orders);
    assert_eq!(end(round, &mut orders), (PairEnd::Interrupted, vec![0, 1]));
}

#[test]
fn a_node_that_reports_more_than_it_was_asked_for_does_not_fill_the_heads_memory() {
    let mut orders = Orders::default();
    let (mut round, id) = begun(&mut orders);
    let found = |ns| AgentEvent::Message(FromAgent::Found(id, Box::new(Finding::Timer(ns))));
    (0..1000).for_each(|ns| round.handle(1, 0, found(ns), &mut orders));
    round.handle(1, 1, found(7), &mut orders);
    (0..2).for_each(|node| round.handle(2, node, ended(id, None), &mut orders));
    let findings = round.into_ends().next().unwrap().1;
    assert_eq!(findings.len(), 1 + FINDINGS_BESIDES_MAX + 1);
    assert!(findings.contains(&(1, Finding::Timer(7))), "the other node has room of its own");
}

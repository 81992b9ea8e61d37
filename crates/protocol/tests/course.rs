//! The course of a copy at its head: busy agents, late nodes, the end of a gather, and the end on
//! the agents.

use std::net::SocketAddr;

use garland_core::plan::{Layout, NodeId, Plan};
use garland_protocol::copy::{CopyId, Head, HeadEvent as Event, HeadOrder, Policy, Verdict};
use garland_protocol::{FromAgent, ToAgent};

const COPY: CopyId = CopyId([7; 16]);
const SECOND_COPY: CopyId = CopyId([8; 16]);
const SECOND: u64 = 1_000_000_000;
const ROOT: [u8; 32] = [5; 32];

fn plan(count: usize) -> Plan {
    let names: Vec<String> = (1..=count).map(|number| format!("n{number}")).collect();
    Plan::broadcast(Layout::fitting(1 << 20), &names, 1).expect("there are nodes")
}

fn address() -> Vec<SocketAddr> {
    vec![SocketAddr::from(([127, 0, 0, 1], 1))]
}

/// A head of a copy by `plan` that has not begun.
fn head_of(plan: &Plan, policy: Policy) -> Head {
    Head::new(COPY, plan, vec![address(); plan.nodes.len()], policy, 0)
}

/// A head of a copy to `count` nodes that has begun.
fn begun(count: usize) -> Head {
    let mut head = head_of(&plan(count), Policy::for_nodes(count));
    head.handle(0, Event::Begin);
    orders(&mut head);
    head
}

fn says(head: &mut Head, now: u64, node: u32, message: FromAgent) {
    head.handle(now, Event::From(NodeId(node), message));
}

/// Returns the nodes that have not closed the copy, or are dead.
fn silent(head: &Head, count: u32) -> Vec<u32> {
    (1..=count).filter(|node| head.outcome_of(NodeId(*node)).silent).collect()
}

/// Returns the orders since the last call, in short, without routes.
fn orders(head: &mut Head) -> Vec<String> {
    let orders = std::iter::from_fn(|| head.poll());
    let orders = orders.filter_map(|order| {
        Some(match order {
            HeadOrder::Start => "start".to_owned(),
            HeadOrder::Begin(id) => format!("begin {}", id.0),
            HeadOrder::Queue(id) => format!("queue {}", id.0),
            HeadOrder::BeginAgain => "begin again".to_owned(),
            HeadOrder::Attach(id) => format!("attach {}", id.0),
            HeadOrder::Send(id, ToAgent::Close(_)) => format!("close {}", id.0),
            HeadOrder::Send(id, ToAgent::Commit(..)) => format!("commit {}", id.0),
            HeadOrder::Commit => "commit here".to_owned(),
            HeadOrder::Finished => "finished".to_owned(),
            HeadOrder::Send(..) | HeadOrder::Route(_) => return None,
        })
    });
    orders.collect()
}

#[test]
fn nodes_that_cannot_be_reached_are_not_ordered_to_begin() {
    let mut head = head_of(&plan(2), Policy::for_nodes(2));
    head.handle(0, Event::Unavailable(NodeId(1), "no route to host".to_owned()));
    assert_eq!(orders(&mut head), [""; 0]);
    head.handle(0, Event::Begin);
    assert_eq!(orders(&mut head), ["start", "begin 2"]);
    assert_eq!(head.verdict(NodeId(1)), Some(Verdict::Failed("no route to host".to_owned())));
    head.handle(0, Event::Unavailable(NodeId(2), "no route to host".to_owned()));
    assert!(orders(&mut head).contains(&"finished".to_owned()));
}

#[test]
fn a_copy_without_any_node_ends_at_once() {
    let mut head = head_of(&plan(1), Policy::for_nodes(1));
    head.handle(0, Event::Unavailable(NodeId(1), "no route to host".to_owned()));
    head.handle(0, Event::Begin);
    assert!(orders(&mut head).contains(&"finished".to_owned()));
    assert_eq!(head.deadline(), None);
}

/// A head of a copy to three nodes, of which the first has committed, the third is busy, and all
/// have closed the copy.
fn busy() -> Head {
    let mut head = begun(3);
    head.handle(1, Event::SourceRead(ROOT));
    says(&mut head, 2, 1, FromAgent::Complete(COPY, ROOT, Box::default()));
    says(&mut head, 2, 1, FromAgent::Committed(COPY, Box::default()));
    says(&mut head, 3, 3, FromAgent::Busy(COPY, 1));
    assert_eq!(orders(&mut head), ["commit 1", "begin again"]);
    says(&mut head, 3, 3, FromAgent::Busy(COPY, 1));
    head.handle(4, Event::Close);
    assert_eq!(orders(&mut head), ["close 1", "close 2", "close 3"]);
    head
}

#[test]
fn after_a_busy_agent_the_copy_queues_and_leaves_out_nodes_that_have_ended() {
    let mut head = busy();
    for node in 1..=3 {
        assert!(!head.is_closed());
        says(&mut head, 5, node, FromAgent::Closed(COPY));
    }
    assert!(head.is_closed());
    // By their keys, the third is asked first.
    let keys = [(1, 1), (2, 3), (3, 2)].map(|(id, key)| ([key; 32], NodeId(id))).to_vec();
    head.begin_again(6, SECOND_COPY, &plan(3), keys);
    assert_eq!(orders(&mut head), ["queue 3"]);
    assert_eq!(head.waited_for(), [NodeId(3)]);
    says(&mut head, 7, 3, FromAgent::Admitted(COPY));
    assert_eq!(orders(&mut head), [""; 0], "that was the last attempt");
    says(&mut head, 7, 3, FromAgent::Admitted(SECOND_COPY));
    assert_eq!(orders(&mut head), ["queue 2"]);
    says(&mut head, 9, 2, FromAgent::Admitted(SECOND_COPY));
    assert_eq!(orders(&mut head), ["start", "begin 2", "begin 3"]);
    assert_eq!((head.moments(99).waited, head.waited_for()), (Some((3, 9)), vec![]));
    assert_eq!(head.verdict(NodeId(1)), Some(Verdict::Ok));
    assert_eq!(head.outcome_of(NodeId(1)).held_ns, Some(2));
    let fed = head.routes(NodeId(0)).into_iter().flat_map(|route| route.downstreams);
    assert_eq!(fed.map(|down| down.node).collect::<Vec<_>>(), [NodeId(2)]);
}

#[test]
fn a_node_that_dies_in_the_queue_holds_nobody_up() {
    let mut head = busy();
    (1..=3).for_each(|node| says(&mut head, 5, node, FromAgent::Closed(COPY)));
    let keys = (2..=3).map(|id| ([9 - id as u8; 32], NodeId(id))).collect();
    head.begin_again(6, SECOND_COPY, &plan(3), keys);
    assert_eq!(orders(&mut head), ["queue 3"]);
    head.handle(7, Event::Lost(NodeId(3), "its agent exited".to_owned()));
    assert_eq!(orders(&mut head), ["queue 2"]);
    head.handle(8, Event::Interrupted);
    assert_eq!(orders(&mut head), ["finished"], "an interrupted copy does not begin");
}

#[test]
fn a_node_that_lets_wait_for_memory_takes_that_of_others_for_a_minute_only() {
    let mut head = busy();
    (1..=3).for_each(|node| says(&mut head, 5, node, FromAgent::Closed(COPY)));
    let keys = || [1, 2, 3].map(|id| ([id as u8; 32], NodeId(id))).to_vec();
    head.begin_again(6, SECOND_COPY, &plan(3), keys());
    assert_eq!(orders(&mut head), ["queue 2"]);
    says(&mut head, 7, 2, FromAgent::Admitted(SECOND_COPY));
    assert_eq!(orders(&mut head), ["queue 3"]);
    // Both go on sending heartbeats, and the third says nothing else.
    let mut given_back = None;
    for now in (1..200).map(|second| second * SECOND) {
        (2..=3).for_each(|node| head.handle(now, Event::Heard(NodeId(node))));
        if head.deadline().is_some_and(|at| at <= now) {
            head.handle(now, Event::Tick);
        }
        if orders(&mut head) == ["begin again"] {
            given_back = Some(now / SECOND);
            break;
        }
    }
    assert_eq!(given_back, Some(61));
    head.handle(61 * SECOND, Event::Close);
    assert!(head.is_closed(), "no node has begun");
    orders(&mut head);
    head.begin_again(61 * SECOND, COPY, &plan(3), keys());
    assert_eq!(
        (orders(&mut head), head.waited_for()),
        (vec!["queue 2".to_owned()], vec![NodeId(3)])
    );
}

#[test]
fn nodes_that_do_not_close_the_copy_are_left_out_of_the_next_attempt() {
    let mut head = busy();
    says(&mut head, 5, 1, FromAgent::Closed(COPY));
    // The second is silent, the third speaks but does not close.
    for tenth in 1..70 {
        let now = tenth * SECOND / 10;
        head.handle(now, Event::Heard(NodeId(3)));
        if head.deadline().is_some_and(|at| at <= now) {
            head.handle(now, Event::Tick);
        }
        assert_eq!(head.is_closed(), now >= 5 * SECOND + 8 * SECOND / 10 + 4, "at {now}");
    }
    let keys = (2..=3).map(|id| ([1; 32], NodeId(id))).collect();
    head.begin_again(7 * SECOND, SECOND_COPY, &plan(3), keys);
    assert_eq!(orders(&mut head), ["finished"]);
    let dead = "no message from its agent for 5 s".to_owned();
    assert_eq!(head.verdict(NodeId(2)), Some(Verdict::Dead(dead)));
    let failed = "its agent did not release its memory".to_owned();
    assert_eq!(head.verdict(NodeId(3)), Some(Verdict::Failed(failed)));
    assert_eq!(silent(&head, 3), [2, 3]);
    head.handle(8 * SECOND, Event::Close);
    assert!(head.is_closed(), "they are not awaited again");
}

#[test]
fn silent_agents_are_not_awaited_when_a_copy_is_closed() {
    let mut head = begun(2);
    head.handle(SECOND, Event::Interrupted);
    head.handle(SECOND, Event::Close);
    says(&mut head, SECOND, 1, FromAgent::Closed(COPY));
    assert!(!head.is_closed());
    let due = head.deadline().expect("the second node is awaited");
    assert_eq!(due, SECOND + SECOND / 2, "after an interrupt, half a second");
    head.handle(due, Event::Tick);
    assert!(head.is_closed());
    assert_eq!(silent(&head, 2), [2]);
    assert_eq!(head.deadline(), None);
}

#[test]
fn a_late_node_joins_and_fails_if_its_agent_is_busy() {
    let mut head = begun(2);
    head.handle(0, Event::Unavailable(NodeId(2), "no route to host".to_owned()));
    assert!(!head.is_ready());
    says(&mut head, 1, 1, FromAgent::Ready(COPY));
    assert!(head.is_ready() && head.may_join(NodeId(2)) && !head.may_join(NodeId(1)));
    orders(&mut head);
    head.handle(2, Event::Joined(NodeId(2), address()));
    head.handle(2, Event::Added("new".to_owned(), Ok(address())));
    head.handle(2, Event::Added("newer".to_owned(), Err("no such host".to_owned())));
    assert_eq!(orders(&mut head), ["begin 2", "begin 3"]);
    assert_eq!(head.verdict(NodeId(2)), None);
    assert_eq!(head.verdict(NodeId(4)), Some(Verdict::Failed("no such host".to_owned())));
    says(&mut head, 3, 3, FromAgent::Busy(COPY, 1));
    assert_eq!(orders(&mut head), ["close 3"]);
    let Some(Verdict::Failed(reason)) = head.verdict(NodeId(3)) else { panic!("it failed") };
    assert!(reason.starts_with("it joined late, and its agent has no free memory"), "{reason}");
    // The last phase ends when the late node has everything, too.
    says(&mut head, 4, 1, FromAgent::Complete(COPY, ROOT, Box::default()));
    assert_eq!(head.moments(99).held, 99);
    says(&mut head, 5, 2, FromAgent::Complete(COPY, ROOT, Box::default()));
    assert_eq!((head.moments(99).ready, head.moments(99).held), (1, 5));
}

#[test]
fn a_copy_waits_for_a_node_that_is_still_being_reached() {
    let finished = || "finished".to_owned();
    let mut head = head_of(&plan(2), Policy::for_nodes(2));
    head.handle(0, Event::Unavailable(NodeId(2), "no answer yet".to_owned()));
    head.handle(0, Event::Awaited(NodeId(2)));
    head.handle(0, Event::Begin);
    assert_eq!(orders(&mut head), ["start", "begin 1"], "the other one waits for nobody");
    head.handle(1, Event::SourceRead(ROOT));
    says(&mut head, 2, 1, FromAgent::Complete(COPY, ROOT, Box::default()));
    says(&mut head, 2, 1, FromAgent::Committed(COPY, Box::default()));
    assert_eq!(orders(&mut head), ["commit 1"]);
    assert_eq!(head.verdict(NodeId(1)), Some(Verdict::Ok));
    head.handle(3, Event::Joined(NodeId(2), address()));
    assert_eq!(orders(&mut head), ["begin 2"]);
    says(&mut head, 4, 2, FromAgent::Complete(COPY, ROOT, Box::default()));
    says(&mut head, 4, 2, FromAgent::Committed(COPY, Box::default()));
    assert!(orders(&mut head).contains(&finished()));

    let mut head = head_of(&plan(2), Policy::for_nodes(2));
    head.handle(0, Event::Unavailable(NodeId(2), "no answer yet".to_owned()));
    head.handle(0, Event::Awaited(NodeId(2)));
    head.handle(0, Event::Unavailable(NodeId(1), "no such host".to_owned()));
    head.handle(0, Event::Begin);
    assert!(!orders(&mut head).contains(&finished()));
    head.handle(1, Event::Unavailable(NodeId(2), "no route to host".to_owned()));
    assert!(orders(&mut head).contains(&finished()));
    let reason = "no route to host".to_owned();
    assert_eq!(head.verdict(NodeId(2)), Some(Verdict::Failed(reason)));

    let mut head = head_of(&plan(2), Policy::for_nodes(2));
    head.handle(0, Event::Unavailable(NodeId(2), "no answer yet".to_owned()));
    head.handle(0, Event::Awaited(NodeId(2)));
    head.handle(0, Event::Begin);
    assert!(head.is_awaited(NodeId(2)));
    head.handle(1, Event::SourceRead(ROOT));
    says(&mut head, 2, 1, FromAgent::Complete(COPY, ROOT, Box::default()));
    says(&mut head, 2, 1, FromAgent::Committed(COPY, Box::default()));
    assert!(!orders(&mut head).contains(&finished()));
    head.handle(3, Event::Interrupted);
    assert!(orders(&mut head).contains(&finished()), "an interrupt ends it");
    assert!(!head.is_awaited(NodeId(2)));
    let reason = "it did not answer before the interrupt".to_owned();
    assert_eq!(head.verdict(NodeId(2)), Some(Verdict::Failed(reason)));
}

/// A head to which two nodes have sent everything.
fn gathered(manifest: Vec<[u8; 32]>) -> Head {
    let names = ["n1".to_owned(), "n2".to_owned()];
    let plan = Plan::broadcast(Layout::fitting(1 << 20), &names, 1).expect("there are nodes");
    let mut head = head_of(&plan.reversed(), Policy::for_nodes(2).together());
    head.handle(0, Event::Begin);
    for node in 1..=2 {
        says(&mut head, 1, node, FromAgent::Complete(COPY, ROOT, Box::default()));
    }
    orders(&mut head);
    head.handle(2, Event::Received { roots: vec![ROOT; 2], manifest });
    head
}

#[test]
fn sources_are_done_when_the_head_has_committed_and_their_silence_does_not_matter() {
    for stored in [Ok(()), Err("no space left".to_owned())] {
        let mut head = gathered(Vec::new());
        assert_eq!(orders(&mut head), ["commit 1", "commit 2"]);
        says(&mut head, 3, 2, FromAgent::Committed(COPY, Box::default()));
        assert_eq!(orders(&mut head), [""; 0]);
        says(&mut head, 3, 1, FromAgent::Committed(COPY, Box::default()));
        says(&mut head, 3, 1, FromAgent::Committed(COPY, Box::default()));
        assert_eq!(orders(&mut head), ["commit here"]);
        head.handle(9 * SECOND, Event::Tick);
        head.handle(9 * SECOND, Event::Lost(NodeId(1), "its agent exited".to_owned()));
        assert_eq!([1, 2].map(|id| head.verdict(NodeId(id))), [None, None]);
        head.handle(9 * SECOND, Event::Stored(stored.clone()));
        assert!(orders(&mut head).contains(&"finished".to_owned()));
        let verdict = match stored {
            Ok(()) => Verdict::Ok,
            Err(reason) => Verdict::Failed(format!("on this machine: {reason}")),
        };
        assert_eq!(head.verdict(NodeId(2)), Some(verdict));
    }
}

#[test]
fn nobody_commits_before_the_order() {
    // One source has sent everything, the other one only says so.
    let names = ["n1".to_owned(), "n2".to_owned()];
    let plan = Plan::broadcast(Layout::fitting(1 << 20), &names, 1).expect("there are nodes");
    let mut head = head_of(&plan.reversed(), Policy::for_nodes(2).together());
    head.handle(0, Event::Begin);
    orders(&mut head);
    says(&mut head, 1, 1, FromAgent::Complete(COPY, ROOT, Box::default()));
    for node in [1, 2] {
        says(&mut head, 1, node, FromAgent::Committed(COPY, Box::default()));
    }
    assert_eq!(orders(&mut head), [""; 0]);
    // Nor does a node that the head copies to, whatever it says that it has.
    let mut head = begun(2);
    says(&mut head, 1, 1, FromAgent::Committed(COPY, Box::default()));
    says(&mut head, 1, 2, FromAgent::Complete(COPY, ROOT, Box::default()));
    says(&mut head, 1, 2, FromAgent::Committed(COPY, Box::default()));
    assert_eq!([1, 2].map(|node| head.verdict(NodeId(node))), [None, None]);
    head.handle(2, Event::SourceRead(ROOT));
    assert_eq!(orders(&mut head), ["commit 2"]);
    says(&mut head, 3, 2, FromAgent::Committed(COPY, Box::default()));
    assert_eq!([1, 2].map(|node| head.verdict(NodeId(node))), [None, Some(Verdict::Ok)]);
}

#[test]
fn a_gather_does_not_commit_after_an_interrupt() {
    let mut head = gathered(Vec::new());
    says(&mut head, 3, 2, FromAgent::Committed(COPY, Box::default()));
    head.handle(4, Event::Interrupted);
    says(&mut head, 5, 1, FromAgent::Committed(COPY, Box::default()));
    assert!(!orders(&mut head).contains(&"commit here".to_owned()));
}

#[test]
fn a_stripe_that_differs_from_its_manifest_fails_the_gather() {
    let mut head = gathered(vec![ROOT, [9; 32]]);
    assert_eq!(orders(&mut head), ["close 2", "close 1", "finished"]);
    let Some(Verdict::Failed(reason)) = head.verdict(NodeId(2)) else { panic!("it failed") };
    assert!(reason.starts_with("its stripe has changed"), "{reason}");
}

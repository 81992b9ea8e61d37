//! Rules of the head machine in striped copies.

use std::net::SocketAddr;

use garland_core::plan::{NodeId, Plan, Stripes};
use garland_protocol::copy::{Head, HeadEvent as Event, HeadOrder, Policy, Verdict};
use garland_protocol::{FromAgent, ToAgent};

use crate::{COPY, begun, failures};

/// A head of a striped copy to two servers.
pub fn striped(reversed: bool) -> Head {
    let names = ["io1".to_owned(), "io2".to_owned()];
    let stripes = Stripes::new(1 << 20, 1 << 16, 2).expect("they can be");
    let layout = stripes.fitting_layout().expect("it can be");
    let plan = Plan::striped(layout, stripes, &names, 1).expect("there are servers");
    let plan = if reversed { plan.reversed() } else { plan };
    let addresses = [vec![], vec![7001], vec![7002]];
    let address = |port: u16| SocketAddr::from(([127, 0, 0, 1], port));
    let addresses = addresses.map(|ports| ports.into_iter().map(address).collect()).to_vec();
    let policy = Policy::for_nodes(2);
    let policy = if reversed { policy.together() } else { policy.striped() };
    begun(Head::new(COPY, &plan, addresses, policy, 0))
}

fn complete(head: &mut Head, node: u32, root: [u8; 32]) {
    let complete = FromAgent::Complete(COPY, root, Box::default());
    head.handle(1, Event::From(NodeId(node), complete));
}

/// Returns what servers were ordered to do about their stripes since the last call, with the first
/// byte of the digest.
fn ordered(head: &mut Head) -> Vec<(u32, &'static str, u8)> {
    let orders = std::iter::from_fn(|| head.poll());
    let about_stripes = orders.filter_map(|order| match order {
        HeadOrder::Attach(node) => Some((node.0, "attach", 0)),
        HeadOrder::Send(node, ToAgent::Prepare(_, root)) => Some((node.0, "prepare", root[0])),
        HeadOrder::Send(node, ToAgent::Commit(_, root)) => Some((node.0, "commit", root[0])),
        HeadOrder::Send(node, ToAgent::Settle(_)) => Some((node.0, "settle", 0)),
        HeadOrder::Send(node, ToAgent::Close(_)) => Some((node.0, "close", 0)),
        _ => None,
    });
    about_stripes.collect()
}

fn says(head: &mut Head, node: u32, message: FromAgent) {
    head.handle(1, Event::From(NodeId(node), message));
}

fn committed() -> FromAgent {
    FromAgent::Committed(COPY, Box::default())
}

/// Returns a head whose servers have all prepared, and were ordered to commit.
fn prepared() -> Head {
    let mut head = striped(false);
    complete(&mut head, 1, [1; 32]);
    complete(&mut head, 2, [2; 32]);
    head.handle(1, Event::PartsKnown(vec![[1; 32], [2; 32]]));
    for node in [1, 2] {
        says(&mut head, node, FromAgent::Prepared(COPY));
    }
    ordered(&mut head);
    head
}

#[test]
fn no_stripe_commits_before_all_can() {
    let mut head = striped(false);
    complete(&mut head, 2, [2; 32]);
    head.handle(1, Event::PartsKnown(vec![[1; 32], [2; 32]]));
    assert_eq!(
        ordered(&mut head),
        [(1, "attach", 0), (2, "attach", 0)],
        "the manifest comes first"
    );
    assert_eq!(head.roots(), [[1; 32], [2; 32]]);
    complete(&mut head, 1, [1; 32]);
    assert_eq!(ordered(&mut head), [(1, "prepare", 1), (2, "prepare", 2)]);
    says(&mut head, 2, FromAgent::Prepared(COPY));
    says(&mut head, 2, committed());
    assert_eq!(ordered(&mut head), [], "the first one has not prepared");
    says(&mut head, 1, FromAgent::Prepared(COPY));
    assert_eq!(ordered(&mut head), [(1, "commit", 1), (2, "commit", 2)]);
}

#[test]
fn old_stripes_are_removed_when_every_server_has_the_new_ones() {
    let mut head = prepared();
    says(&mut head, 1, committed());
    assert_eq!((ordered(&mut head), head.verdict(NodeId(1))), (vec![], None));
    // What a node has committed stays.
    head.handle(1, Event::Lost(NodeId(1), "its agent exited or was killed".to_owned()));
    assert_eq!((ordered(&mut head), head.verdict(NodeId(1))), (vec![], None));
    says(&mut head, 2, committed());
    assert_eq!(ordered(&mut head), [(2, "settle", 0)]);
    assert_eq!(
        [1, 2].map(|node| head.verdict(NodeId(node))),
        [Some(Verdict::Ok), Some(Verdict::Ok)]
    );
}

#[test]
fn if_a_server_dies_before_it_has_committed_the_new_stripes_are_withdrawn() {
    for is_prepared in [false, true] {
        let mut head = prepared();
        says(&mut head, 1, committed());
        let end = match is_prepared {
            true => Event::Lost(NodeId(2), "its agent exited or was killed".to_owned()),
            false => Event::From(NodeId(2), FromAgent::Failed(COPY, "no space left".to_owned())),
        };
        head.handle(1, end);
        assert!(ordered(&mut head).contains(&(1, "close", 0)));
        let Some(Verdict::Failed(reason)) = head.verdict(NodeId(1)) else {
            panic!("it has failed")
        };
        assert!(
            reason.starts_with("all servers of a striped file are needed, and io2 failed: "),
            "{reason}"
        );
        assert!(reason.ends_with("; the new stripes are withdrawn"), "{reason}");
        assert_ne!(head.verdict(NodeId(2)), Some(Verdict::Ok));
        // Later messages change nothing.
        says(&mut head, 1, committed());
        says(&mut head, 2, committed());
        assert_eq!(ordered(&mut head), []);
        assert!(matches!(head.verdict(NodeId(1)), Some(Verdict::Failed(_))));
    }
}

#[test]
fn no_stripe_stays_committed_after_an_interrupt() {
    let mut head = prepared();
    says(&mut head, 1, committed());
    head.handle(2, Event::Interrupted);
    assert_eq!(ordered(&mut head), [(1, "close", 0), (2, "close", 0)]);
    let interrupted = Some(Verdict::Failed("interrupted".to_owned()));
    assert_eq!([1, 2].map(|node| head.verdict(NodeId(node))), [interrupted.clone(), interrupted]);
}

#[test]
fn one_stripe_that_is_not_the_sources_fails_all() {
    let mut head = striped(false);
    complete(&mut head, 1, [1; 32]);
    complete(&mut head, 2, [9; 32]);
    head.handle(1, Event::PartsKnown(vec![[1; 32], [2; 32]]));
    assert_eq!(
        ordered(&mut head),
        [(1, "attach", 0), (2, "attach", 0), (2, "close", 0), (1, "close", 0)]
    );
    assert_eq!(
        failures(&head, 2),
        [
            (
                1,
                "all servers of a striped file are needed, and io2 failed: the digest of its blocks differs from that of the source"
                    .to_owned()
            ),
            (2, "the digest of its blocks differs from that of the source".to_owned())
        ]
    );
}

#[test]
fn a_striped_file_cannot_lose_a_server() {
    let mut head = striped(false);
    head.handle(1, Event::Lost(NodeId(1), "its agent exited or was killed".to_owned()));
    let reason =
        "all servers of a striped file are needed, and io1 failed: its agent exited or was killed";
    assert_eq!(
        head.verdict(NodeId(1)),
        Some(Verdict::Dead("its agent exited or was killed".to_owned()))
    );
    complete(&mut head, 2, [2; 32]);
    let other = head.verdict(NodeId(2));
    assert_eq!(other, Some(Verdict::Failed(reason.to_owned())), "later messages change nothing");
    assert!(std::iter::from_fn(|| head.poll()).any(|order| matches!(order, HeadOrder::Finished)));
}

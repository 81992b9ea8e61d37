//! Drives the operation with messages and times, without sockets.

use garland_core::plan::Layout;

use super::super::CopyPair;
use super::*;
use crate::copy::{CopyId, Report};
use crate::measure::{BalanceEvent, FeedEvent};
use crate::wire::Secret;
use crate::{FromAgent, ToAgent};

const COPY: CopyId = CopyId([7; 16]);

fn new_job() -> RoundJob {
    RoundJob {
        errands: vec![CopyPair { from: 0, to: 1 }],
        layout: Layout::new(4096, 4096).unwrap(),
        cold: false,
        path: Vec::new(),
        fsync: false,
        sealed: false,
        congestion: Vec::new(),
        mptcp: false,
    }
}

fn new_round(job: &RoundJob) -> BalanceRound<'_> {
    let names = ["n1", "n2"].map(str::to_owned);
    let [secret, signing, links] = [1, 2, 3].map(|byte| Secret([byte; 32]));
    let keys = CopyKeys { copy: COPY, secret, signing, links };
    BalanceRound::new(job, [keys], &names, &[vec![], vec![([10, 0, 0, 2], 7).into()]], 0)
}

/// Calls `tick`, and returns its orders: the node's index, and the name of the order.
fn told(round: &mut BalanceRound<'_>, now: u64, mut orders: Orders) -> Vec<(usize, String)> {
    round.tick(now, &mut orders);
    let word = |(node, message): (usize, ToAgent)| {
        let text = format!("{message:?}");
        let words: Vec<&str> = text.split(|it: char| !it.is_alphanumeric()).take(2).collect();
        (node, if words[0] == "Balance" { words[1] } else { words[0] }.to_owned())
    };
    orders.take().into_iter().map(word).collect()
}

/// Runs a round until its feeder feeds the copy.
fn feed(round: &mut BalanceRound<'_>) {
    let mut orders = Orders::default();
    round.begin(0, &mut orders);
    assert_eq!(told(round, 1, orders), [(1, "Begin".to_owned())]);
    let ready = AgentEvent::Message(FromAgent::Ready(COPY));
    round.handle(2, 1, ready, &mut Orders::default());
    let started = told(round, 3, Orders::default());
    assert_eq!(started[0], (0, "Feed".to_owned()), "{started:?}");
}

/// Lets both nodes close the copy, feeder first.
fn close(round: &mut BalanceRound<'_>) {
    let mut none = Orders::default();
    let ended = BalanceEvent::Fed(COPY, FeedEvent::Ended(Vec::new()));
    round.handle(9, 0, AgentEvent::Message(FromAgent::Balance(ended)), &mut none);
    assert_eq!(told(round, 10, Orders::default()), [(1, "Close".to_owned())]);
    assert!(!round.is_over());
    round.handle(11, 1, AgentEvent::Message(FromAgent::Closed(COPY)), &mut none);
    assert!(told(round, 12, Orders::default()).is_empty() && round.is_over());
}

#[test]
fn an_interrupted_round_closes_its_copies_feeders_first() {
    let job = new_job();
    let mut round = new_round(&job);
    feed(&mut round);
    round.interrupt(5, &mut Orders::default());
    let last = told(&mut round, 6, Orders::default()).pop();
    assert_eq!(last, Some((0, "End".to_owned())));
    close(&mut round);
    assert_eq!(round.into_end().0, PairEnd::Interrupted);
}

#[test]
fn a_round_without_progress_fails_and_blames_the_feeder() {
    let job = new_job();
    let mut round = new_round(&job);
    feed(&mut round);
    let late = 31_000_000_000;
    told(&mut round, late, Orders::default());
    // Neither agent answers any more: the round ends nevertheless.
    told(&mut round, late + CLOSING_NS, Orders::default());
    told(&mut round, late + 2 * CLOSING_NS, Orders::default());
    assert!(round.is_over());
    let why = "no copy of the round made progress for 30 s".to_owned();
    assert_eq!(round.into_end().0, PairEnd::Failed(0, why));
}

#[test]
fn a_node_without_an_agent_fails_the_round_and_the_others_close_it() {
    let job = new_job();
    let mut round = new_round(&job);
    let lost = AgentEvent::Lost("it was killed".to_owned());
    round.handle(0, 0, lost, &mut Orders::default());
    let mut orders = Orders::default();
    round.begin(0, &mut orders);
    told(&mut round, 1, orders);
    assert_eq!(told(&mut round, 2, Orders::default()), [(1, "Close".to_owned())]);
    let closed = AgentEvent::Message(FromAgent::Closed(COPY));
    round.handle(3, 1, closed, &mut Orders::default());
    told(&mut round, 4, Orders::default());
    assert!(round.is_over());
    let killed = PairEnd::Failed(0, "it was killed".to_owned());
    assert_eq!(round.into_end().0, killed);
}

#[test]
fn a_sink_that_says_anything_does_not_hold_up_the_round() {
    let job = new_job();
    let mut round = new_round(&job);
    feed(&mut round);
    let report = |held| Report { held, ..Report::default() };
    for second in 1..1000 {
        let now = second * 10_000_000_000;
        let heartbeat = FromAgent::Heartbeat(vec![(COPY, report(second % 2))]);
        for message in [FromAgent::Looking, FromAgent::Closed(COPY), heartbeat] {
            round.handle(now, 1, AgentEvent::Message(message), &mut Orders::default());
        }
        told(&mut round, now, Orders::default());
    }
    assert!(round.is_over());
}

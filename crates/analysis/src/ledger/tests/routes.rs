//! Copies whose routes changed, whose nodes died, or whose nodes commit together.

use garland_core::trace::{Direction, Exchange, Record, Socket, Span, Stage};

use super::model::{MS, Made, Model, every};
use crate::ledger::{Cause, Fault, Place};

/// The thread of node 1 that feeds node 3 on the side.
const SIDE: u16 = 9;

fn spans(made: &mut Made, node: usize) -> impl Iterator<Item = &mut Span> {
    made.traces[node].as_mut().unwrap().records.iter_mut().filter_map(|record| match record {
        Record::Span(span) => Some(span),
        _ => None,
    })
}

/// A chain with a slow hop, whose last node is fed by node 1 instead of node 2.
fn side_fed(slow: usize) -> (Made, Vec<Record>) {
    let mut model = Model::healthy(3);
    model.wires[slow] = every(40 * MS);
    let mut made = model.run();
    spans(&mut made, 3).filter(|span| span.peer == 2).for_each(|span| span.peer = 1);
    let of_feeder = |record: &Record| match record {
        Record::Span(span) if span.peer == 3 && span.thread == 2 => {
            Some(Record::Span(Span { thread: SIDE, ..*span }))
        }
        _ => None,
    };
    let records = &mut made.traces[2].as_mut().unwrap().records;
    let moved: Vec<Record> = records.iter().filter_map(of_feeder).collect();
    records.retain(|record| of_feeder(record).is_none());
    (made, moved)
}

fn only(made: &Made) -> Fault {
    let ledger = made.explain();
    assert_eq!(ledger.faults.len(), 1, "{:#?} {:#?}", ledger.faults, ledger.rows);
    ledger.faults[0]
}

#[test]
fn a_node_that_is_fed_on_the_side_has_its_time_on_the_hop_from_its_feeder() {
    let (mut made, moved) = side_fed(2);
    made.add(1, moved);
    let fault = only(&made);
    assert_eq!((fault.cause, fault.place), (Cause::Wire, Place::hop(1, 3)));
    // It runs at a fifth of the other wires' rate once node 1 has sent node 2 all.
    assert!(fault.pace.is_some_and(|pace| pace < 0.5), "{fault:?}");
}

#[test]
fn slow_hops_from_one_node_are_one_fault() {
    let mut model = Model::healthy(3);
    (model.wires[1], model.wires[2]) = (every(16 * MS), every(40 * MS));
    // Both hops of the second half of the chain are node 1's.
    let mut made = model.run();
    spans(&mut made, 3).filter(|span| span.peer == 2).for_each(|span| span.peer = 1);
    made.traces[2].as_mut().unwrap().records.retain(
        |record| !matches!(record, Record::Span(span) if span.peer == 3 && span.thread == 2),
    );
    let fault = only(&made);
    assert_eq!((fault.cause, fault.place.node), (Cause::Wire, Some(1)));
}

#[test]
fn a_feeder_that_recorded_nothing_is_no_gap_in_the_path() {
    let (made, _) = side_fed(2);
    let fault = only(&made);
    assert_eq!((fault.cause, fault.place), (Cause::Wire, Place::hop(1, 3)));
}

#[test]
fn a_feeder_that_waits_for_its_own_blocks_passes_the_blame_up() {
    let (mut made, mut moved) = side_fed(0);
    let mut last = None;
    let mut waits = Vec::new();
    for record in &mut moved {
        let Record::Span(span) = record else { continue };
        if let Some(begin_ns) = last.replace(span.end_ns).filter(|last| *last < span.begin_ns) {
            let stage = Stage::Control;
            let block = Exchange::Operation as u32;
            let end_ns = span.begin_ns;
            let busy_ns = span.begin_ns - begin_ns;
            waits.push(Record::Span(Span {
                stage,
                block,
                begin_ns,
                end_ns,
                busy_ns,
                bytes: 0,
                ..*span
            }));
        }
    }
    // A block of a former connection never arrived.
    if let Some(Record::Span(span)) =
        moved.iter_mut().find(|it| matches!(it, Record::Span(span) if span.bytes > 0))
    {
        span.bytes *= 2;
    }
    made.add(1, moved);
    made.add(1, waits);
    let fault = only(&made);
    assert_eq!((fault.cause, fault.place), (Cause::Wire, Place::hop(0, 1)));
}

#[test]
fn waiting_for_a_node_that_died_is_its_own_cause() {
    let mut model = Model::healthy(3);
    model.wires[1] = every(40 * MS);
    let mut made = model.run();
    made.traces[2] = None;
    made.dead = vec![2];
    let ledger = made.explain();
    let first = ledger.faults.first().map(|fault| (fault.cause, fault.place));
    assert_eq!(first, Some((Cause::Dead, Place::node(2))), "{:#?}", ledger.rows);
    assert!(ledger.rows.iter().all(|row| row.cause != Cause::Undecided), "{:#?}", ledger.rows);
}

#[test]
fn time_of_packets_that_were_lost_is_no_slow_wires() {
    let mut model = Model::healthy(3);
    model.wires[1] = every(24 * MS);
    let mut made = model.run();
    let (begin, end) = made.span();
    let read = (begin..end).step_by(50_000_000).map(|at| {
        let us = u64::try_from((at - begin) / 1000).unwrap();
        Record::Socket(Socket {
            lane: 0,
            peer: 2,
            direction: Direction::Down,
            at_ns: u64::try_from(at).unwrap(),
            bytes: us * 43,
            busy_us: us,
            rwnd_limited_us: 0,
            sndbuf_limited_us: 0,
            // Three in a hundred segments.
            retransmitted: u32::try_from(us * 43 / 1448 * 3 / 100).unwrap(),
            rtt_us: 100,
            cwnd: 10,
            delivery_kb_s: 100_000,
        })
    });
    let read: Vec<Record> = read.collect();
    made.add(1, read);
    let fault = only(&made);
    assert_eq!((fault.cause, fault.place), (Cause::Loss, Place::hop(1, 2)));
    // Without the losses its bytes would take 8 ms each.
    assert!((fault.ns as f64 / 1e6 - 200.0 * 16.0).abs() < 300.0, "{fault:?}");
}

#[test]
fn nodes_that_commit_together_wait_for_the_last_one() {
    let mut model = Model { buffers: 500, ..Model::healthy(2) };
    model.writes[1] = every(40 * MS);
    let mut made = model.run();
    let done = |made: &mut Made, node: usize| {
        let commits = spans(made, node).filter(|span| span.stage == Stage::Fsync);
        commits.map(|span| span.end_ns).max()
    };
    let late = done(&mut made, 2).unwrap() - done(&mut made, 1).unwrap();
    for span in spans(&mut made, 1) {
        if matches!(span.stage, Stage::Fsync | Stage::Commit) {
            span.begin_ns += late + 50_000;
            span.end_ns += late + 50_000;
        }
    }
    let fault = only(&made);
    assert_eq!((fault.cause, fault.place), (Cause::SinkDisk, Place::node(2)));
}

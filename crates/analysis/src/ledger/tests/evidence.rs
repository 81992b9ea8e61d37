//! How the kernel's counters change an answer, and the answer without a node's trace.

use garland_core::trace::{Direction, Record, Socket, Stage, Thread};

use super::model::{MS, Made, Model, every, stalling};
use crate::ledger::{Cause, NoFix, Place};

/// Adds samples of the connection from `node` to `peer` every 50 ms; it is limited by the receive
/// window and by the send buffer for these shares of the time.
fn sockets(made: &mut Made, node: usize, peer: u16, window: f64, buffer: f64) {
    let (begin, end) = made.span();
    let rate = made.bytes as f64 / (end - begin) as f64;
    let read = (begin..end).step_by(50_000_000).map(|at| {
        let us = (at - begin) as f64 / 1e3;
        Record::Socket(Socket {
            lane: 0,
            peer,
            direction: Direction::Down,
            at_ns: u64::try_from(at).unwrap(),
            bytes: (rate * us * 1e3) as u64,
            busy_us: us as u64,
            rwnd_limited_us: (window * us) as u64,
            sndbuf_limited_us: (buffer * us) as u64,
            retransmitted: 0,
            rtt_us: 100,
            cwnd: 10,
            delivery_kb_s: 100_000,
        })
    });
    made.add(node, read.collect::<Vec<_>>());
}

/// Adds samples of a thread that waited for a CPU for this share of the time.
fn starve(made: &mut Made, node: usize, thread: u16, share: f64) {
    let (begin, end) = made.span();
    let read = (begin..end).step_by(100_000_000).map(|at| {
        let ns = (at - begin) as f64;
        let at_ns = u64::try_from(at).unwrap();
        let what = Stage::Relay;
        let running_ns = (0.05 * ns) as u64;
        let waiting_ns = (share * ns) as u64;
        Record::Thread(Thread { thread, what, at_ns, running_ns, waiting_ns })
    });
    made.add(node, read.collect::<Vec<_>>());
}

fn slow_wire() -> Made {
    let mut model = Model::healthy(3);
    model.wires[1] = every(40 * MS);
    model.run()
}

#[test]
fn a_full_window_is_no_wires_fault() {
    let mut made = slow_wire();
    sockets(&mut made, 1, 2, 0.97, 0.0);
    let ledger = made.explain();
    assert_eq!(
        (ledger.rows[0].cause, ledger.rows[0].place),
        (Cause::BlockedByPeer, Place::hop(1, 2))
    );
    let mut made = slow_wire();
    sockets(&mut made, 1, 2, 0.0, 0.9);
    assert_eq!(made.explain().rows[0].cause, Cause::BlockedByBuffer);
}

#[test]
fn bytes_that_go_through_ssh_are_its_time_and_a_port_is_advised() {
    let mut model = Model::healthy(3);
    model.wires[0] = every(40 * MS);
    let mut made = model.run();
    sockets(&mut made, 0, 1, 0.97, 0.0);
    made.agents_started = Some(false);
    made.by_ssh = vec![1];
    let ledger = made.explain();
    assert_eq!((ledger.rows[0].cause, ledger.rows[0].place), (Cause::Login, Place::hop(0, 1)));
    assert_eq!(ledger.fix.err(), Some(NoFix::Login));
    assert!(ledger.faults.iter().all(|fault| fault.cause != Cause::Login), "{:?}", ledger.faults);
}

#[test]
fn a_full_window_on_a_wire_that_gives_all_it_can_is_no_fault() {
    let mut made = Model::healthy(2).run();
    sockets(&mut made, 0, 1, 0.9, 0.0);
    sockets(&mut made, 1, 2, 0.9, 0.0);
    let ledger = made.explain();
    assert_eq!(ledger.rows[0].cause, Cause::Wire);
    assert!(ledger.faults.is_empty());
}

#[test]
fn a_relay_without_a_processor_is_named_and_a_busy_machine_is_not() {
    let mut made = slow_wire();
    // The lane's thread and the writer.
    starve(&mut made, 1, 2, 0.9);
    starve(&mut made, 1, 4, 0.9);
    let ledger = made.explain();
    assert_eq!((ledger.rows[0].cause, ledger.rows[0].place), (Cause::Processor, Place::node(1)));
    let mut made = slow_wire();
    made.traces.iter_mut().flatten().for_each(|trace| trace.origin.emulated = true);
    (0..4).for_each(|node| starve(&mut made, node, 2, 0.5));
    let ledger = made.explain();
    assert!(ledger.rows.iter().any(|row| row.cause == Cause::Emulator));
    assert!(ledger.rows.iter().all(|row| row.cause != Cause::Processor), "{:#?}", ledger.rows);
}

#[test]
fn a_starved_source_is_not_paused() {
    let pause = stalling(0, 20, 300 * MS);
    let mut made = Model { pause, ..Model::healthy(2) }.run();
    let paused = made.explain();
    assert!(paused.rows.iter().any(|row| row.cause == Cause::Pause), "{:#?}", paused.rows);
    // Its reader lacks a processor; of the lane's thread nothing is known.
    starve(&mut made, 0, 1, 0.9);
    let ledger = made.explain();
    assert!(ledger.rows.iter().all(|row| row.cause != Cause::Pause), "{:#?}", ledger.rows);
    assert_eq!(ledger.faults.first().map(|fault| fault.cause), Some(Cause::SourceCpu));
}

#[test]
fn a_thread_that_is_sampled_only_at_its_end_had_no_processor_since_its_start() {
    let mut made = Model::healthy(1).run();
    let (begin, end) = made.span();
    let [from, to, at_ns] =
        [begin + 500 * MS, begin + 1_000 * MS, end].map(|ns| u64::try_from(ns).unwrap());
    let is_inside = |record: &Record| record.at_ns().is_some_and(|at| (from..to).contains(&at));
    for trace in made.traces.iter_mut().flatten() {
        trace.records.retain(|record| matches!(record, Record::Probe(_)) || !is_inside(record));
    }
    let open = |made: &Made| -> u64 {
        let ledger = made.explain();
        let rows = ledger.rows.iter().filter(|row| row.cause == Cause::Unattributed);
        rows.map(|row| row.ns).sum()
    };
    let without = open(&made);
    assert!(without > 100_000_000, "{without}");
    let waiting_ns = u64::try_from((end - begin) * 6 / 10).unwrap();
    let sample = |thread, what| Thread { thread, what, at_ns, running_ns: 0, waiting_ns };
    for (thread, what) in [(2, Stage::Relay), (4, Stage::Write)] {
        (0..2).for_each(|node| made.add(node, [Record::Thread(sample(thread, what))]));
    }
    assert!(open(&made) < without / 10, "{} of {without}", open(&made));
}

#[test]
fn who_lacks_a_processor_more_than_all_on_a_busy_machine_is_named() {
    let mut made = slow_wire();
    made.traces.iter_mut().flatten().for_each(|trace| trace.origin.emulated = true);
    // All writers wait longer than they work, so work alone does not show which one lacks more.
    (2..4).for_each(|node| starve(&mut made, node, 4, 0.1));
    starve(&mut made, 0, 1, 0.1);
    starve(&mut made, 1, 2, 0.8);
    starve(&mut made, 1, 4, 0.8);
    let ledger = made.explain();
    assert_eq!((ledger.rows[0].cause, ledger.rows[0].place), (Cause::Processor, Place::node(1)));
    assert_eq!(ledger.faults.first().map(|row| row.cause), Some(Cause::Processor));
}

#[test]
fn a_connection_that_idles_is_no_evidence_for_its_wire() {
    let mut made = slow_wire();
    let (begin, end) = made.span();
    sockets(&mut made, 1, 2, 0.0, 0.0);
    for record in &mut made.traces[1].as_mut().unwrap().records {
        if let Record::Socket(socket) = record {
            socket.busy_us /= 4;
        }
    }
    assert!(end > begin);
    let ledger = made.explain();
    assert_eq!(ledger.rows[0].cause, Cause::Wire);
    assert!(ledger.rows[0].covered < 0.3);
    assert!(ledger.faults.is_empty(), "{:?}", ledger.faults);
}

#[test]
fn a_process_that_stood_still_is_what_was_waited_for() {
    let mut made = slow_wire();
    let (begin, _) = made.span();
    let Some(Record::Span(span)) = made.traces[1].as_ref().unwrap().records.first().copied() else {
        panic!("no span");
    };
    let [begin_ns, end_ns] = [2_000, 4_000].map(|ms| u64::try_from(begin + ms * MS).unwrap());
    let pause = Record::Span(garland_core::trace::Span {
        stage: Stage::Pause,
        begin_ns,
        end_ns,
        busy_ns: end_ns - begin_ns,
        ..span
    });
    made.add(1, [pause]);
    let ledger = made.explain();
    let paused = ledger.rows.iter().find(|row| row.cause == Cause::Pause).unwrap();
    assert_eq!(paused.place, Place::node(1));
    assert!((1950..=2000).contains(&(paused.ns / 1_000_000)), "{paused:?}");
}

#[test]
fn without_a_nodes_trace_its_part_is_undecided_and_the_rest_is_known() {
    let mut model = Model::healthy(2);
    model.writes[1] = every(25 * MS);
    model.fsync[0] = 700 * MS;
    let mut made = model.run();
    made.traces[2] = None;
    let ledger = made.explain();
    assert_eq!((ledger.rows[0].cause, ledger.rows[0].place), (Cause::Undecided, Place::node(2)));
    assert!(ledger.undecided.iter().any(|node| node.node == 2 && node.ns == ledger.rows[0].ns));
    let known = ledger.rows.iter().find(|row| row.cause == Cause::Fsync).unwrap();
    assert_eq!(known.place, Place::node(1));
    // The connection of its neighbour was limited by a full window, not by the wire.
    sockets(&mut made, 1, 2, 0.7, 0.0);
    let ledger = made.explain();
    assert_eq!(ledger.rows[0].cause, Cause::Undecided);
    let wire = ledger.rows.iter().find(|row| row.place == Place::hop(1, 2)).unwrap();
    assert!(wire.cause == Cause::Wire && wire.ns < ledger.rows[0].ns);
}

#[test]
fn without_the_heads_trace_only_the_phases_are_known() {
    let mut made = Model::healthy(2).run();
    made.traces[0] = None;
    let ledger = made.explain();
    assert_eq!(ledger.rows[0].cause, Cause::Undecided);
    assert!(ledger.undecided.iter().any(|node| node.node == 1 && node.clock_unknown));
    assert!(ledger.rows.iter().any(|row| row.cause == Cause::SetUp));
}

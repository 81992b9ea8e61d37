//! The path skips threads without records, and continues with the one that worked last.

use garland_core::trace::{Disk, Exchange, Lost, NONE, Record, Span, Stage};

use super::model::{MS, Made, Model, every, span_of, stalling};
use crate::ledger::{Cause, Ledger, Place};

fn ms(ledger: &Ledger, cause: Cause, place: Place) -> f64 {
    let found = ledger.rows.iter().filter(|row| (row.cause, row.place) == (cause, place));
    found.map(|row| row.ns as f64 / 1e6).sum()
}

/// Returns the share of time without records and of mutual waiting.
fn unknown(ledger: &Ledger) -> f64 {
    let unknown = |cause| matches!(cause, Cause::Unattributed | Cause::Bubble);
    let rows = ledger.rows.iter().filter(|row| unknown(row.cause));
    rows.map(|row| row.ns).sum::<u64>() as f64 / ledger.wall_ns as f64
}

/// Returns the time `ms` milliseconds after the start of the command.
fn at(made: &Made, ms: i64) -> u64 {
    u64::try_from(made.span().0 + ms * MS).unwrap()
}

/// Returns a model in which the node buffers all blocks long before it writes them.
fn in_buffers() -> Model {
    let mut model = Model { blocks: 10, hand_over: 2_000, ..Model::healthy(1) };
    model.writes[0] = every(400 * MS);
    model
}

#[test]
fn who_has_sent_all_into_buffers_is_not_waited_for() {
    for (stage, peer) in [(Stage::WaitUpstream, 0), (Stage::WaitBuffer, NONE)] {
        let mut made = in_buffers().run();
        // The lane has nothing to do until the end of the copy, whichever wait it records.
        let begin = at(&made, 130);
        let end = at(&made, 4030);
        made.add(1, [Record::Span(span_of(stage, peer, 2, begin..end))]);
        let ledger = made.explain();
        let row = ledger.rows[0];
        assert_eq!((row.cause, row.place), (Cause::SinkDisk, Place::node(1)), "{:#?}", ledger.rows);
        assert!(row.ns as f64 > 0.95 * ledger.wall_ns as f64, "{:#?}", ledger.rows);
        assert!(unknown(&ledger) < 0.01, "{:#?}", ledger.rows);
    }
}

#[test]
fn who_feeds_a_slow_node_afterwards_is_not_waited_for() {
    // n2 lacks 20 blocks, and requests them from n1 one by one while it writes.
    let mut made = Model { blocks: 40, ..Model::healthy(2) }.run();
    let (_, end) = made.span();
    let drain = 20 * 200 * MS;
    for (name, ns) in &mut made.phases {
        *ns += if name == "drain" { u64::try_from(drain).unwrap() } else { 0 };
    }
    let is_late = |record: &Record| matches!(record, Record::Span(s) if s.stage == Stage::Fsync);
    made.traces.iter_mut().flatten().for_each(|trace| trace.records.retain(|r| !is_late(r)));
    for block in 0..20 {
        let begin = end - 9 * MS + block * 200 * MS;
        let ns = |from: i64, to: i64| (begin + from * MS) as u64..(begin + to * MS) as u64;
        let lane = |stage, peer, from, to| Record::Span(span_of(stage, peer, 2, ns(from, to)));
        let feeds = [
            lane(Stage::Read, NONE, 1, 3),
            lane(Stage::Seal, NONE, 3, 4),
            lane(Stage::Send, 2, 4, 5),
        ];
        made.add(1, feeds);
        // The requested block arrives while the last one is being written.
        let fetches = [
            lane(Stage::WaitUpstream, 1, 0, 12),
            lane(Stage::Receive, 1, 12, 13),
            lane(Stage::WaitBuffer, NONE, 13, 200),
        ];
        made.add(2, fetches);
        let writes = [
            Record::Span(span_of(Stage::WaitUpstream, NONE, 4, begin as u64..begin as u64 + 3000)),
            Record::Span(Span {
                begin_ns: begin as u64 + 3000,
                ..span_of(Stage::Write, NONE, 4, ns(0, 200))
            }),
        ];
        made.add(2, writes);
    }
    let ledger = made.explain();
    let of_n2: f64 = ledger
        .rows
        .iter()
        .filter(|row| row.place == Place::node(2))
        .filter(|row| row.cause == Cause::SinkDisk || row.within == Some(Cause::SinkDisk))
        .map(|row| row.ns as f64 / 1e6)
        .sum();
    assert!(of_n2 > 0.95 * 4000.0, "{:#?}", ledger.rows);
    assert!(unknown(&ledger) < 0.05, "{:#?}", ledger.rows);
}

#[test]
fn a_fsync_counts_though_the_name_comes_somewhat_later() {
    let mut model = Model { between: 3 * MS, ..Model::healthy(3) };
    model.fsync[1] = 900 * MS;
    let ledger = model.run().explain();
    assert_eq!(ms(&ledger, Cause::Fsync, Place::node(2)), 900.0, "{:#?}", ledger.rows);
    assert_eq!(ledger.faults.first().map(|row| row.cause), Some(Cause::Fsync));
}

#[test]
fn a_sender_that_does_nothing_pauses_as_long_as_it_costs() {
    // On a wire that hides no pause.
    let model = Model { pause: stalling(0, 20, 300 * MS), ..Model::healthy(2) };
    let ledger = model.run().explain();
    // No node waits after the last block; bytes in flight hide part of the other pauses.
    let pauses = ms(&ledger, Cause::Pause, Place::node(0));
    assert!((pauses - 9.0 * 290.0).abs() < 9.0 * 15.0, "{:#?}", ledger.rows);
    assert_eq!(ledger.faults.first().map(|row| row.cause), Some(Cause::Pause));
    assert!(unknown(&ledger) < 0.02, "{:#?}", ledger.rows);
}

#[test]
fn a_reader_that_was_begun_later_is_no_end_of_the_path() {
    let model = Model { read: every(20 * MS), second_reader: 150, ..Model::healthy(2) };
    let ledger = model.run().explain();
    let disk = ms(&ledger, Cause::SourceDisk, Place::node(0));
    assert!((disk - 200.0 * 20.0).abs() < 40.0, "{:#?}", ledger.rows);
    assert!(unknown(&ledger) < 0.01, "{:#?}", ledger.rows);
}

#[test]
fn the_last_ones_word_that_it_is_ready_has_its_own_time() {
    let mut made = Model::healthy(2).run();
    for (node, opened, heard) in [(1, 8, 9), (2, 10, 27)] {
        let order = Span {
            block: Exchange::Begin.number(),
            ..span_of(Stage::Control, node, 0, at(&made, 5)..at(&made, heard))
        };
        let opens = span_of(Stage::SetUp, NONE, 0, at(&made, 6)..at(&made, opened));
        made.add(0, [Record::Span(order)]);
        made.add(usize::from(node), [Record::Span(opens)]);
    }
    let ledger = made.explain();
    let late = ms(&ledger, Cause::Control, Place::node(2));
    assert!((late - 17.0).abs() < 0.1, "{:#?}", ledger.rows);
    assert!((ms(&ledger, Cause::SetUp, Place::default()) - 13.0).abs() < 0.1, "{:#?}", ledger.rows);
}

#[test]
fn what_had_no_room_fills_what_has_no_record() {
    let mut made = Model::healthy(1).run();
    let from = at(&made, 500);
    let to = at(&made, 1000);
    let is_inside = |record: &Record| record.at_ns().is_some_and(|at| (from..to).contains(&at));
    for trace in made.traces.iter_mut().flatten() {
        trace.records.retain(|record| matches!(record, Record::Probe(_)) || !is_inside(record));
    }
    let without = made.explain();
    let open = ms(&without, Cause::Unattributed, Place::node(1));
    let busy_ns = 300_000_000;
    let lost =
        Lost { stage: Stage::Write, lane: NONE, peer: NONE, count: 60, busy_ns, bytes: 60 << 20 };
    made.add(1, [Record::Lost(lost)]);
    let ledger = made.explain();
    let grown = ms(&ledger, Cause::SinkDisk, Place::node(1))
        - ms(&without, Cause::SinkDisk, Place::node(1));
    assert!(open > 100.0, "{:#?}", without.rows);
    assert!((grown - open.min(300.0)).abs() < 0.1, "{grown} of {open}: {:#?}", ledger.rows);
}

#[test]
fn a_disk_that_time_is_put_down_to_is_told_of() {
    let mut made = in_buffers().run();
    let read = |ms: i64, written_bytes: u64, busy_ms: u32| {
        Record::Disk(Disk {
            at_ns: at(&made, ms),
            in_flight: 0,
            read_bytes: 0,
            written_bytes,
            reads: 0,
            writes: 0,
            read_ms: 0,
            write_ms: 0,
            flushes: 0,
            flush_ms: 0,
            busy_ms,
            queue_ms: 0,
        })
    };
    let records = [read(0, 0, 0), read(2000, 5 << 20, 900), read(4000, 40 << 20, 3000)];
    made.add(1, records);
    let ledger = made.explain();
    let disk = ledger.disks[0];
    assert_eq!((disk.node, disk.busy, disk.others), (1, 0.75, Some(1.0)));
    assert_eq!(ledger.disks.len(), 1);
}

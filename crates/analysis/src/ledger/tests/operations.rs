//! Copies that wait at the end of every operation, as in 2007: the causes of the pauses are
//! distinguished.

use super::model::{MS, Model, every, stalling};
use crate::ledger::{Cause, Ledger, Place, Row};

/// 20 operations of 10 blocks on a wire of 8 ms a block.
fn held() -> Model {
    Model { operation: Some(10), ..Model::healthy(1) }
}

/// Returns a cost of `pause` before the first block of every operation.
fn at_begins(pause: i64) -> super::model::Cost {
    Box::new(move |block| if block % 10 == 0 { pause } else { 0 })
}

fn named(ledger: &Ledger, cause: Cause, place: Place) -> f64 {
    let row = ledger.rows.iter().find(|row| (row.cause, row.place) == (cause, place));
    row.map_or(0.0, |row| row.ns as f64 / 1e6)
}

/// Asserts that `model` has `put_in` ms more of `cause` than the model without pauses.
#[track_caller]
fn assert_found(model: &Model, cause: Cause, place: Place, put_in: f64) {
    let with = model.run().explain();
    let without = held().run().explain();
    let found = named(&with, cause, place) - named(&without, cause, place);
    assert!((found - put_in).abs() <= 0.05 * put_in, "{found} of {put_in}: {:#?}", with.rows);
    let faults: Vec<(Cause, Place)> = with.faults.iter().map(|f| (f.cause, f.place)).collect();
    assert_eq!(faults, [(cause, place)], "{:#?}", with.rows);
}

fn source(pause: i64) -> Model {
    Model { read: Box::new(move |block| MS + at_begins(pause)(block)), ..held() }
}

fn sink(pause: i64) -> Model {
    Model { writes: vec![stalling(MS, 10, pause)], ..held() }
}

#[test]
fn pauses_of_operations_are_told_apart_by_who_made_them() {
    for pause in [17, 11] {
        let ns = pause * MS;
        let ms = pause as f64;
        assert_found(&source(ns), Cause::SourceDisk, Place::node(0), 20.0 * ms);
        assert_found(&sink(ns), Cause::SinkDisk, Place::node(1), 20.0 * ms);
        let paused = Model { pause: stalling(0, 10, ns), ..held() };
        assert_found(&paused, Cause::Pause, Place::node(0), 19.0 * ms);
        let late = Model { answer: MS / 10 + ns, ..held() };
        assert_found(&late, Cause::Control, Place::hop(0, 1), 19.0 * ms);
    }
}

#[test]
fn without_pauses_operations_have_no_fault() {
    let ledger = Model { answer: 0, read: every(0), ..held() }.run().explain();
    assert_eq!(ledger.rows[0].cause, Cause::Wire);
    assert!(ledger.faults.is_empty(), "{:#?}", ledger.rows);
}

#[test]
fn without_the_servers_trace_the_clients_pauses_are_known_and_the_others_undecided() {
    let undecided = |model: &Model| {
        let mut made = model.run();
        made.traces[1] = None;
        made.explain()
    };
    let ms = |row: &Row| row.ns as f64 / 1e6;
    let open = named(&undecided(&held()), Cause::Undecided, Place::node(1));
    for model in [sink(17 * MS), Model { answer: 17 * MS, ..held() }] {
        let ledger = undecided(&model);
        let row = ledger.rows.iter().find(|row| row.cause == Cause::Undecided).unwrap();
        assert_eq!(row.place, Place::node(1));
        let more = ms(row) - open;
        assert!((more - 19.0 * 17.0).abs() < 20.0, "{more}: {:#?}", ledger.rows);
        assert!(ledger.undecided.iter().any(|open| open.node == 1 && open.ns == row.ns));
    }
    let ledger = undecided(&source(17 * MS));
    let disk = |ledger: &Ledger| named(ledger, Cause::SourceDisk, Place::node(0));
    let found = disk(&ledger) - disk(&undecided(&held()));
    assert!((found - 20.0 * 17.0).abs() < 20.0, "{found}: {:#?}", ledger.rows);
    assert!(named(&ledger, Cause::Undecided, Place::node(1)) < open + 10.0, "{:#?}", ledger.rows);
}

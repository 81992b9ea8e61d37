//! Injected stalls are found at their place, with the time that they cost.

use super::model::{MS, Made, Model, every, stalling};
use crate::ledger::{Cause, Fault, Ledger, Place};

fn row(ledger: &Ledger, cause: Cause, place: Place) -> f64 {
    let found = ledger.rows.iter().find(|row| (row.cause, row.place) == (cause, place));
    found.map_or(0.0, |row| row.ns as f64 / 1e6)
}

fn first(ledger: &Ledger) -> (Cause, Place) {
    (ledger.rows[0].cause, ledger.rows[0].place)
}

fn near(found: f64, put_in: f64) {
    assert!((found - put_in).abs() <= 0.05 * put_in, "{found} ms of {put_in} ms");
}

/// The one fault.
fn fault(ledger: &Ledger) -> Fault {
    assert_eq!(ledger.faults.len(), 1, "{:#?}", ledger.rows);
    ledger.faults[0]
}

#[test]
fn a_healthy_chain_waits_for_its_wires_and_has_no_fault() {
    for nodes in [1, 3, 6] {
        let ledger = Model::healthy(nodes).run().explain();
        assert_eq!(ledger.rows[0].cause, Cause::Wire, "{:#?}", ledger.rows);
        let wires: u64 = ledger.rows.iter().filter(|r| r.cause == Cause::Wire).map(|r| r.ns).sum();
        assert!(wires as f64 > 0.93 * ledger.wall_ns as f64, "{:#?}", ledger.rows);
        assert!(ledger.faults.is_empty(), "{:?}", ledger.faults);
    }
}

#[test]
fn a_source_that_stalls_is_found_as_long_as_it_cost() {
    // 17 ms every tenth block, at a source that is slightly slower than the wire anyway.
    let mut model = Model { ahead: 1, ..Model::healthy(1) };
    model.read = stalling(9 * MS, 10, 17 * MS);
    let with = model.run().explain();
    model.read = every(9 * MS);
    let without = model.run().explain();
    let cost = (with.wall_ns - without.wall_ns) as f64 / 1e6;
    let grown = row(&with, Cause::SourceDisk, Place::node(0))
        - row(&without, Cause::SourceDisk, Place::node(0));
    near(cost, 20.0 * 17.0);
    assert!((grown - cost).abs() < 0.05 * cost + 8.0, "{grown} of {cost}");
}

#[test]
fn a_slow_source_disk_is_named() {
    let model = Model { read: every(20 * MS), ..Model::healthy(3) };
    let ledger = model.run().explain();
    assert_eq!(first(&ledger), (Cause::SourceDisk, Place::node(0)));
    near(row(&ledger, Cause::SourceDisk, Place::node(0)), 200.0 * 20.0);
    assert_eq!(fault(&ledger).cause, Cause::SourceDisk);
    let fix = ledger.fix.unwrap();
    // A block would then take the wire's 8 ms.
    near(fix.gain_ns as f64 / 1e6, 200.0 * 12.5 + 30.0);
}

#[test]
fn a_slow_source_that_is_on_no_disk_is_not_called_one() {
    let made = Made { off_disk: true, ..Model { read: every(20 * MS), ..Model::healthy(3) }.run() };
    let ledger = made.explain();
    assert_eq!(first(&ledger), (Cause::Source, Place::node(0)));
    near(row(&ledger, Cause::Source, Place::node(0)), 200.0 * 20.0);
    assert_eq!(row(&ledger, Cause::SourceDisk, Place::node(0)), 0.0);
    assert_eq!(fault(&ledger).cause, Cause::Source);
    near(ledger.fix.unwrap().gain_ns as f64 / 1e6, 200.0 * 12.5 + 30.0);
}

/// Returns the promised gain of a chain with one wire of 40 ms a block and others of 8 ms, if
/// processors allow a block in so many milliseconds; in milliseconds a block.
fn gain_of_a_wire(processors: &[(Option<usize>, f64)]) -> f64 {
    let mut model = Model::healthy(3);
    model.wires[1] = every(40 * MS);
    let mut made = model.run();
    let rate = |ms: f64| made.bytes as f64 / 200.0 / ms * 1e3;
    made.processors = processors.iter().map(|&(node, ms)| (node, rate(ms))).collect();
    made.explain().fix.unwrap().gain_ns as f64 / 1e6 / 200.0
}

#[test]
fn a_gain_ends_at_the_rate_of_processors() {
    let near = |gain: f64, true_ms: f64| assert!((gain - true_ms).abs() < 1.5, "{gain} {true_ms}");
    near(gain_of_a_wire(&[]), 32.0);
    // Processors that are faster than the wires change nothing.
    near(gain_of_a_wire(&[(None, 4.0)]), 32.0);
    near(gain_of_a_wire(&[(None, 20.0)]), 20.0);
    near(gain_of_a_wire(&[(Some(0), 25.0), (Some(3), 12.0)]), 15.0);
    // They are slower than the copy was: the model errs, but nobody gets slower by a faster wire.
    near(gain_of_a_wire(&[(Some(1), 60.0)]), 0.0);
}

#[test]
fn a_nic_that_is_slow_in_both_directions_is_one_fault() {
    let mut model = Model::healthy(4);
    // The second node's NIC: a wrong speed is that of both directions.
    (model.wires[1], model.wires[2]) = (every(40 * MS), every(40 * MS));
    let gain = model.run().explain().fix.unwrap().gain_ns as f64 / 1e6 / 200.0;
    assert!((gain - 32.0).abs() < 1.5, "{gain}");
}

#[test]
fn a_node_that_gets_its_processors_back_is_no_limit() {
    let mut model = Model::healthy(2);
    model.seal = every(30 * MS);
    let mut made = model.run();
    let limited = |made: &Made| made.explain().fix.unwrap();
    let free = limited(&made);
    assert_eq!(free.place, Place::node(0), "{free:?}");
    let rate = made.bytes as f64 / 200.0 / 0.030;
    made.processors = vec![(Some(0), rate)];
    assert_eq!(limited(&made).gain_ns, free.gain_ns, "{free:?}");
    made.processors.push((None, rate));
    assert!(limited(&made).gain_ns < free.gain_ns / 4, "{free:?}");
}

#[test]
fn a_small_copy_is_not_to_be_larger() {
    let fixed = [Cause::Control, Cause::FinalAck, Cause::Teardown];
    let ledger = Model { blocks: 1, control: 100 * MS, ..Model::healthy(2) }.run().explain();
    assert!(fixed.contains(&ledger.rows[0].cause), "{:#?}", ledger.rows);
    let fix = ledger.fix.expect("agents that stay take no set-up");
    assert_eq!(fix.cause, Cause::SetUp, "{:#?}", ledger.rows);
}

#[test]
fn slow_sealing_is_named() {
    let ledger = Model { seal: every(16 * MS), ..Model::healthy(2) }.run().explain();
    assert_eq!(first(&ledger), (Cause::Seal, Place::node(0)));
    assert_eq!(fault(&ledger).cause, Cause::Seal);
}

#[test]
fn a_slow_sink_is_named_whoever_it_holds_up() {
    for slow in [1, 2, 3] {
        let mut model = Model::healthy(3);
        model.writes[slow - 1] = every(25 * MS);
        let ledger = model.run().explain();
        assert_eq!(first(&ledger), (Cause::SinkDisk, Place::node(slow)), "{:#?}", ledger.rows);
        near(row(&ledger, Cause::SinkDisk, Place::node(slow)), 200.0 * 25.0);
        assert_eq!(fault(&ledger).place, Place::node(slow));
    }
}

#[test]
fn what_buffers_hide_costs_nothing() {
    let mut model = Model::healthy(2);
    model.writes[1] = stalling(MS, 40, 100 * MS);
    let ledger = model.run().explain();
    assert!(row(&ledger, Cause::SinkDisk, Place::node(2)) < 105.0, "{:#?}", ledger.rows);
    assert_eq!(ledger.rows[0].cause, Cause::Wire);
}

#[test]
fn a_slow_wire_is_named_by_its_hop() {
    for slow in 0..3 {
        let mut model = Model::healthy(3);
        model.wires[slow] = every(40 * MS);
        let ledger = model.run().explain();
        assert_eq!(first(&ledger), (Cause::Wire, Place::hop(slow, slow + 1)), "{:#?}", ledger.rows);
        near(row(&ledger, Cause::Wire, Place::hop(slow, slow + 1)), 200.0 * 40.0);
        assert_eq!(fault(&ledger).place, Place::hop(slow, slow + 1));
    }
}

#[test]
fn a_slow_fsync_is_named_at_its_node() {
    let mut model = Model::healthy(3);
    model.fsync[1] = 900 * MS;
    let ledger = model.run().explain();
    near(row(&ledger, Cause::Fsync, Place::node(2)), 900.0);
    assert_eq!(fault(&ledger).cause, Cause::Fsync);
    near(ledger.fix.unwrap().gain_ns as f64 / 1e6, 900.0);
}

#[test]
fn a_late_control_reply_is_an_acknowledgement() {
    let ledger = Model { control: 300 * MS, ..Model::healthy(2) }.run().explain();
    let acknowledged: f64 =
        (1..3).map(|node| row(&ledger, Cause::FinalAck, Place::node(node))).sum();
    near(acknowledged, 600.0);
}

#[test]
fn clocks_that_are_far_off_change_no_answer() {
    let mut model = Model::healthy(3);
    model.writes[1] = every(25 * MS);
    let right = model.run().explain();
    model.clocks = vec![49_000 * MS, -2_000 * MS, 7];
    let off = model.run().explain();
    assert_eq!(first(&off), first(&right));
    near(off.rows[0].ns as f64, right.rows[0].ns as f64);
    assert!(off.clock_errors.iter().flatten().all(|error| *error < 40_000));
}

#[test]
fn two_faults_stand_in_the_order_of_what_they_cost() {
    let mut model = Model::healthy(3);
    model.fsync[2] = 1500 * MS;
    model.wires[1] = every(30 * MS);
    let ledger = model.run().explain();
    let named: Vec<Cause> = ledger.faults.iter().map(|fault| fault.cause).collect();
    assert_eq!(named, [Cause::Wire, Cause::Fsync], "{:#?}", ledger.rows);
}

#[test]
fn a_straggler_is_told_apart_from_a_slow_chain() {
    let mut model = Model { buffers: 500, ..Model::healthy(3) };
    model.writes[2] = every(20 * MS);
    let ledger = model.run().explain();
    let straggler = ledger.rows.iter().find(|row| row.cause == Cause::Straggler).unwrap();
    assert_eq!((straggler.place, straggler.within), (Place::node(3), Some(Cause::SinkDisk)));
    let told = fault(&ledger);
    assert_eq!((told.cause, told.place), (Cause::SinkDisk, Place::node(3)));
    assert!(told.alone_ns > 0 && told.alone_ns <= told.ns);
}

//! Injected stalls are found at their place, with the time that they cost.

use garland_core::trace::{Exchange, Record, Span, Stage};

use super::model::{MS, Made, Model, every, span_of, stalling};
use crate::ledger::{Cause, CompareWork, Fault, Ledger, NoFix, Place};

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
    made.explain().fix.map_or(0.0, |fix| fix.gain_ns as f64 / 1e6 / 200.0)
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
    let gain_ns = |made: &Made| made.explain().fix.map_or(0, |fix| fix.gain_ns);
    let free = made.explain().fix.unwrap();
    assert_eq!(free.place, Place::node(0), "{free:?}");
    let rate = made.bytes as f64 / 200.0 / 0.030;
    made.processors = vec![(Some(0), rate)];
    assert_eq!(gain_ns(&made), free.gain_ns, "{free:?}");
    made.processors.push((None, rate));
    assert!(gain_ns(&made) < free.gain_ns / 4, "{free:?}");
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
fn agents_that_stay_or_could_not_be_used_are_no_advice() {
    let small = || Model { blocks: 1, control: 10 * MS, ..Model::healthy(2) }.run();
    assert_eq!(small().explain().fix.map(|fix| fix.cause), Ok(Cause::SetUp));
    for agents_started in [Some(false), None] {
        let made = Made { agents_started, ..small() };
        assert_eq!(made.explain().fix, Err(NoFix::TooShort));
    }
    let failed = Made { has_failed: true, ..small() };
    assert_eq!(failed.explain().fix, Err(NoFix::Failed));
}

#[test]
fn only_the_start_of_agents_is_saved_by_agents_that_stay() {
    let mut made = Model { blocks: 1, control: 10 * MS, ..Model::healthy(2) }.run();
    let ns = |ms: i64| u64::try_from(made.span().0 + ms * MS).unwrap();
    let block = Exchange::Begin.number();
    let order = Span { block, ..span_of(Stage::Control, 1, 0, ns(12)..ns(30)) };
    made.add(0, [Record::Span(order)]);
    let ledger = made.explain();
    near(ledger.fix.map_or(0.0, |fix| fix.gain_ns as f64 / 1e6), 12.0);
}

#[test]
fn a_stream_that_is_too_short_to_judge_has_no_fault_of_its_pipeline() {
    let slow = |blocks| Model { blocks, read: every(20 * MS), ..Model::healthy(3) }.run();
    let short = slow(10).explain();
    assert!(short.too_short && short.faults.is_empty(), "{:#?}", short.faults);
    let long = slow(20).explain();
    assert!(!long.too_short, "{:#?}", long.rows);
    assert_eq!(fault(&long).cause, Cause::SourceDisk);
}

#[test]
fn what_gains_little_is_not_advised() {
    // Agents took 30 ms of 1.7 s.
    let ledger = Model::healthy(2).run().explain();
    assert_eq!(ledger.fix, Err(NoFix::Small), "{:#?}", ledger.rows);
}

#[test]
fn a_disk_that_is_slower_than_its_equals_is_a_fault_without_a_limit() {
    let mut model = Model { limit: None, ..Model::healthy(3) };
    model.writes[1] = every(20 * MS);
    let ledger = model.run().explain();
    let found = fault(&ledger);
    assert_eq!((found.cause, found.place), (Cause::SinkDisk, Place::node(2)));
    // The others need 1 ms for each of 200 blocks.
    near(found.ns as f64 / 1e6, 200.0 * 19.0);
    // Disks that are all as slow are what this copy has.
    (0..3).for_each(|node| model.writes[node] = every((18 + node as i64) * MS));
    assert!(model.run().explain().faults.is_empty());
    let mut model = Model { limit: None, ..Model::healthy(3) };
    model.fsync[2] = 900 * MS;
    assert_eq!(fault(&model.run().explain()).cause, Cause::Fsync);
}

#[test]
fn a_comparison_is_that_of_the_nodes_that_were_waited_for() {
    let compared = |work: &[(usize, i64, i64)]| {
        let mut made = Model { blocks: 1, ..Model::healthy(2) }.run();
        made.is_unsent = true;
        let of_set_up = &mut made.phases[0].1;
        *of_set_up = 4_000_000;
        made.phases.insert(1, ("comparison".to_owned(), 26_000_000));
        let ns = |ms: i64| u64::try_from(ms * MS).unwrap();
        made.comparison = work
            .iter()
            .map(|&(node, begin, end)| CompareWork { node, begin_ns: ns(begin), end_ns: ns(end) })
            .collect();
        made.explain()
    };
    let node = |ledger: &Ledger, node| row(ledger, Cause::Comparison, Place::node(node));
    // The other node and the head were done before.
    let one = compared(&[(1, 5, 12), (0, 12, 20), (2, 5, 28)]);
    near(node(&one, 2), 23.0);
    near(row(&one, Cause::SetUp, Place::default()), 7.0);
    assert_eq!(node(&one, 0) + node(&one, 1), 0.0, "{:#?}", one.rows);
    assert_eq!(one.fix.err(), None, "agents were started");
    // The head had to know what it has before the first node could tell what it lacks.
    let turns = compared(&[(1, 5, 10), (2, 5, 6), (0, 11, 20), (1, 20, 27)]);
    near(node(&turns, 1), 12.0);
    near(node(&turns, 0), 9.0);
    assert_eq!(node(&turns, 2), 0.0, "{:#?}", turns.rows);
    let unknown = turns.rows.iter().filter(|row| row.cause == Cause::Unattributed);
    assert_eq!(unknown.count(), 0, "{:#?}", turns.rows);
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

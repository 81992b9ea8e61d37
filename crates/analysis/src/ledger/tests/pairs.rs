//! The gain of one of two faults: the other one stays.

use std::ops::Range;

use garland_core::trace::{NO_BLOCK, NONE, Record, Span, Stage, Thread};

use super::model::{MS, Made, Model, every};
use crate::ledger::{Cause, NoFix, Place};

/// Returns the promised gain in milliseconds; it must be of `cause` at `place`.
fn gain_ms(made: &Made, cause: Cause, place: Place) -> f64 {
    let ledger = made.explain();
    let fix = ledger.fix.unwrap();
    assert_eq!((fix.cause, fix.place), (cause, place), "{:#?}", ledger.rows);
    fix.gain_ns as f64 / 1e6
}

fn near(gain: f64, true_ms: f64) {
    assert!((gain - true_ms).abs() < 0.1 * true_ms, "{gain} of {true_ms} ms");
}

/// A span of a node's thread; `ms` is its time in milliseconds after the start of the command.
fn span(made: &Made, stage: Stage, thread: u16, peer: u16, ms: Range<i64>) -> Record {
    let (begin, _) = made.span();
    let [begin_ns, end_ns] = [ms.start, ms.end].map(|ms| u64::try_from(begin + ms * MS).unwrap());
    Record::Span(Span {
        stage,
        lane: if thread == 2 { 0 } else { NONE },
        peer,
        thread,
        begin_ns,
        end_ns,
        busy_ns: end_ns - begin_ns,
        bytes: 0,
        block: NO_BLOCK,
        count: 1,
        operation: 0,
    })
}

/// A chain of three whose first disk takes 40 ms a block.
fn slow_disk() -> Model {
    let mut model = Model::healthy(3);
    model.writes[0] = every(40 * MS);
    model
}

#[test]
fn all_work_of_another_nodes_thread_stays() {
    let mut model = slow_disk();
    model.open = every(12 * MS);
    model.writes[1] = every(16 * MS);
    // The second node's writer decrypts for 12 ms and writes for 16, so a block takes 28 instead of
    // 52.
    near(gain_ms(&model.run(), Cause::SinkDisk, Place::node(1)), 200.0 * 24.0);
}

#[test]
fn a_pause_that_a_slow_disk_hides_stays() {
    let mut made = slow_disk().run();
    near(gain_ms(&made, Cause::SinkDisk, Place::node(1)), 200.0 * 32.5);
    let pause = |made: &Made, ms| span(made, Stage::Pause, 9, NONE, ms);
    let paused = pause(&made, 1_000..2_600);
    made.add(3, [paused]);
    near(gain_ms(&made, Cause::SinkDisk, Place::node(1)), 200.0 * 32.5 - 1600.0);
    // Both stand still at once for 600 ms.
    let paused = pause(&made, 2_000..3_000);
    made.add(2, [paused]);
    near(gain_ms(&made, Cause::SinkDisk, Place::node(1)), 200.0 * 32.5 - 2000.0);
}

#[test]
fn a_second_dead_node_is_still_waited_for() {
    let mut model = Model::healthy(4);
    model.wires[1] = every(40 * MS);
    let mut made = model.run();
    made.traces[2] = None;
    made.dead = vec![2];
    let one = gain_ms(&made, Cause::Dead, Place::node(2));
    // What the third node gave to the fourth ended after 3 s, and was waited for until 5.5 s.
    let records = &mut made.traces[3].as_mut().unwrap().records;
    let begin = 5_000 * MS;
    let last = u64::try_from(begin + 3_000 * MS).unwrap();
    let gives = |span: &Span| span.thread == 2 && span.peer == 4 && span.begin_ns >= last;
    records.retain(|record| !matches!(record, Record::Span(span) if gives(span)));
    let waits = span(&made, Stage::WaitDownstream, 2, 4, 3_000..5_500);
    made.add(3, [waits]);
    made.traces[4] = None;
    made.dead = vec![2, 4];
    let two = gain_ms(&made, Cause::Dead, Place::node(2));
    assert!((one - two - 2500.0).abs() < 250.0, "{one} {two}");
}

/// Adds samples of a node's writer, which runs for 5 % of the time, and waits for a processor for
/// `share` of it, or for `early` in the first half of the copy.
fn starve(made: &mut Made, node: usize, early: f64, share: f64) {
    let (begin, end) = made.span();
    let half = (end - begin) as f64 / 2.0;
    let read = (begin..end).step_by(50_000_000).map(|at| {
        let ns = (at - begin) as f64;
        let waited = early * ns.min(half) + share * (ns - half).max(0.0);
        let at_ns = u64::try_from(at).unwrap();
        let running_ns = (0.05 * ns) as u64;
        let waiting_ns = waited as u64;
        Record::Thread(Thread { thread: 4, what: Stage::Write, at_ns, running_ns, waiting_ns })
    });
    made.add(node, read.collect::<Vec<_>>());
}

#[test]
fn a_second_starved_node_still_lacks_its_processor() {
    let starved = |second: Option<(f64, f64)>| {
        let mut made = slow_disk().run();
        starve(&mut made, 1, 0.94, 0.94);
        second.into_iter().for_each(|(early, share)| starve(&mut made, 3, early, share));
        made
    };
    let gain = |second: Option<(f64, f64)>| {
        let made = starved(second);
        let wall = made.explain().wall_ns as f64 / 1e6;
        gain_ms(&made, Cause::Processor, Place::node(1)) / wall
    };
    let near = |gain: f64, expected: f64| assert!((gain - expected).abs() < 0.05, "{gain}");
    near(gain(None), 0.8);
    // Ready to run for 70 % of the time.
    near(gain(Some((0.65, 0.65))), 0.3);
    // It ran no faster while it was always ready, so it needs all of that time.
    assert_eq!(starved(Some((0.94, 0.36))).explain().fix, Err(NoFix::Small));
}

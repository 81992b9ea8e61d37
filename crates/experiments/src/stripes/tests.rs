//! A table in which everything came out as published, for tests of grades.

use garland_analysis::ledger::Cause;
use garland_core::units::bytes;

use super::answer::{Answer, Finding};
use super::job::Stripes;
use super::maker::Pause;
use super::sizes::Sizes;
use super::table::{Common, Row, Table};
use crate::scenario_lab::Busy;
use crate::table::Size;

/// Returns a table of `own` with what `shape` published: the copy as slow as it was with the
/// suspects' pauses, and at the rate of its transfers without; all pauses are found.
pub fn ideal(shape: &Stripes, own: &Stripes) -> Table {
    let then = &shape.published[0];
    let length = bytes::parse(&shape.job.bytes).unwrap();
    let row = |held: bool, paused: bool, gbit: f64| {
        let whole_s = length as f64 * 8.0 / 1e9 / gbit;
        let predicted_s = whole_s;
        let stream_s = whole_s;
        let busy = Busy::default();
        Row { held, paused, predicted_s, whole_s, stream_s, busy, equal: true }
    };
    let transfer = then.transfer.middle();
    let copy = then.copy.middle();
    let rows = [(true, false), (false, false), (true, true), (false, true)];
    let rows =
        rows.map(|(held, paused)| row(held, paused, if held && paused { copy } else { transfer }));
    let finding = || Finding {
        cause: Cause::Pause.name(),
        found_ns: 1_000_000_000,
        fault: None,
        right: true,
        undecided: Vec::new(),
    };
    let answer = |pause: &Pause, together: bool| Answer {
        maker: pause.maker,
        pause: pause.pause.clone(),
        together,
        put_in_ns: 1_000_000_000,
        busy: Busy::default(),
        whole: finding(),
        half: finding(),
    };
    let alone = shape.job.makers.iter().flat_map(|&maker| {
        shape.job.pauses.iter().map(move |pause| Pause { maker, pause: pause.clone() })
    });
    let mut answers: Vec<Answer> = alone.map(|pause| answer(&pause, false)).collect();
    answers.extend(shape.job.suspects.iter().map(|pause| answer(pause, true)));
    let sizes = Sizes { length, buffer: 1 << 20, operation: 10 << 20, overlap: 0 };
    let size = Size { scale: 1.0, bytes: length };
    let buffer_ms = then.buffer_ms.middle();
    let common =
        Common { sizes, size, operations: 26, wire_s: 1.0, buffer_ms, answers, varied: Vec::new() };
    Table::new(own, common, rows.to_vec())
}

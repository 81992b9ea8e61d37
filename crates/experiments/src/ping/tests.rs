//! A table in which everything came out as published, for tests of grades.

use super::job::{Ping, Point, Sojourn, Transport};
use super::table::{Row, Table};
use crate::scenario_lab::Waited;

/// Returns a table of `own` with what `shape` published.
pub fn ideal(shape: &Ping, own: &Ping) -> Table {
    let row = |deep: bool| {
        move |then: &super::job::PublishedLine| Row {
            transport: Transport::Tcp,
            deep,
            predicted_ns: None,
            waited: Waited::default(),
            point: Point {
                size: then.bytes,
                in_flight: then.in_flight,
                count: 1000,
                each_ns: then.us.middle() * 1000.0,
                sojourn: Sojourn { p50: 0 },
                writes: 0,
            },
        }
    };
    let alone = shape.published.iter().filter(|then| then.in_flight == 1);
    let deep = shape.published.iter().filter(|then| then.bytes == shape.job.deep_size);
    Table::new(own, (), alone.map(row(false)).chain(deep.map(row(true))).collect())
}

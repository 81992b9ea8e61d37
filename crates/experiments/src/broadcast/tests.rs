//! A table in which everything came out as published, for tests of grades.

use super::job::{Broadcast, Tool};
use super::table::{Common, Row, Table};
use crate::scenario_lab::Busy;
use crate::table::Size;

/// Returns a table of `own` with what `shape` published: the script as it was, and a standing chain that is
/// faster than another.
pub fn ideal(shape: &Broadcast, own: &Broadcast) -> Table {
    let row = |tool: Tool, receivers: u32, whole_s: f64| Row {
        tool,
        receivers,
        predicted_s: whole_s,
        whole_s,
        stream_s: whole_s,
        busy: Busy::default(),
        equal: true,
    };
    let rows = shape.published.iter().flat_map(|then| {
        let whole_s = then.seconds.middle();
        [(Tool::Pipes, whole_s), (Tool::Cold, 9.0), (Tool::Up, 7.5)]
            .map(|(tool, whole_s)| row(tool, then.receivers, whole_s))
    });
    let size = Size { scale: 1.0, bytes: 86_400_000 };
    Table::new(own, Common { media: String::new(), size, limit_s: 7.34 }, rows.collect())
}

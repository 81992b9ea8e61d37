//! A table in which moving was worth it, for tests of grades.

use super::job::Moves;
use super::table::{Row, Table, Treatment};
use crate::scenario_lab::Busy;

/// Returns a table of `own` in which jobs are done earlier the less of their work is lost.
pub fn ideal(own: &Moves) -> Table {
    let row = |(treatment, seconds, moves): (Treatment, f64, usize)| Row {
        treatment,
        seconds,
        moves,
        moved_cpu_s: moves as f64,
        busy: Busy::default(),
        whole: true,
        run: String::new(),
    };
    let rows =
        [(Treatment::Stay, 25.0, 0), (Treatment::Restart, 16.0, 1), (Treatment::Migrate, 14.0, 1)]
            .map(row);
    Table::new(own, (), rows.to_vec())
}

#[test]
fn what_moving_saves_is_said_and_lost_work_is_wrong() {
    let own = garland_topology::scenarios::text("migration").unwrap();
    let own: Moves = toml::from_str(own).unwrap();
    let mut table = ideal(&own);
    let text = table.to_string();
    assert!(text.contains("to start over elsewhere saves 9.0 of 25.0 s (36 %)"), "{text}");
    assert!(text.contains("to go on elsewhere saves 11.0 of 25.0 s (44 %)"), "{text}");
    assert_eq!(table.broken(), None);
    table.rows[2].whole = false;
    assert!(table.broken().unwrap().contains("go on elsewhere"));
}

//! A table in which everything came out as published, for tests of grades.

use super::forecast::{Answer, At, Knee, ScalingForecast};
use super::job::Scaling;
use super::table::{Common, Row, Table};
use crate::scenario_lab::Busy;

/// Returns a table of `own` with what `shape` published, and forecasts that held.
pub fn ideal(shape: &Scaling, own: &Scaling) -> Table {
    let row = |nodes: u32, seconds: f64| Row {
        nodes,
        seconds,
        busy: Busy::default(),
        run: String::new(),
    };
    let power = |nodes: u32| shape.published(nodes).map_or(10.0, |then| then.power.middle());
    let forecast = shape.job.forecast.iter();
    let rows: Vec<Row> = [row(1, 60.0)]
        .into_iter()
        .chain(forecast.map(|&nodes| row(nodes, 60.0 / power(nodes))))
        .collect();
    let at = |row: &Row| At { nodes: row.nodes, seconds: row.seconds, interval: Some((0.0, 60.0)) };
    let knee = Some(Knee { nodes: 15.0, resource: "hub".to_owned() });
    let forecast = Answer { curve: rows.iter().map(at).collect(), knee };
    let prediction = ScalingForecast { forecast, simulated: Vec::new() };
    Table::new(own, Common { scale: 1.0, prediction }, rows)
}

//! Times on growing numbers of nodes: on the first of them measured, on the others forecast and
//! then tried.

use std::fmt::{self, Formatter};

use garland_analysis::knee;
use garland_farm::result::took;
use garland_terminal::failure::Failure;
use serde::Serialize;

use super::forecast::{At, ScalingForecast};
use crate::claim::Claim;
use crate::predicted::Prediction;
use crate::scenario_lab::{Busy, ScenarioLab};
use crate::table::or_dash;

/// All jobs on a number of nodes.
#[derive(Clone, Debug, Serialize)]
pub struct CountRow {
    /// Number of nodes.
    pub nodes: u32,
    /// Seconds until the last job was done.
    pub seconds: f64,
    /// The share of this machine's processor time that was in use meanwhile.
    pub busy: Busy,
    /// The run's name.
    pub run: String,
}

/// The rows of all numbers of nodes, with the forecast from the first of them.
#[derive(Clone, Copy, Debug)]
pub struct Curve<'a> {
    /// All rows, one for each number of nodes.
    pub rows: &'a [CountRow],
    /// The forecast; `None` if it was refused.
    pub prediction: Option<&'a ScalingForecast>,
    /// The numbers of nodes that were forecast and then tried.
    pub tried: &'a [u32],
}

/// The columns of a printed curve that are not times of the lab.
pub struct Columns<'a> {
    /// The published figure of a number of nodes; empty if it has none.
    pub published: &'a dyn Fn(u32) -> String,
    /// What a second of the lab stands for.
    pub seconds: f64,
    /// The unit of powers, and the power of one node in it.
    pub unit: (&'a str, f64),
}

/// Forecasts the times on `counts` nodes from the runs of `rows` in a lab. `topology` has the wires
/// that nodes share; `None` if they share none. Returns `None` if these times do not allow a
/// forecast.
pub fn forecast(
    lab: &ScenarioLab<'_>,
    topology: Option<&str>,
    counts: &[u32],
    rows: &[CountRow],
) -> Result<Option<ScalingForecast>, Failure> {
    let counts = counts.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
    let mut words = vec!["forecast", "--nodes", &counts];
    words.extend(topology.into_iter().flat_map(|file| ["--topology", file]));
    words.extend(rows.iter().map(|row| row.run.as_str()));
    lab.ask_or_refused(&words)
}

impl<'a> Curve<'a> {
    /// Returns the power of a row: the number of nodes that would be as fast without losses. `None`
    /// if one node alone was not measured.
    pub fn power(self, row: &CountRow) -> Option<f64> {
        Some(self.one()?.seconds / row.seconds)
    }

    /// Returns whether the emulator may have lagged while the power of a row was measured.
    pub fn lags(self, row: &CountRow) -> bool {
        row.busy.lags() || self.one().is_some_and(|one| one.busy.lags())
    }

    /// Returns the row of the measured knee: the smallest number of nodes with all but a twentieth
    /// of the most power. `None` if that is the largest number of nodes, so that more might gain
    /// more.
    pub fn knee(self) -> Option<&'a CountRow> {
        let mut rows: Vec<&CountRow> = self.rows.iter().collect();
        rows.sort_by_key(|row| row.nodes);
        let rates: Vec<f64> = rows.iter().map(|row| 1.0 / row.seconds).collect();
        let at = knee(&rates)?;
        (at + 1 < rows.len()).then(|| rows[at])
    }

    /// Returns the predicted times, each with the time measured in the lab. `what` describes the
    /// work.
    pub fn predictions(self, what: &str) -> Vec<Prediction> {
        let of = |(row, at): (&CountRow, &At)| {
            let what = format!("{what} on {} nodes", row.nodes);
            Prediction::seconds(what, self.predicted(at), row.seconds).voided(row.busy.lags())
        };
        self.forecasts().map(of).collect()
    }

    /// Returns the questions whether few nodes could have told the times of more. `of` begins each
    /// of them.
    pub fn told(self, of: &str) -> Vec<Claim> {
        let told = |row: &CountRow| {
            let inside = |(low, high): (f64, f64)| (low..=high).contains(&row.seconds);
            let interval = self.forecast_of(row).and_then(|at| at.interval);
            let what = format!("{of}time on {} nodes is within its forecast's interval", row.nodes);
            Claim::answer(what, interval.is_some_and(inside)).voided(row.busy.lags())
        };
        self.rows.iter().filter(|row| self.tried.contains(&row.nodes)).map(told).collect()
    }

    /// Writes a line for each row: what was published, forecast and measured.
    pub fn write(self, f: &mut Formatter<'_>, columns: &Columns<'_>) -> fmt::Result {
        let Columns { published, seconds, unit: (unit, one) } = *columns;
        let time = |of: f64| took(of * seconds);
        writeln!(
            f,
            "nodes | published |  by a law  predicted       nine times of ten |  emulated  predicted off{unit:>7}"
        )?;
        for row in self.rows {
            let told = self.forecast_of(row);
            let off = told.map(|at| (self.predicted(at) / row.seconds - 1.0) * 100.0);
            let told = told.map_or_else(
                || format!("{:>10}{:>11}{:>24}", "", "-", ""),
                |at| {
                    let interval = at.interval;
                    let interval =
                        interval.map(|(low, high)| format!("{} .. {}", time(low), time(high)));
                    let law = time(at.seconds);
                    let told = time(self.predicted(at));
                    format!("{law:>10}{told:>11}{:>24}", or_dash(interval))
                },
            );
            let off = or_dash(off.map(|off| format!("{off:+.1} %")));
            let power = self.power(row).unwrap_or(0.0) * one;
            let power = if one > 1.0 { format!("{power:.0}") } else { format!("{power:.1}") };
            let nodes = row.nodes;
            let then = published(row.nodes);
            let now = time(row.seconds);
            writeln!(f, "{nodes:>5} |{then:>10} |{told} |{now:>10}{off:>15}{power:>7}")?;
        }
        Ok(())
    }

    fn one(self) -> Option<&'a CountRow> {
        self.rows.iter().find(|one| one.nodes == 1)
    }

    /// Returns the rows that test the forecast, each with its forecast.
    fn forecasts(self) -> impl Iterator<Item = (&'a CountRow, &'a At)> {
        self.rows.iter().filter_map(move |row| Some((row, self.forecast_of(row)?)))
    }

    /// Returns the forecast for the number of nodes of a row; `None` if it was not forecast.
    fn forecast_of(self, row: &CountRow) -> Option<&'a At> {
        let curve = &self.prediction?.forecast.curve;
        let is_tried = self.tried.contains(&row.nodes);
        curve.iter().find(|at| is_tried && at.nodes == row.nodes)
    }

    /// Returns the predicted seconds: those of the jobs simulated one by one, or of the scaling law
    /// if they cannot be simulated.
    fn predicted(self, at: &At) -> f64 {
        let simulated = self.prediction.into_iter().flat_map(|one| &one.simulated);
        let found = simulated.into_iter().find(|one| one.nodes == at.nodes);
        found.map_or(at.seconds, |one| one.seconds)
    }
}

//! The table of node counts: measured and forecast times and powers side by side.

use std::fmt;

use garland_analysis::grade::Sample;
use serde::Serialize;

use super::forecast::{At, ScalingForecast};
use super::job::Scaling;
use crate::claim::Claim;
use crate::predicted::Prediction;
use crate::scenario_lab::Busy;
use crate::table::{self, or_dash};
use garland_farm::result::took;

/// The table: a row for each number of nodes.
pub type Table = table::Table<Scaling, Row, Common>;

/// The scale of the jobs, and the forecast.
#[derive(Clone, Debug, Serialize)]
pub struct Common {
    /// The lengths and times of the jobs as a share of those in the scenario.
    pub scale: f64,
    /// The forecast that was made from the measured numbers of nodes.
    pub prediction: ScalingForecast,
}

/// All jobs on a number of nodes.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// Number of nodes.
    pub nodes: u32,
    /// Seconds until the last job was done.
    pub seconds: f64,
    /// The share of this machine's processor time that was in use meanwhile.
    pub busy: Busy,
    /// The run's name.
    pub run: String,
}

impl Table {
    /// Returns the predicted times, each with the time measured in the lab.
    pub fn predictions(&self) -> Vec<Prediction> {
        let of = |(row, at): (&Row, &At)| {
            let what = format!("{} jobs on {} nodes", self.experiment.job.jobs, row.nodes);
            Prediction::seconds(what, self.predicted(at), row.seconds).voided(row.busy.lags())
        };
        self.tried().map(of).collect()
    }

    /// Returns the published powers, and the questions whether few nodes could have told: each with what was
    /// measured.
    pub fn claims(&self) -> Vec<Claim> {
        let one = self.rows.iter().find(|one| one.nodes == 1);
        let lags = |row: &Row| row.busy.lags() || one.is_some_and(|one| one.busy.lags());
        let mut claims = Vec::new();
        for row in &self.rows {
            let Some(then) = self.experiment.published(row.nodes) else { continue };
            let power = self.power(row).map_or_else(Sample::none, Sample::new);
            let what = format!("power of {} nodes", row.nodes);
            claims.push(Claim::figure(what, "nodes", &then.power, power.voided(lags(row))));
        }
        for (row, at) in self.tried() {
            let inside = |(low, high): (f64, f64)| (low..=high).contains(&row.seconds);
            let what = format!("time on {} nodes is within its forecast's interval", row.nodes);
            let held = at.interval.is_some_and(inside);
            claims.push(Claim::answer(what, held).voided(row.busy.lags()));
        }
        let knee = self.common.prediction.forecast.knee.is_some();
        claims.push(Claim::answer("a shared resource is found to limit the speed", knee));
        claims
    }

    /// Returns `None`: a failed job ends the experiment.
    pub fn broken(&self) -> Option<String> {
        None
    }

    /// Returns the simulated seconds for a number of nodes; `None` if it was not simulated.
    fn simulated(&self, nodes: u32) -> Option<f64> {
        let simulated = self.common.prediction.simulated.iter().find(|one| one.nodes == nodes);
        simulated.map(|one| one.seconds)
    }

    /// Returns the predicted seconds: the mean of the scaling law and the simulation, or the law
    /// alone without a simulation. The law lets nodes use the wire at random times, so they wait
    /// less than real ones; the simulation lets them start together and share it evenly, so they
    /// wait more.
    fn predicted(&self, at: &At) -> f64 {
        self.simulated(at.nodes).map_or(at.seconds, |seconds| at.seconds.midpoint(seconds))
    }

    /// Returns the power of a row: the number of nodes that would be as fast without losses. `None`
    /// if one node alone was not measured.
    fn power(&self, row: &Row) -> Option<f64> {
        let one = self.rows.iter().find(|one| one.nodes == 1)?;
        Some(one.seconds / row.seconds)
    }

    /// Returns the rows that test the forecast, each with its forecast.
    fn tried(&self) -> impl Iterator<Item = (&Row, &At)> {
        let counts = &self.experiment.job.forecast;
        let tried = self.rows.iter().filter(|row| counts.contains(&row.nodes));
        tried.filter_map(|row| {
            let at =
                self.common.prediction.forecast.curve.iter().find(|at| at.nodes == row.nodes)?;
            Some((row, at))
        })
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let job = &self.experiment.job;
        writeln!(
            f,
            "emulated: {} jobs, each of them {} in and {} out, times {}\n",
            job.jobs, job.bytes_in, job.bytes_out, self.common.scale
        )?;
        writeln!(
            f,
            "nodes | published |  by a law  one by one  predicted       nine times of ten |  emulated  power"
        )?;
        for row in &self.rows {
            let then = self.experiment.published(row.nodes);
            let then = or_dash(then.map(|one| &one.power));
            let told = self.tried().find(|(one, _)| one.nodes == row.nodes);
            let told = told.map_or_else(
                || format!("{:>10}{:>12}{:>11}{:>24}", "", "", "-", ""),
                |(_, at)| {
                    let interval = at.interval;
                    let interval =
                        interval.map(|(low, high)| format!("{} .. {}", took(low), took(high)));
                    let interval = or_dash(interval);
                    let simulated = self.simulated(row.nodes).map_or_else(String::new, took);
                    let (law, both) = (took(at.seconds), took(self.predicted(at)));
                    format!("{law:>10}{simulated:>12}{both:>11}{interval:>24}")
                },
            );
            let power = self.power(row).unwrap_or(0.0);
            let (nodes, now) = (row.nodes, took(row.seconds));
            writeln!(f, "{nodes:>5} |{then:>10} |{told} |{now:>10}{power:>7.1}")?;
        }
        if let Some(knee) = &self.common.prediction.forecast.knee {
            writeln!(
                f,
                "\nknee, from the first {}: {:.1} nodes: {}",
                job.measured.len(),
                knee.nodes,
                knee.resource
            )?;
        }
        Ok(())
    }
}

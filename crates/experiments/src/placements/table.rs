//! The table of placements: times, slowdowns, and the jobs of each node.

use std::fmt::{self, Formatter};

use garland_analysis::farm::Spread;
use garland_analysis::grade::Sample;
use garland_farm::result::took;
use serde::Serialize;

use super::job::{COST, Placements};
use crate::claim::Claim;
use crate::predicted::Prediction;
use crate::scenario_lab::Busy;
use crate::table::{self, or_dash};

/// The table: a row for each placement and each way to start the jobs.
pub type Table = table::Table<Placements, Row>;

/// The times of all jobs with one placement.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The placement's name.
    pub placement: String,
    /// Whether all jobs were started at once, and not as slots became free.
    pub at_once: bool,
    /// Seconds until the last job was done.
    pub seconds: f64,
    /// The least seconds in which any placement could finish the jobs if no job is split; `None` if
    /// unknown.
    pub bound_s: Option<f64>,
    /// The mean slowdown: for each job, the time from entering the queue to its end, divided by the
    /// time that its work takes on the fastest node. `None` if unknown.
    pub slowdown: Option<f64>,
    /// The times of the slowest and the fastest job; `None` if unknown.
    pub spread: Option<Spread>,
    /// For each node, in the order of the job's `nodes`, the number of jobs that the node did.
    pub done: Vec<usize>,
    /// The share of this machine's processor time that was in use meanwhile.
    pub busy: Busy,
    /// The run's name.
    pub run: String,
}

impl Row {
    /// Returns the whole-job bound as a share of the row's time; `None` if the bound is unknown.
    fn of_bound(&self) -> Option<f64> {
        Some(self.bound_s? / self.seconds)
    }
}

impl Table {
    /// Returns no predictions: the time of a shell loop cannot be predicted.
    pub fn predictions(&self) -> Vec<Prediction> {
        Vec::new()
    }

    /// Returns what they were predicted from, and where each input came from.
    pub fn predicted_from(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the mean slowdowns, and the jobs of each node, where jobs start as slots become
    /// free.
    pub fn claims(&self) -> Vec<Claim> {
        let mut claims = Vec::new();
        for row in self.rows.iter().filter(|row| !row.at_once) {
            let slowdown = row.slowdown.map_or_else(Sample::none, Sample::new);
            let lags = row.busy.lags();
            let what = format!("mean slowdown, {}", row.placement);
            claims.push(Claim::measured(what, "", slowdown.voided(lags)));
            for (node, done) in self.experiment.job.nodes.iter().zip(&row.done) {
                let what = format!("jobs of {node}, {}", row.placement);
                claims.push(Claim::measured(what, "jobs", Sample::new(*done as f64).voided(lags)));
            }
        }
        claims
    }

    /// Describes the first placement with which jobs were lost; `None` if there is none.
    pub fn broken(&self) -> Option<String> {
        let jobs = self.experiment.job.jobs;
        let lost = self.rows.iter().find(|row| row.done.iter().sum::<usize>() != jobs)?;
        Some(format!("{}: the nodes did not do {jobs} jobs in total", lost.placement))
    }

    fn row(&self, placement: &str, at_once: bool) -> Option<&Row> {
        self.rows.iter().find(|row| row.placement == placement && row.at_once == at_once)
    }

    /// Returns the slowdown of a row as a multiple of that of `mosix`, both started in the same
    /// way.
    fn by_cost(&self, row: &Row) -> Option<f64> {
        Some(row.slowdown? / self.row(COST, row.at_once)?.slowdown?)
    }

    /// Returns a placement's published slowdown as a multiple of that of `mosix`.
    fn by_cost_then(&self, placement: &str) -> Option<f64> {
        let then =
            |placement| self.experiment.published(placement).map(|row| row.slowdown.middle());
        Some(then(placement)? / then(COST)?)
    }

    fn part(&self, f: &mut Formatter<'_>, at_once: bool) -> fmt::Result {
        let how = if at_once { "all at once" } else { "as slots become free" };
        writeln!(
            f,
            "\n{how:<20}{:>9}{:>10}{:>10}{:>10}{:>9} |{:>9}{:>10} |{:>10}{:>10}  jobs of {}",
            "time",
            "of bound",
            "slowest",
            "fastest",
            "DIFF %",
            "slowdown",
            "by cost",
            "published",
            "by cost",
            self.experiment.job.nodes.join(", ")
        )?;
        for row in self.rows.iter().filter(|row| row.at_once == at_once) {
            let number = |value: Option<f64>| or_dash(value.map(|value| format!("{value:.2}")));
            let percent = row.of_bound().map(|share| share * 100.0);
            let time = |pick: fn(&Spread) -> f64| {
                or_dash(row.spread.as_ref().map(|spread| took(pick(spread))))
            };
            let then = self.experiment.published(&row.placement).map(|then| &then.slowdown);
            let done: Vec<String> = row.done.iter().map(usize::to_string).collect();
            writeln!(
                f,
                "{:<20}{:>9}{:>8} %{:>10}{:>10}{:>9} |{:>9}{:>10} |{:>10}{:>10}  {}",
                row.placement,
                took(row.seconds),
                number(percent),
                time(|spread| spread.slowest),
                time(|spread| spread.fastest),
                number(row.spread.map(|spread| spread.share * 100.0)),
                number(row.slowdown),
                number(self.by_cost(row)),
                or_dash(then),
                number(self.by_cost_then(&row.placement)),
                done.join(", ")
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let job = &self.experiment.job;
        writeln!(
            f,
            "emulated: {} jobs on {} nodes; slowdown is the mean of each job's time from queue to end over its \
             time on the fastest node",
            job.jobs,
            job.nodes.len()
        )?;
        self.part(f, false)?;
        self.part(f, true)
    }
}

//! The table of node counts: measured and forecast times and powers side by side.

use std::fmt;

use garland_analysis::grade::Sample;
use serde::Serialize;

use super::curve::{Columns, CountRow, Curve};
use super::forecast::ScalingForecast;
use super::job::Scaling;
use crate::claim::Claim;
use crate::predicted::{Prediction, inputs};
use crate::table::{self, or_dash};

/// The table: a row for each number of nodes.
pub type Table = table::Table<Scaling, CountRow, Common>;

/// The scale of the jobs, and the forecast.
#[derive(Clone, Debug, Serialize)]
pub struct Common {
    /// The lengths and times of the jobs as a share of those in the scenario.
    pub scale: f64,
    /// The forecast that was made from the measured numbers of nodes; `None` if these do not allow
    /// one.
    pub prediction: Option<ScalingForecast>,
}

impl Table {
    /// Returns the predicted times, each with the time measured in the lab.
    pub fn predictions(&self) -> Vec<Prediction> {
        self.curve().predictions(&format!("{} jobs", self.experiment.job.jobs))
    }

    /// Returns what they were predicted from, and where each input came from.
    pub fn predicted_from(&self) -> Vec<String> {
        [inputs::WIRES, inputs::FORECAST].map(str::to_owned).to_vec()
    }

    /// Returns the powers, and the questions whether few nodes could have told, and whether there
    /// is a knee: each with what was measured.
    pub fn claims(&self) -> Vec<Claim> {
        let curve = self.curve();
        let powers = self.rows.iter().map(|row| {
            let power = curve.power(row).map_or_else(Sample::none, Sample::new);
            let what = format!("power of {} nodes", row.nodes);
            Claim::measured(what, "nodes", power.voided(curve.lags(row)))
        });
        let mut claims: Vec<Claim> = powers.chain(curve.told("")).collect();
        claims.push(self.limit());
        claims
    }

    /// Returns the claim that a shared resource limits the speed, or that the most nodes still gain
    /// power.
    fn limit(&self) -> Claim {
        let Some(claim) = &self.experiment.job.unlimited else {
            let prediction = self.common.prediction.as_ref();
            let is_found = prediction.is_some_and(|one| one.forecast.knee.is_some());
            return Claim::answer("a shared resource is found to limit the speed", is_found);
        };
        let lags = self.rows.iter().any(|row| row.busy.lags());
        Claim::answer(claim.as_str(), self.curve().knee().is_none()).voided(lags)
    }

    /// Returns `None`: a failed job ends the experiment.
    pub fn broken(&self) -> Option<String> {
        None
    }

    fn curve(&self) -> Curve<'_> {
        let rows = &self.rows;
        let prediction = self.common.prediction.as_ref();
        Curve { rows, prediction, tried: &self.experiment.job.forecast }
    }

    /// Writes the knee that was forecast, and what was measured.
    fn knees(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let job = &self.experiment.job;
        write!(f, "\nknee, from the first {}: ", job.measured.len())?;
        match self.common.prediction.as_ref().and_then(|one| one.forecast.knee.as_ref()) {
            Some(knee) => writeln!(f, "{:.1} nodes: {}", knee.nodes, knee.resource)?,
            None => writeln!(f, "none")?,
        }
        let curve = self.curve();
        let power = |row: &CountRow| curve.power(row).unwrap_or(0.0);
        let Some(most) = self.rows.iter().max_by_key(|row| row.nodes) else { return Ok(()) };
        match curve.knee() {
            Some(knee) => writeln!(
                f,
                "knee, measured: {} nodes have the power of {:.1}, and {} that of {:.1}",
                knee.nodes,
                power(knee),
                most.nodes,
                power(most)
            ),
            None => writeln!(
                f,
                "knee, measured: none up to {} nodes, which have the power of {:.1}",
                most.nodes,
                power(most)
            ),
        }
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
        let published = |nodes| or_dash(self.experiment.published(nodes).map(|one| &one.power));
        let columns = Columns { published: &published, seconds: 1.0, unit: ("power", 1.0) };
        self.curve().write(f, &columns)?;
        self.knees(f)
    }
}

//! The table of copies over several topologies: published, emulated, and the bound of the wires.

use std::fmt;

use garland_analysis::grade::Sample;
use garland_core::units::bytes;
use serde::Serialize;

use super::job::{CopyExperiment, CopyTool};
use crate::claim::Claim;
use crate::predicted::{Prediction, inputs};
use crate::scenario_lab::Busy;
use crate::table::{self, Size, or_dash};

/// Bytes of a MiB, the unit of the figures of 2004.
const MIB: f64 = 1048576.0;

/// The table: a row for each topology and tool.
pub type Table = table::Table<CopyExperiment, Row, Size>;

/// A copy over one topology.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The topology's name.
    pub topology: String,
    /// The tool that copied.
    pub by: CopyTool,
    /// The predicted seconds of the whole command: the measured time of a file of one byte, plus
    /// the simulated time of the bytes.
    pub predicted_s: f64,
    /// Seconds of the whole command.
    pub whole_s: f64,
    /// The seconds that the wires alone need for the file.
    pub bound_s: f64,
    /// The share of this machine's processor time that was in use during the copy.
    pub busy: Busy,
    /// Whether the node's file equals the source.
    pub equal: bool,
}

impl Table {
    /// Returns the times, rates and percentages of copies through a mount, or by `garland cp` if
    /// nothing else copied. Times are those of the whole published file: as many times longer as it
    /// is longer.
    pub fn claims(&self) -> Vec<Claim> {
        let is_by_mount = self.rows.iter().any(|row| row.by == CopyTool::Mount);
        let by = if is_by_mount { CopyTool::Mount } else { CopyTool::Cp };
        let rows: Vec<&Row> = self.rows.iter().filter(|row| row.by == by).collect();
        let mut claims = Vec::new();
        let Some(base) = rows.first() else { return claims };
        for row in &rows {
            let name = &row.topology;
            let seconds = row.sample(row.whole_s / self.common.scale);
            claims.push(Claim::measured(format!("{name}, time"), "s", seconds));
            let rate = row.sample(self.rate(row.whole_s));
            claims.push(Claim::measured(format!("{name}, rate"), "MiB/s", rate));
            if row.topology != base.topology {
                let percent = row.sample(row.whole_s / base.whole_s * 100.0);
                let what = format!("{name}, of {}", base.topology);
                claims.push(Claim::measured(what, "%", percent.voided(base.busy.lags())));
            }
        }
        claims
    }

    /// Describes the first copy that differs from its source; `None` if there is none.
    pub fn broken(&self) -> Option<String> {
        let row = self.rows.iter().find(|row| !row.equal)?;
        Some(format!("{}: the file differs from its source", row.label()))
    }

    /// Returns the predicted times, each with the time measured in the lab.
    pub fn predictions(&self) -> Vec<Prediction> {
        let of = |row: &Row| {
            let one = Prediction::seconds(row.label(), row.predicted_s, row.whole_s);
            one.voided(row.busy.lags())
        };
        self.rows.iter().map(of).collect()
    }

    /// Returns what they were predicted from, and where each input came from.
    pub fn predicted_from(&self) -> Vec<String> {
        [inputs::WIRES, inputs::PROCESSORS, inputs::SET_UP, inputs::MEMORY]
            .map(str::to_owned)
            .to_vec()
    }

    /// Returns the rate in MiB/s of a copy of the file that takes `seconds`.
    fn rate(&self, seconds: f64) -> f64 {
        self.common.bytes as f64 / MIB / seconds
    }
}

impl Row {
    /// Returns the sample of a value from this row, which is void if the emulator lagged.
    fn sample(&self, value: f64) -> Sample {
        Sample::new(value).voided(self.busy.lags())
    }

    /// Returns the topology's name, followed by the tool unless that is `garland cp`.
    fn label(&self) -> String {
        match self.by {
            CopyTool::Cp => self.topology.clone(),
            CopyTool::Mount => format!("{}, through a mount", self.topology),
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Size { scale, bytes: length } = self.common;
        let size = bytes::format(length);
        let share = scale * 100.0;
        let to = &self.experiment.job.to;
        writeln!(f, "emulated: {size} ({share:.3} % of the published file) to {to}\n")?;
        writeln!(
            f,
            "                           |published         | predicted        | emulated         |    wires         | emulated published"
        )?;
        writeln!(
            f,
            "topology                   |        s   MiB/s |         s  MiB/s |        s   MiB/s |        s   MiB/s | of wires  of wires"
        )?;
        for row in &self.rows {
            let bound = self.rate(row.bound_s);
            let then = self.experiment.published(&row.topology);
            let seconds = or_dash(then.map(|then| &then.seconds));
            let rate = or_dash(then.map(|then| &then.rate));
            let used = then.map(|then| format!("{:.1} %", then.rate.middle() / bound * 100.0));
            let used = or_dash(used);
            writeln!(
                f,
                "{:<26} |{seconds:>9}{rate:>8} |{:>10.2}{:>7.2} |{:>9.2}{:>8.2} |{:>9.2}{bound:>8.2} |{:>7.1} %{used:>10}{}",
                row.label(),
                row.predicted_s,
                self.rate(row.predicted_s),
                row.whole_s,
                self.rate(row.whole_s),
                row.bound_s,
                row.bound_s / row.whole_s * 100.0,
                if row.equal { "" } else { "  DIFFERS" }
            )?;
        }
        Ok(())
    }
}

//! The table of copies over several topologies: published, emulated, and the bound of the wires.

use std::fmt;

use garland_core::units::bytes;
use serde::Serialize;

use super::job::{CopyExperiment, CopyTool};
use crate::predicted::Prediction;
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
    /// Whether the node's file equals the source.
    pub equal: bool,
}

impl Table {
    /// Describes the first row that is out of tolerance: its copy is too slow for the wires, or the
    /// published copy is faster than the wires allow. `None` if there is no such row.
    pub fn miss(&self) -> Option<String> {
        let least = self.experiment.tolerance.least_of_bound;
        self.rows.iter().find_map(|row| {
            let (topology, share) = (row.label(), row.bound_s / row.whole_s);
            if !row.equal {
                return Some(format!("{topology}: the file differs from its source"));
            }
            if share < least {
                let (share, least) = (share * 100.0, least * 100.0);
                return Some(format!(
                    "{topology}: {share:.1} % of the bound of the wires, below {least:.0} %"
                ));
            }
            let then = self.experiment.published(&row.topology)?;
            let bound = self.rate(row.bound_s);
            (then.rate > bound).then(|| {
                format!(
                    "{topology}: the published {} MiB/s is above the {bound:.2} of its wires",
                    then.rate
                )
            })
        })
    }

    /// Returns the predicted times, each with the time measured in the lab.
    pub fn predictions(&self) -> Vec<Prediction> {
        let of = |row: &Row| Prediction::seconds(row.label(), row.predicted_s, row.whole_s);
        self.rows.iter().map(of).collect()
    }

    /// Returns the rate in MiB/s of a copy of the file that takes `seconds`.
    fn rate(&self, seconds: f64) -> f64 {
        self.common.bytes as f64 / MIB / seconds
    }
}

impl Row {
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
        let (size, share) = (bytes::format(length), scale * 100.0);
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
            let seconds = or_dash(then.map(|then| format!("{:.1}", then.seconds)));
            let rate = or_dash(then.map(|then| format!("{:.2}", then.rate)));
            let used = or_dash(then.map(|then| format!("{:.1} %", then.rate / bound * 100.0)));
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

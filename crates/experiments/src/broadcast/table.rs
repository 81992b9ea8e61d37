//! The table of a broadcast: published and emulated side by side.

use std::fmt;

use serde::Serialize;

use super::job::{Broadcast, Tool};
use crate::predicted::Prediction;
use crate::table::{self, Size};

/// The table: a row for each number of receivers and each tool.
pub type Table = table::Table<Broadcast, Row, Common>;

/// The fields that all rows share: the file's length, and the bound of the wire.
#[derive(Clone, Debug, Serialize)]
pub struct Common {
    /// A short description of the network.
    #[serde(skip)]
    pub media: String,
    /// The length of the copied file.
    #[serde(flatten)]
    pub size: Size,
    /// The seconds that the wire alone needs for the file.
    pub limit_s: f64,
}

/// A copy with one tool to one number of nodes.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The tool that copied.
    pub tool: Tool,
    /// The number of nodes that received the file.
    pub receivers: u32,
    /// The predicted seconds of the whole command: the measured time of a file of one byte, plus
    /// the simulated time of the bytes.
    pub predicted_s: f64,
    /// Seconds of the whole command.
    pub whole_s: f64,
    /// Seconds from the first byte until the last node has received its last byte.
    pub stream_s: f64,
    /// Whether every node's file equals the source.
    pub equal: bool,
}

impl Table {
    /// Describes the first result that is out of tolerance; `None` if there is none.
    pub fn miss(&self) -> Option<String> {
        let most = self.experiment.tolerance.up_over_limit;
        self.rows.iter().find_map(|row| {
            let (tool, receivers) = (row.tool.name(), row.receivers);
            let share = row.whole_s / self.common.limit_s;
            if !row.equal {
                return Some(format!("{tool} to {receivers}: a file differs from its source"));
            }
            (row.tool == Tool::Up && share > most).then(|| {
                format!("{tool} to {receivers} takes {share:.2} times as long as the wire alone, above {most}")
            })
        })
    }

    /// Returns the predicted times, each with the time measured in the lab.
    pub fn predictions(&self) -> Vec<Prediction> {
        let of = |row: &Row| {
            let what = format!("{} to {}", row.tool.name(), row.receivers);
            Prediction::seconds(what, row.predicted_s, row.whole_s)
        };
        self.rows.iter().map(of).collect()
    }

    fn rate(&self, seconds: f64) -> f64 {
        self.common.size.bytes as f64 / 1e6 / seconds
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "emulated: {:.1} MB ({:.0} % of the published file), {}; the wire alone takes {:.2} s",
            self.common.size.bytes as f64 / 1e6,
            self.common.size.scale * 100.0,
            self.common.media,
            self.common.limit_s
        )?;
        writeln!(f)?;
        writeln!(
            f,
            "{:<15}{:>10}{:>10} |{:>9}{:>8} |{:>10}{:>7} |{:>9}{:>8}{:>9}{:>8}",
            "", "", "", "published", "", "predicted", "", "emulated", "", "stream", ""
        )?;
        writeln!(
            f,
            "{:<15}{:>10}{:>10} |{:>9}{:>8} |{:>10}{:>7} |{:>9}{:>8}{:>9}{:>8}",
            "tool", "receivers", "repeaters", "s", "MB/s", "s", "MB/s", "s", "MB/s", "s", "MB/s"
        )?;
        for row in &self.rows {
            self.write_row(f, row)?;
        }
        Ok(())
    }
}

impl Table {
    fn write_row(&self, f: &mut fmt::Formatter<'_>, row: &Row) -> fmt::Result {
        let then = (row.tool == Tool::Pipes).then(|| self.experiment.published(row.receivers));
        let (seconds, rate) = match then.flatten() {
            Some(then) => {
                let [least, most] = then.seconds;
                let seconds =
                    if least == most { format!("{least}") } else { format!("{least}-{most}") };
                (seconds, format!("{}", then.rate))
            }
            None => ("-".to_owned(), "-".to_owned()),
        };
        writeln!(
            f,
            "{:<15}{:>10}{:>10} |{seconds:>9}{rate:>8} |{:>10.2}{:>7.1} |{:>9.2}{:>8.1}{:>9.2}{:>8.1}{}",
            row.tool.name(),
            row.receivers,
            row.receivers - 1,
            row.predicted_s,
            self.rate(row.predicted_s),
            row.whole_s,
            self.rate(row.whole_s),
            row.stream_s,
            self.rate(row.stream_s),
            if row.equal { "" } else { "  DIFFERS" }
        )
    }
}

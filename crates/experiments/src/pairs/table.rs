//! The table of copies between pairs: a line for each topology and kind of wire, a column for each number of
//! pairs.

use std::fmt;

use garland_core::units::bytes;
use serde::Serialize;

use super::group::Wire;
use super::job::Pairs;
use crate::predicted::Prediction;
use crate::table::{self, Size, write_line};

/// The copies between pairs; the common field is the length of each pair's file.
pub type Table = table::Table<Pairs, Row, Size>;

/// Copies of several pairs at the same time.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The topology's name.
    pub topology: String,
    /// The kind of wire between the nodes of a pair.
    pub wire: Wire,
    /// Number of pairs.
    pub pairs: usize,
    /// The predicted seconds of the whole commands: the measured time of a file of one byte, plus
    /// the simulated time of the bytes.
    pub predicted_s: f64,
    /// The seconds from the start of the first command to the end of the last one.
    pub whole_s: f64,
    /// The seconds that the wires alone need.
    pub bound_s: f64,
}

impl Row {
    /// Returns the measured rate as a share of the bound of the wires.
    fn share(&self) -> f64 {
        self.bound_s / self.whole_s
    }
}

impl Table {
    /// Describes the first result that is out of tolerance; `None` if there is none.
    pub fn miss(&self) -> Option<String> {
        let least = self.experiment.tolerance.least_of_bound;
        self.rows.iter().find(|row| row.share() < least).map(|row| {
            let Row { topology, wire, pairs, .. } = row;
            format!(
                "{topology}: {pairs} copies on {} wire reach {:.1} % of the bound of the wires, below {:.0} %",
                wire.name(),
                row.share() * 100.0,
                least * 100.0
            )
        })
    }

    /// Returns the predicted times, each with the time measured in the lab.
    pub fn predictions(&self) -> Vec<Prediction> {
        let of = |row: &Row| {
            let what = format!("{}, {} on {} wire", row.topology, row.pairs, row.wire.name());
            Prediction::seconds(what, row.predicted_s, row.whole_s)
        };
        self.rows.iter().map(of).collect()
    }

    /// Returns the rate of all files of a row together, in MB/s, if they take `seconds`.
    fn rate(&self, row: &Row, seconds: f64) -> f64 {
        self.common.bytes as f64 * row.pairs as f64 / 1e6 / seconds
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Size { scale, bytes: length } = self.common;
        let (size, share) = (bytes::format(length), scale * 100.0);
        writeln!(f, "emulated: {size} ({share:.3} % of the published files) from node to node\n")?;
        let counts = self.experiment.job.counts.iter().map(|count| format!("{count:>7}"));
        write_line(f, &format!("{:<26}wire", "MB/s of all pairs"), "", counts)?;
        let same = |a: &Row, b: &Row| a.topology == b.topology && a.wire == b.wire;
        for rows in self.rows.chunk_by(same) {
            let rates = |seconds: fn(&Row) -> f64| {
                rows.iter().map(move |row| format!("{:>7.2}", self.rate(row, seconds(row))))
            };
            let of = format!("{:<26}{}", rows[0].topology, rows[0].wire.name());
            write_line(f, &of, "predicted", rates(|row| row.predicted_s))?;
            write_line(f, "", "emulated", rates(|row| row.whole_s))?;
            write_line(f, "", "wires", rates(|row| row.bound_s))?;
            let shares = rows.iter().map(|row| format!("{:>7.1}", row.share() * 100.0));
            write_line(f, "", "of wires, %", shares)?;
        }
        Ok(())
    }
}

//! The table of copies between pairs: a line for each topology and kind of wire, a column for each
//! number of pairs.

use std::fmt;

use garland_analysis::grade::Sample;
use garland_core::units::bytes;
use serde::Serialize;

use super::group::Wire;
use super::job::Pairs;
use crate::claim::Claim;
use crate::predicted::{Overtaking, Prediction, inputs};
use crate::scenario_lab::Busy;
use crate::table::{self, Size, write_line};

/// The copies between pairs.
pub type Table = table::Table<Pairs, Row, Common>;

/// The length of each pair's file, and the calibration of the predictions.
#[derive(Clone, Debug, Serialize)]
pub struct Common {
    #[serde(flatten)]
    pub size: Size,
    /// What overtaking packets cost, of each topology and kind of wire where they do.
    pub overtaking: Vec<Overtaking>,
}

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
    /// The share of this machine's processor time that was in use during the copies.
    pub busy: Busy,
}

impl Row {
    /// Returns the measured rate as a share of the bound of the wires.
    fn share(&self) -> f64 {
        self.bound_s / self.whole_s
    }
}

impl Table {
    /// Returns the published orders with the largest number of pairs, each with what was measured:
    /// the baseline carries less than the others on local wire, and remote wire less than local
    /// wire.
    pub fn claims(&self) -> Vec<Claim> {
        let most = self.rows.iter().map(|row| row.pairs).max().unwrap_or(0);
        let all = || self.rows.iter().filter(move |row| row.pairs == most);
        let quotient = |first: &Row, second: &Row| {
            let lags = first.busy.lags() || second.busy.lags();
            let quotient = self.rate(first, first.whole_s) / self.rate(second, second.whole_s);
            Sample::new(quotient).voided(lags)
        };
        let is_baseline = |row: &&Row| Some(&row.topology) == self.experiment.job.baseline.as_ref();
        let mut claims = Vec::new();
        for local in all().filter(|row| row.wire == Wire::Local && !is_baseline(row)) {
            let name = &local.topology;
            if let Some(baseline) = all().find(is_baseline) {
                let what = format!("{most} pairs, rate of {} over {name}", baseline.topology);
                claims.push(Claim::quotient(what, quotient(baseline, local)));
            }
            let remote = all().find(|row| row.wire == Wire::Remote && row.topology == *name);
            claims.extend(remote.map(|remote| {
                let what = format!("{most} pairs, {name}, rate of remote over local wire");
                Claim::quotient(what, quotient(remote, local))
            }));
        }
        claims
    }

    /// Returns `None`: what arrives is not kept, so nothing is compared with its source.
    pub fn broken(&self) -> Option<String> {
        None
    }

    /// Returns the predicted times, each with the time measured in the lab.
    pub fn predictions(&self) -> Vec<Prediction> {
        let of = |row: &Row| {
            let what = format!("{}, {} on {} wire", row.topology, row.pairs, row.wire.name());
            Prediction::seconds(what, row.predicted_s, row.whole_s).voided(row.busy.lags())
        };
        self.rows.iter().map(of).collect()
    }

    /// Returns what they were predicted from, and where each input came from.
    pub fn predicted_from(&self) -> Vec<String> {
        let overtaking = self.common.overtaking.iter().map(ToString::to_string);
        [inputs::WIRES.to_owned(), inputs::SET_UP.to_owned()]
            .into_iter()
            .chain(overtaking)
            .collect()
    }

    /// Returns the rate of all files of a row together, in MB/s, if they take `seconds`.
    fn rate(&self, row: &Row, seconds: f64) -> f64 {
        self.common.size.bytes as f64 * row.pairs as f64 / 1e6 / seconds
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Size { scale, bytes: length } = self.common.size;
        let size = bytes::format(length);
        let share = scale * 100.0;
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

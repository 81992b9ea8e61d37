//! The tables of the encodes and copies: published and emulated figures side by side.

use std::fmt::{self, Formatter};

use garland_analysis::farm::{bar, spread};
use garland_analysis::grade::{Condition, Published};
use garland_core::units::bytes;
use garland_farm::result::took;
use serde::Serialize;

use super::growth::Grown;
use super::job::{Farm, Growth, ONE, PublishedRow};
use super::row::{CopyRow, FaultRow, Row, Scaling, SuspectRow, share_of_one};
use super::words;
use crate::predicted::{Prediction, inputs};
use crate::scaling::Columns;
use crate::table::{self, or_dash};

/// Bytes of a MiB, the unit of the copies of 2004.
pub(super) const MIB: f64 = 1048576.0;

/// The table of the encodes; the rows of one machine come first.
pub type Table = table::Table<Farm, Row, Common>;

/// The scaling, and all measurements other than encodes.
#[derive(Clone, Debug, Serialize)]
pub struct Common {
    /// The scaling of the emulation.
    pub scaling: Scaling,
    /// The copies through the mount, one for each topology.
    pub copies: Vec<CopyRow>,
    /// The encodes over the slow network of the riddle with faults, in the order of the loads.
    pub faults: Vec<FaultRow>,
    /// The suspects of the riddle; the first row is without a fault.
    pub suspects: Vec<SuspectRow>,
    /// A load on growing numbers of nodes; `None` if the job has none.
    pub growth: Option<Grown>,
}

impl Table {
    /// Returns the predicted times, each with the time measured in the lab.
    pub fn predictions(&self) -> Vec<Prediction> {
        let jobs = &self.experiment.job;
        let encodes = self.rows.iter().filter_map(|row| {
            let what = format!("{} {}, {}, {}", jobs.jobs, jobs.called, row.load, row.topology);
            Some(Prediction::seconds(what, row.predicted_s?, row.seconds).voided(row.busy.lags()))
        });
        let copies = self.common.copies.iter().map(|copy| {
            let what = format!("the copy, {}", copy.topology);
            Prediction::seconds(what, copy.predicted_s, copy.seconds).voided(copy.busy.lags())
        });
        let grown = self.grown().into_iter().flat_map(|(growth, grown)| {
            let load = &growth.load;
            let topology = &growth.topology;
            let what = format!("{} {}, {load}, {topology},", jobs.jobs, jobs.called);
            grown.curve(growth).predictions(&what)
        });
        encodes.chain(copies).chain(grown).collect()
    }

    /// Returns what they were predicted from, and where each input came from.
    pub fn predicted_from(&self) -> Vec<String> {
        let jobs = "jobs: their times on all PCs over wires that never are the bottleneck";
        [inputs::WIRES, jobs, inputs::PROCESSORS, inputs::FORECAST, inputs::MEMORY]
            .map(str::to_owned)
            .to_vec()
    }

    /// Describes the first load whose outputs differ; `None` if there is none.
    pub fn broken(&self) -> Option<String> {
        let mut rows = self.rows.iter().chain(self.common.faults.iter().map(|one| &one.row));
        let row = rows.find(|row| !row.equal).map(|row| (&row.topology, &row.load));
        let grown = self.grown().filter(|(_, grown)| !grown.equal);
        let (topology, load) = row.or(grown.map(|(growth, _)| (&growth.topology, &growth.load)))?;
        Some(format!("{topology}, {load}: outputs differ, although their sources are equal"))
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Scaling { files, seconds, wires } = self.common.scaling;
        let share = files * 100.0;
        writeln!(
            f,
            "emulated: files of {share:.2} % of the published ones; a second corresponds to {seconds:.1} s of \
             2004, so wires are {wires:.2} times as fast"
        )?;
        for load in &self.experiment.job.load {
            let rows: Vec<&Row> = self.rows.iter().filter(|row| row.load == load.name).collect();
            self.encodes(f, &load.name, &rows)?;
            self.bars(f, &rows)?;
        }
        self.losses(f)?;
        self.copies(f)?;
        self.riddle(f)?;
        self.growth(f)?;
        writeln!(f)?;
        words::losses(&self.rows).try_for_each(|line| writeln!(f, "{line}"))?;
        let last = self.experiment.job.load.last().map(|load| &load.name);
        let closing = self.rows.iter().filter(|row| row.topology != ONE && Some(&row.load) == last);
        writeln!(f)?;
        for row in closing {
            if let Some(equivalent) = row.equivalent {
                writeln!(f, "{}", self.experiment.sentence(&row.topology, equivalent))?;
            }
        }
        Ok(())
    }
}

impl Table {
    fn encodes(&self, f: &mut Formatter<'_>, load: &str, rows: &[&Row]) -> fmt::Result {
        let (_, unit) = self.experiment.power();
        let columns = format!(
            "{:>9}{:>8}{:>9}{:>9}{:>8}{unit:>13}{:>9}",
            "time", "%", "fastest", "DIFF", "DIFF %", "of all"
        );
        let called = format!("{} {}, {load}", self.experiment.job.jobs, self.experiment.job.called);
        writeln!(
            f,
            "\n{called:<22}| {:<65}| {:<17}| emulated, in the time of 2004",
            "published", "predicted"
        )?;
        writeln!(f, "{:<22}|{columns} |{:>9}{:>8} |{columns}", "", "time", "%")?;
        for row in rows {
            let published = self.published(row);
            let predicted = self.predicted(row);
            writeln!(f, "{:<22}|{published} |{predicted} |{}", row.name(), self.emulated(row))?;
            for FaultRow { fault, row } in self.with_faults(row) {
                let none = format!("{:>17}", "");
                let now = self.emulated(row);
                writeln!(f, "  with {}\n{:<22}|{published} |{none} |{now}", fault.name(), "")?;
            }
        }
        Ok(())
    }

    /// Returns what `row` became with faults.
    pub(super) fn with_faults(&self, row: &Row) -> impl Iterator<Item = &FaultRow> {
        let topology = row.topology.clone();
        let load = row.load.clone();
        let is_same = move |row: &Row| row.topology == topology && row.load == load;
        self.common.faults.iter().filter(move |one| is_same(&one.row))
    }

    /// Formats the published figures of a row as they were published.
    fn published(&self, row: &Row) -> String {
        let Some(then) = self.experiment.published(&row.topology, Some(&row.load)) else {
            return format!("{:>65}", "-");
        };
        let text = |figure: &Option<Published>| figure.as_ref().map(Published::to_string);
        let [percent, fastest, difference, spread, power, of_all] = [
            &then.percent,
            &then.fastest,
            &then.difference,
            &then.spread,
            &then.power,
            &then.of_all,
        ]
        .map(|figure| text(figure).unwrap_or_default());
        format!(
            "{:>9}{percent:>8}{fastest:>9}{difference:>9}{spread:>8}{power:>13}{of_all:>9}",
            then.slowest
        )
    }

    /// Formats the predicted time of a row, in seconds of 2004.
    fn predicted(&self, row: &Row) -> String {
        let one = self.rows.iter().find(|one| one.topology == ONE && one.load == row.load);
        match row.predicted_s.zip(one) {
            Some((seconds, one)) => {
                let share = seconds / one.seconds * 100.0;
                format!("{:>9}{share:>8.2}", took(seconds * self.common.scaling.seconds))
            }
            None => format!("{:>17}", "-"),
        }
    }

    /// Formats the measured figures of a row, in seconds of 2004.
    fn emulated(&self, row: &Row) -> String {
        let then = self.common.scaling.seconds;
        let jobs = row.spread.filter(|_| row.topology != ONE);
        let jobs = jobs.map(|jobs| [jobs.fastest * then, jobs.slowest * then]);
        let share = share_of_one(&self.rows, row).unwrap_or(1.0);
        let worth = row.equivalent.zip(row.difference).filter(|_| row.topology != ONE);
        let unequal = if row.equal { "" } else { "  DIFFERS" };
        format!("{}{unequal}", figures(row.seconds * then, share, jobs, worth))
    }

    fn bars(&self, f: &mut Formatter<'_>, rows: &[&Row]) -> fmt::Result {
        for (at, base) in rows.iter().enumerate().take(rows.len().saturating_sub(1)) {
            writeln!(f, "\n{:<12}{} = 100 %", "", base.name())?;
            for row in &rows[at..] {
                if let Some(then) = self.experiment.rebased(row, base) {
                    let share = bar(then.middle() / 100.0);
                    writeln!(f, "{:<12}published {then:>7} % {share}", row.name())?;
                }
                let now = row.seconds / base.seconds;
                let name =
                    if self.experiment.rebased(row, base).is_some() { "" } else { row.name() };
                writeln!(f, "{name:<12}emulated  {:>7.2} % {}", now * 100.0, bar(now))?;
            }
        }
        Ok(())
    }

    fn losses(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "\n{:<22}{:<8}{:>8}", "where the time went", "", "work %")?;
        let first = self.rows.iter().find_map(|row| row.losses.as_ref());
        for (cause, _) in first.map(|losses| losses.causes.as_slice()).unwrap_or_default() {
            write!(f, "{:>15}", format!("{cause:?}").to_lowercase())?;
        }
        writeln!(f, "{:>15}", "wires by files")?;
        for row in &self.rows {
            let Some(losses) = &row.losses else { continue };
            let percent = |seconds: f64| seconds / losses.whole.max(1e-9) * 100.0;
            write!(f, "{:<22}{:<8}{:>8.1}", row.topology, row.load, percent(losses.work))?;
            losses
                .causes
                .iter()
                .try_for_each(|(_, seconds)| write!(f, "{:>15.1}", percent(*seconds)))?;
            match row.carried {
                [_, 0] => writeln!(f)?,
                [wires, files] => writeln!(f, "{:>15.2}", wires as f64 / files as f64)?,
            }
        }
        Ok(())
    }

    fn copies(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let size = bytes::parse(&self.experiment.job.copy.bytes).unwrap_or_default() as f64;
        let to = &self.experiment.job.copy.to;
        writeln!(
            f,
            "\n{:<22}| {:<18}| predicted | emulated, as of 2004",
            format!("the copy to {to}"),
            "published"
        )?;
        writeln!(
            f,
            "{:<22}|{:>9}{:>9} |{:>10} |{:>9}{:>9}{:>10}",
            "", "s", "MiB/s", "s", "s", "MiB/s", "of wires"
        )?;
        for copy in &self.common.copies {
            let published = self.experiment.published(&copy.topology, None);
            let then = published.map_or_else(
                || format!("{:>9}{:>9}", "-", "-"),
                |then| format!("{:>9}{:>9}", then.slowest, or_dash(then.rate.as_ref())),
            );
            let rate = self.rate_then(copy);
            let predicted =
                size / (copy.bytes as f64 / copy.predicted_s / self.common.scaling.wires);
            let seconds = size / rate;
            let of_wires = copy.bound_s / copy.seconds * 100.0;
            writeln!(
                f,
                "{:<22}|{then} |{predicted:>10.1} |{seconds:>9.1}{:>9.2}{of_wires:>8.1} %",
                copy.topology,
                rate / MIB
            )?;
        }
        Ok(())
    }

    fn riddle(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let riddle = &self.experiment.job.riddle;
        let rate = |name: &str| self.experiment.published(name, None)?.rate.as_ref();
        let slow = rate(&riddle.slow);
        let fast = rate(&riddle.fast);
        writeln!(
            f,
            "\nthe riddle: {} copied slower than {}; tested at the rates and with the TCP of 2004",
            riddle.slow, riddle.fast
        )?;
        writeln!(f, "{:<40}{:>12}{:>12}{:>10}", "MiB/s", riddle.slow, riddle.fast, "ratio")?;
        let by = slow.zip(fast).and_then(|(slow, fast)| slow.over(fast));
        let [slow, fast, by] = [slow, fast, by.as_ref()].map(or_dash);
        writeln!(f, "{:<40}{slow:>12}{fast:>12}{by:>10}", "published")?;
        for row in &self.common.suspects {
            let name = row.suspect.as_ref().map_or("no fault", Condition::name);
            let text = |rate: Option<f64>| or_dash(rate.map(|rate| format!("{:.2}", rate / MIB)));
            let by = row.slow.zip(row.fast).map(|(slow, fast)| format!("{:.2}", slow / fast));
            let slow = text(row.slow);
            let fast = text(row.fast);
            let by = or_dash(by);
            writeln!(f, "{name:<40}{slow:>12}{fast:>12}{by:>10}")?;
        }
        Ok(())
    }

    fn growth(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some((growth, grown)) = self.grown() else { return Ok(()) };
        let job = &self.experiment.job;
        let Growth { load, topology, .. } = growth;
        writeln!(f, "\nmore nodes: {} {}, {load}, over {topology}", job.jobs, job.called)?;
        let (one, unit) = self.experiment.power();
        let published =
            |nodes| or_dash(self.least_of(growth, nodes).map(|figure| format!(">= {figure}")));
        let seconds = self.common.scaling.seconds;
        let columns = Columns { published: &published, seconds, unit: (&unit, one) };
        grown.curve(growth).write(f, &columns)
    }

    /// Returns what the job says of growing numbers of nodes, and their times.
    pub(super) fn grown(&self) -> Option<(&Growth, &Grown)> {
        self.experiment.job.growth.as_ref().zip(self.common.growth.as_ref())
    }

    /// Returns the published least power of a number of nodes; `None` if there is none.
    pub(super) fn least_of(&self, growth: &Growth, nodes: u32) -> Option<&Published> {
        let row: &PublishedRow = self.experiment.published(&growth.topology, Some(&growth.load))?;
        row.at_least.get(&nodes.to_string())
    }

    /// Returns the rate of a copy in bytes per second of the publication.
    pub(super) fn rate_then(&self, copy: &CopyRow) -> f64 {
        copy.bytes as f64 / copy.seconds / self.common.scaling.wires
    }
}

/// Formats the figures of a row: time, share of the time of one PC, fastest and slowest job, and
/// the equivalent power of the cluster.
fn figures(seconds: f64, share: f64, jobs: Option<[f64; 2]>, worth: Option<(f64, f64)>) -> String {
    let jobs = jobs.and_then(|jobs| spread(&jobs));
    let jobs = jobs.map_or_else(
        || format!("{:>9}{:>9}{:>8}", "", "", ""),
        |jobs| {
            format!(
                "{:>9}{:>9}{:>8.1}",
                took(jobs.fastest),
                took(jobs.difference),
                jobs.share * 100.0
            )
        },
    );
    let worth = worth.map_or_else(
        || format!("{:>13}{:>9}", "", ""),
        |(power, off)| format!("{:>13.0}{:>9.2}", power.floor(), off * 100.0),
    );
    format!("{:>9}{:>8.2}{jobs}{worth}", took(seconds), share * 100.0)
}

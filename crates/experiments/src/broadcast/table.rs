//! The table of a broadcast: published and emulated side by side.

use std::fmt;

use garland_analysis::grade::Sample;
use serde::Serialize;

use super::condition::Setting;
use super::job::{Broadcast, Tool};
use super::shares::Shares;
use crate::claim::Claim;
use crate::predicted::{Prediction, inputs};
use crate::scenario_lab::Busy;
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
    /// The conditions of the time that could not be put into the lab, and why.
    pub refused: Vec<String>,
}

/// A copy with one tool to one number of nodes.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The tool that copied.
    pub tool: Tool,
    /// The number of nodes that received the file.
    pub receivers: u32,
    /// The conditions of the time that were in the lab; `None` without any.
    pub with: Option<String>,
    /// The predicted seconds of the whole command: the measured time of a file of one byte, plus
    /// the simulated time of the bytes.
    pub predicted_s: f64,
    /// Seconds of the whole command.
    pub whole_s: f64,
    /// Seconds from the first byte until the last node has received its last byte; of dolly's
    /// chain, those that it reports.
    pub stream_s: f64,
    /// Seconds of the whole command for the short file of the job; `None` if it was not copied.
    pub short_s: Option<f64>,
    /// The share of this machine's processor time that was in use during the copy.
    pub busy: Busy,
    /// Whether every node's file equals the source.
    pub equal: bool,
}

impl Row {
    /// Returns the seconds of the whole command that are not in what the tool reports.
    fn uncounted_s(&self) -> f64 {
        self.whole_s - self.stream_s
    }

    /// Returns the sample of a value from this row, which is void if the emulator lagged.
    fn sample(&self, value: f64) -> Sample {
        Sample::new(value).voided(self.busy.lags())
    }
}

impl Table {
    /// Returns the times and rates of the script and of dolly, each with what it is with each
    /// condition of the time, and by which factor a standing chain takes less time than another.
    pub fn claims(&self) -> Vec<Claim> {
        let mut claims = Vec::new();
        for row in self.by(Tool::Pipes, None) {
            let what = format!("{} to {}", row.tool.name(), row.receivers);
            let seconds: fn(&Self, &Row) -> f64 = |table, row| table.then_s(row.whole_s);
            let rate: fn(&Self, &Row) -> f64 = |table, row| table.rate(row.whole_s);
            claims.push(self.conditioned(row, format!("{what}, time"), "s", seconds));
            claims.push(self.conditioned(row, format!("{what}, rate"), "MB/s", rate));
        }
        for row in self.by(Tool::Dolly, None) {
            let mut claim = |what: &str, unit, value: fn(&Self, &Row) -> f64| {
                let what = format!("dolly to {}, {what}", row.receivers);
                claims.push(self.conditioned(row, what, unit, value));
            };
            claim("whole command", "s", |table, row| table.then_s(row.whole_s));
            claim("rate of the whole command", "MB/s", |table, row| table.rate(row.whole_s));
            claim("transfer as it reports it", "s", |table, row| table.then_s(row.stream_s));
            claim("what it does not count", "s", |table, row| table.then_s(row.uncounted_s()));
            claim("rate as it reports it", "MB/s", |table, row| table.rate(row.stream_s));
        }
        claims.extend(self.standing());
        claims
    }

    /// Returns the rows of a tool with these conditions in the lab.
    fn by(&self, tool: Tool, with: Option<&str>) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.tool == tool && row.with.as_deref() == with)
    }

    /// Returns the row of a tool to so many receivers with these conditions in the lab.
    fn of(&self, tool: Tool, with: &str, receivers: u32) -> Option<&Row> {
        self.by(tool, Some(with)).find(|row| row.receivers == receivers)
    }

    /// Returns all conditions of the time, each alone and all together.
    fn settings(&self) -> Vec<Setting> {
        // They were read when the file was.
        self.experiment.settings().unwrap_or_default()
    }

    /// Returns a value of a row, with what it is with each condition of the time.
    fn conditioned(
        &self,
        row: &Row,
        what: String,
        unit: &'static str,
        value: fn(&Self, &Row) -> f64,
    ) -> Claim {
        let claim = Claim::measured(what, unit, row.sample(value(self, row)));
        self.settings().into_iter().fold(claim, |claim, setting| {
            let with = self.of(row.tool, setting.condition().name(), row.receivers);
            match with {
                Some(with) => {
                    claim.with(setting.condition().clone(), with.sample(value(self, with)))
                }
                None => claim,
            }
        })
    }

    /// Writes what each condition of the time adds to the script's time to the most receivers. Void
    /// rows are left out.
    fn write_shares(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut settings = self.settings();
        settings.retain(|setting| Tool::Pipes.is_changed_by(setting));
        let most = self.by(Tool::Pipes, None).max_by_key(|row| row.receivers);
        let Some(row) = most.filter(|_| !settings.is_empty()) else { return Ok(()) };
        let Some(then) = self.experiment.published(row.tool, row.receivers) else { return Ok(()) };
        if row.busy.lags() {
            return writeln!(f, "\nto {}: void, the emulator lagged", row.receivers);
        }
        let with = settings.iter().filter_map(|setting| {
            let name = setting.condition().name();
            let row = self.of(row.tool, name, row.receivers).filter(|row| !row.busy.lags())?;
            Some((name, row.whole_s, setting.is_alone()))
        });
        let with = with.collect();
        write!(f, "{}", Shares::new(row.receivers, &then.seconds, row.whole_s, with))
    }

    /// Writes where the time is that dolly does not count: what it took less what it reported,
    /// then, in the lab as it is, and with disks of the time. Void rows are left out.
    fn write_uncounted(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in self.by(Tool::Dolly, None).filter(|row| !row.busy.lags()) {
            let then = self.experiment.published(row.tool, row.receivers);
            let Some((then, transfer)) =
                then.and_then(|then| Some((then, then.transfer.as_ref()?)))
            else {
                continue;
            };
            let to = row.receivers;
            let left = then.seconds.less(transfer);
            writeln!(
                f,
                "\ndolly to {to}, not counted by it: {left} s then, {:.2} s in the lab as it is",
                row.uncounted_s()
            )?;
            for setting in self.settings() {
                let name = setting.condition().name();
                let with = self.of(row.tool, name, to).filter(|row| !row.busy.lags());
                if let Some(with) = with {
                    let share = with.uncounted_s() - row.uncounted_s();
                    let percent = share / left.middle() * 100.0;
                    writeln!(f, "  {share:+7.2} s ({percent:.0} %)   {name}")?;
                }
            }
        }
        Ok(())
    }

    /// Returns the times of a chain of standing agents, divided by those of one that is started for
    /// the copy: less is why a daemon was proposed. So for the file, and for the short one.
    fn standing(&self) -> Vec<Claim> {
        let whole: fn(&Row) -> Option<f64> = |row| Some(row.whole_s);
        let short: fn(&Row) -> Option<f64> = |row| row.short_s;
        let mut claims = Vec::new();
        for up in self.by(Tool::Up, None) {
            let what = format!("standing chain over one set up for it, to {}", up.receivers);
            claims.extend(self.saved(up, &what, whole));
            let short_file = self.experiment.job.short.as_deref().unwrap_or_default();
            claims.extend(self.saved(up, &format!("{short_file}: {what}"), short));
        }
        claims
    }

    /// Returns a time of a standing chain divided by that of one that was set up for the copy, with
    /// what it is with each condition of the time; `None` if one of them was not measured.
    fn saved(&self, up: &Row, what: &str, seconds: fn(&Row) -> Option<f64>) -> Option<Claim> {
        let quotient = |up: &Row| {
            let with = up.with.as_deref();
            let mut cold = self.by(Tool::Cold, with);
            let cold = cold.find(|row| row.receivers == up.receivers)?;
            let sample = up.sample(seconds(up)? / seconds(cold)?);
            Some(sample.voided(cold.busy.lags()))
        };
        let claim = Claim::quotient(what, quotient(up)?);
        Some(self.settings().into_iter().fold(claim, |claim, setting| {
            let with = self.of(Tool::Up, setting.condition().name(), up.receivers);
            match with.and_then(quotient) {
                Some(sample) => claim.with(setting.condition().clone(), sample),
                None => claim,
            }
        }))
    }

    /// Describes the first copy that differs from its source; `None` if there is none.
    pub fn broken(&self) -> Option<String> {
        self.rows.iter().find(|row| !row.equal).map(|row| {
            let tool = row.tool.name();
            let receivers = row.receivers;
            format!("{tool} to {receivers}: a file differs from its source")
        })
    }

    /// Returns the predicted times, each with the time measured in the lab.
    pub fn predictions(&self) -> Vec<Prediction> {
        let of = |row: &Row| {
            let with = row.with.as_ref().map_or_else(String::new, |with| format!(", {with}"));
            let what = format!("{} to {}{with}", row.tool.name(), row.receivers);
            Prediction::seconds(what, row.predicted_s, row.whole_s).voided(row.busy.lags())
        };
        self.rows.iter().map(of).collect()
    }

    /// Returns what they were predicted from, and where each input came from.
    pub fn predicted_from(&self) -> Vec<String> {
        let synced = "dolly's sync: the file's length by the rate of the condition's disk";
        [inputs::WIRES, inputs::PROCESSORS, inputs::SET_UP, inputs::MEMORY, synced]
            .map(str::to_owned)
            .to_vec()
    }

    /// Returns the seconds that the whole published file would take, which is as many times longer
    /// as it is longer.
    fn then_s(&self, seconds: f64) -> f64 {
        seconds / self.common.size.scale
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
            "{:<15}{:>10}{:>10} |{:>12}{:>11} |{:>10}{:>7} |{:>9}{:>8}{:>9}{:>8}",
            "", "", "", "published", "", "predicted", "", "emulated", "", "stream", ""
        )?;
        writeln!(
            f,
            "{:<15}{:>10}{:>10} |{:>12}{:>11} |{:>10}{:>7} |{:>9}{:>8}{:>9}{:>8}",
            "tool", "receivers", "repeaters", "s", "MB/s", "s", "MB/s", "s", "MB/s", "s", "MB/s"
        )?;
        for row in self.rows.iter().filter(|row| row.with.is_none()) {
            self.write_row(f, row)?;
        }
        for setting in self.settings() {
            let with = setting.condition().name();
            let is_with = |row: &&Row| row.with.as_deref() == Some(with);
            let mut rows = self.rows.iter().filter(is_with).peekable();
            if rows.peek().is_some() {
                writeln!(f, "with {with}:")?;
            }
            rows.try_for_each(|row| self.write_row(f, row))?;
        }
        self.common.refused.iter().try_for_each(|refused| writeln!(f, "{refused}"))?;
        self.write_shares(f)?;
        self.write_uncounted(f)
    }
}

impl Table {
    fn write_row(&self, f: &mut fmt::Formatter<'_>, row: &Row) -> fmt::Result {
        let (seconds, rate) = match self.experiment.published(row.tool, row.receivers) {
            Some(then) => (then.seconds.to_string(), then.rate.to_string()),
            None => ("-".to_owned(), "-".to_owned()),
        };
        writeln!(
            f,
            "{:<15}{:>10}{:>10} |{seconds:>12}{rate:>11} |{:>10.2}{:>7.1} |{:>9.2}{:>8.1}{:>9.2}{:>8.1}{}",
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

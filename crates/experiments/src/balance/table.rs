//! The table of the balance tests: a line for each topology and kind of wire, a column for each
//! number of remote copies.

use std::fmt;

use garland_analysis::grade::{Sample, lead};
use garland_core::units::bytes;
use serde::Serialize;

use super::job::{Balance, PublishedRow};
use super::row::Row;
use super::upgrade::Tried;
use crate::claim::Claim;
use crate::pairs::Wire;
use crate::predicted::{Overtaking, Prediction, inputs};
use crate::table::{self, write_line};

/// The table: a row for each topology, kind of wire, size, and number of remote copies.
pub type Table = table::Table<Balance, Row, Common>;

/// The lengths of the files, and the tested forecasts.
#[derive(Clone, Debug, Serialize)]
pub struct Common {
    /// The files' lengths as a share of the published ones.
    pub scale: f64,
    /// The files' lengths in bytes, in the order of the job's `sizes`.
    pub sizes: Vec<u64>,
    /// The tested forecasts.
    pub upgrades: Vec<Tried>,
    /// What overtaking packets cost, of each topology and kind of wire where they do.
    pub overtaking: Vec<Overtaking>,
}

impl Table {
    /// Returns the rates, the peak and the orders that were published, as measured with files of
    /// the published length.
    pub fn claims(&self) -> Vec<Claim> {
        let mut claims = Vec::new();
        for then in &self.experiment.published {
            let rows = self.curve(&then.topology, then.wire, &then.size);
            let of_remote = rows.iter().filter(|row| row.remote > 0);
            let row = match then.best {
                Some(best) => rows.iter().find(|row| row.remote == best),
                None => of_remote.max_by(|one, two| one.rate.total_cmp(&two.rate)),
            };
            let name = format!("{}, {} wire", then.topology, then.wire.name());
            let of =
                then.best.map_or_else(|| "its most".to_owned(), |best| format!("{best} remote"));
            let rate = row.map_or_else(Sample::none, |row| row.sample(row.rate / 1e6));
            claims.push(Claim::measured(format!("{name}, rate with {of}"), "MB/s", rate));
            if let Some(best) = then.best {
                let curve: Vec<_> = rows.iter().map(|row| (row.remote, row.rate)).collect();
                let lags = rows.iter().any(|row| row.busy.lags());
                let ahead = lead(&curve, best).map_or_else(Sample::none, Sample::new);
                claims.push(Claim::quotient(format!("{name}, peak"), ahead.voided(lags)));
            }
        }
        claims.extend(self.orders());
        claims
    }

    /// Returns the quotients of the published orders of the networks, for files of the first
    /// length: the baseline is the best with one remote copy, degrades with more, and is poorer
    /// than others on local wire when all copies are remote; remote wire is then below local wire.
    fn orders(&self) -> Vec<Claim> {
        let job = &self.experiment.job;
        let (Some(size), Some(baseline)) = (job.sizes.first(), &job.baseline) else {
            return Vec::new();
        };
        let most = job.remote.iter().copied().max().unwrap_or(0);
        let at = |topology: &str, wire: Wire, remote: usize| {
            self.curve(topology, wire, size).into_iter().find(|row| row.remote == remote)
        };
        let quotient = |first: Option<&Row>, second: Option<&Row>| {
            let quotient = first.zip(second).map(|(one, two)| one.sample(one.rate / two.rate));
            let lags = second.is_some_and(|row| row.busy.lags());
            quotient.unwrap_or_else(Sample::none).voided(lags)
        };
        let bonded = |remote: usize| at(baseline, Wire::Local, remote);
        let what = format!("{baseline}, {most} remote over 1");
        let mut claims = vec![Claim::quotient(what, quotient(bonded(most), bonded(1)))];
        let mut others: Vec<&str> = self.rows.iter().map(|row| row.topology.as_str()).collect();
        others.dedup();
        for name in others.into_iter().filter(|name| name != baseline) {
            let local = |remote: usize| at(name, Wire::Local, remote);
            let remote = at(name, Wire::Remote, most);
            claims.push(Claim::quotient(
                format!("1 remote, {name} on local wire over {baseline}"),
                quotient(local(1), bonded(1)),
            ));
            claims.push(Claim::quotient(
                format!("{most} remote, {baseline} over {name} on local wire"),
                quotient(bonded(most), local(most)),
            ));
            claims.push(Claim::quotient(
                format!("{most} remote, {name}, remote over local wire"),
                quotient(remote, local(most)),
            ));
        }
        claims
    }

    /// Returns `None`: `garland balance` checks its copies itself, and fails if one is wrong.
    pub fn broken(&self) -> Option<String> {
        None
    }

    /// Returns the predicted rates, and those that were forecast for disks and wires twice as fast,
    /// each with the rate measured in the lab.
    pub fn predictions(&self) -> Vec<Prediction> {
        let rate = |what: String, predicted: f64, emulated: f64| Prediction {
            what,
            unit: "MB/s",
            predicted: predicted / 1e6,
            emulated: emulated / 1e6,
            void: false,
        };
        let rows = self.rows.iter();
        let rows =
            rows.map(|row| rate(place(row), row.predicted, row.rate).voided(row.busy.lags()));
        let upgrades = self.common.upgrades.iter().map(|tried| {
            let what = format!("{} twice as fast, {} remote", tried.faster.name(), tried.remote);
            rate(what, tried.forecast, tried.rate)
        });
        rows.chain(upgrades).collect()
    }

    /// Returns what they were predicted from, and where each input came from.
    pub fn predicted_from(&self) -> Vec<String> {
        let overtaking = self.common.overtaking.iter().map(ToString::to_string);
        [
            inputs::WIRES.to_owned(),
            "disks: their rate in the scenario's file".to_owned(),
            "twice as fast: what the rows at their own rates measured".to_owned(),
        ]
        .into_iter()
        .chain(overtaking)
        .collect()
    }

    /// Returns the rows of a topology and a kind of wire with files of a length in `sizes`.
    fn curve(&self, topology: &str, wire: Wire, size: &str) -> Vec<&Row> {
        let at = self.experiment.job.sizes.iter().position(|one| one == size);
        let size = at.and_then(|at| self.common.sizes.get(at));
        let is =
            |row: &&Row| row.topology == topology && row.wire == wire && Some(&row.size) == size;
        self.rows.iter().filter(is).collect()
    }

    fn published_of(&self, row: &Row) -> Option<&PublishedRow> {
        let mut published = self.experiment.published.iter();
        published.find(|one| {
            let at = self.experiment.job.sizes.iter().position(|size| *size == one.size);
            let size = at.and_then(|at| self.common.sizes.get(at));
            one.topology == row.topology && one.wire == row.wire && size == Some(&row.size)
        })
    }
}

/// Returns the text that identifies a row: topology, wire, size, number of remote copies.
fn place(row: &Row) -> String {
    let topology = &row.topology;
    let wire = row.wire.name();
    let remote = row.remote;
    format!("{topology}, {wire} wire, {}, {remote} remote", bytes::format(row.size))
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let disk = &self.experiment.job.disk;
        let share = self.common.scale * 100.0;
        writeln!(f, "emulated: {share:.3} % of the published files, disks of {disk}")?;
        let same_size = |one: &&Row, two: &&Row| one.size == two.size;
        let mut rows: Vec<&Row> = self.rows.iter().collect();
        rows.sort_by_key(|row| row.size);
        for rows in rows.chunk_by(same_size) {
            let title = format!("MB/s of files of {}", bytes::format(rows[0].size));
            let remote = self.experiment.job.remote.iter();
            writeln!(f)?;
            write_line(f, &title, "remote", remote.map(|remote| format!("{remote:>8}")))?;
            let same =
                |one: &&Row, two: &&Row| one.topology == two.topology && one.wire == two.wire;
            rows.chunk_by(same).try_for_each(|line| self.line(f, line))?;
        }
        writeln!(f, "\nbottleneck found by the test: D disks, N network, C CPUs")?;
        self.tried(f)
    }
}

impl Table {
    fn line(&self, f: &mut fmt::Formatter<'_>, rows: &[&Row]) -> fmt::Result {
        let rates = |rate: fn(&Row) -> f64| {
            rows.iter().map(move |row| format!("{:>7.2} ", rate(row) / 1e6))
        };
        let of = format!("{:<26}{}", rows[0].topology, rows[0].wire.name());
        write_line(f, &of, "predicted", rates(|row| row.predicted))?;
        let emulated = rows.iter().map(|row| {
            let letter = row.resource.as_deref().and_then(|name| name.chars().next());
            let letter = letter.map_or('-', |letter| letter.to_ascii_uppercase());
            format!("{:>7.2}{letter}", row.rate / 1e6)
        });
        write_line(f, "", "emulated", emulated)?;
        let wires = rows.iter().map(|row| match row.wires {
            Some(wires) => format!("{:>7.2} ", wires / 1e6),
            None => format!("{:>7} ", "-"),
        });
        write_line(f, "", "wires", wires)?;
        write_line(f, "", "with disks", rates(|row| row.bound))?;
        let shares = rows.iter().map(|row| format!("{:>7.1} ", row.share() * 100.0));
        write_line(f, "", "of these, %", shares)?;
        if let Some(published) = self.published_of(rows[0]) {
            write!(f, "{:<34}{:<11}", "", "published")?;
            match published.best {
                Some(best) => writeln!(f, "   {} with {best}, its best", published.rate)?,
                None => writeln!(f, "   about {}", published.rate)?,
            }
        }
        Ok(())
    }

    fn tried(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(upgrade) = self.experiment.job.upgrade.as_ref() else { return Ok(()) };
        if self.common.upgrades.is_empty() {
            return Ok(());
        }
        let title = format!("{}, twice as fast", upgrade.topology);
        writeln!(f)?;
        let remote = upgrade.remote.iter().map(|remote| format!("{remote:>8}"));
        write_line(f, &title, "remote", remote)?;
        for tried in self.common.upgrades.chunk_by(|one, two| one.faster == two.faster) {
            let rates = |rate: fn(&Tried) -> f64| {
                tried.iter().map(move |one| format!("{:>8.2}", rate(one) / 1e6))
            };
            write_line(f, tried[0].faster.name(), "forecast", rates(|one| one.forecast))?;
            write_line(f, "", "emulated", rates(|one| one.rate))?;
        }
        Ok(())
    }
}

//! The table of the balance tests: a line for each topology and kind of wire, a column for each number of
//! remote copies.

use std::fmt;

use garland_core::units::bytes;
use serde::Serialize;

use super::job::{Balance, Published};
use super::row::Row;
use super::upgrade::Tried;
use crate::pairs::Wire;
use crate::predicted::Prediction;
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
}

impl Table {
    /// Describes the first result that is out of tolerance; `None` if there is none.
    pub fn miss(&self) -> Option<String> {
        self.far_from_bound()
            .or_else(|| self.wires_in_disorder())
            .or_else(|| self.best_elsewhere())
            .or_else(|| self.forecast_missed())
    }

    /// Returns the predicted rates, each with the rate measured in the lab.
    pub fn predictions(&self) -> Vec<Prediction> {
        let of = |row: &Row| Prediction {
            what: place(row),
            unit: "MB/s",
            predicted: row.predicted / 1e6,
            emulated: row.rate / 1e6,
        };
        self.rows.iter().map(of).collect()
    }

    fn far_from_bound(&self) -> Option<String> {
        let least = self.experiment.tolerance.least_of_bound;
        self.rows.iter().find(|row| row.share() < least).map(|row| {
            format!(
                "{}: {:.1} % of the bound of wires and disks, below {:.0} %",
                place(row),
                row.share() * 100.0,
                least * 100.0
            )
        })
    }

    /// Describes the first violation of the expected order: local wire must not be slower than
    /// remote wire, and must be faster if all copies are remote. `None` if there is no violation.
    fn wires_in_disorder(&self) -> Option<String> {
        let equal = self.experiment.tolerance.equal;
        let all = self.rows.iter().map(|row| row.remote).max().unwrap_or(0);
        let local = self.rows.iter().filter(|row| row.wire == Wire::Local && row.remote > 0);
        let pairs = local.filter_map(|local| {
            let remote = self.rows.iter().find(|row| {
                row.wire == Wire::Remote
                    && row.topology == local.topology
                    && (row.size, row.remote) == (local.size, local.remote)
            })?;
            Some((local, remote))
        });
        pairs.clone().find_map(|(local, remote)| {
            let lead = if local.remote == all { equal } else { -equal };
            (local.rate < remote.rate * (1.0 + lead)).then(|| {
                let should = if lead > 0.0 { "not above" } else { "below" };
                let [local_rate, remote_rate] = [local, remote].map(|row| row.rate / 1e6);
                format!(
                    "{}: {local_rate:.2} MB/s is {should} the {remote_rate:.2} of remote wire",
                    place(local)
                )
            })
        })
    }

    /// Describes the first row that is faster than the row with the number of remote copies that
    /// was published as the best; `None` if there is no such row.
    fn best_elsewhere(&self) -> Option<String> {
        let equal = self.experiment.tolerance.equal;
        let with_best = self.experiment.published.iter().filter_map(|one| Some((one, one.best?)));
        with_best
            .flat_map(|(one, best)| {
                let rows = self
                    .rows
                    .iter()
                    .filter(|row| row.topology == one.topology && row.wire == one.wire);
                let peaks = rows.clone().filter(move |row| row.remote == best);
                peaks.flat_map(move |peak| {
                    let same = rows.clone().filter(|row| row.size == peak.size);
                    same.filter(move |row| row.rate > peak.rate * (1.0 + equal)).map(move |row| {
                        let [better, rate] = [row.rate, peak.rate].map(|rate| rate / 1e6);
                        format!(
                            "{}: {better:.2} MB/s is above the {rate:.2} with {best} remote, the published best",
                            place(row)
                        )
                    })
                })
            })
            .next()
    }

    fn forecast_missed(&self) -> Option<String> {
        let most = self.experiment.tolerance.forecast;
        let is_off = |tried: &&Tried| (tried.rate / tried.forecast - 1.0).abs() > most;
        self.common.upgrades.iter().find(is_off).map(|tried| {
            let [forecast, rate] = [tried.forecast, tried.rate].map(|rate| rate / 1e6);
            format!(
                "{} twice as fast, {} remote: {rate:.2} MB/s, but the forecast was {forecast:.2}",
                tried.faster.name(),
                tried.remote
            )
        })
    }

    fn published_of(&self, row: &Row) -> Option<&Published> {
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
    let (topology, wire, remote) = (&row.topology, row.wire.name(), row.remote);
    format!("{topology}, {wire} wire, {}, {remote} remote", bytes::format(row.size))
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (disk, share) = (&self.experiment.job.disk, self.common.scale * 100.0);
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
                Some(best) => writeln!(f, "   {:.1} with {best}, its best", published.rate)?,
                None => writeln!(f, "   about {:.1}", published.rate)?,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Experiment;
    use crate::balance::upgrade::Faster;
    use garland_commands::topology::text;

    fn experiment() -> Balance {
        match Experiment::parse(text("beowulf-1996").unwrap(), "x.toml").unwrap() {
            Experiment::Balance(balance) => *balance,
            _ => unreachable!("it is a balance test"),
        }
    }

    fn row(topology: &str, wire: Wire, remote: usize, rate: f64) -> Row {
        Row {
            topology: topology.to_owned(),
            wire,
            size: 1 << 20,
            remote,
            rate,
            predicted: 8e6,
            bound: 8e6,
            wires: Some(8e6),
            resource: Some("disk".to_owned()),
            disk_twice: rate,
            network_twice: rate,
        }
    }

    fn mesh(wire: Wire, rates: [f64; 3]) -> impl Iterator<Item = Row> {
        let row = move |(remote, rate)| row("routed-mesh", wire, remote, rate);
        rates.into_iter().enumerate().map(row)
    }

    fn miss(local: [f64; 3], remote: [f64; 3], upgrades: Vec<Tried>) -> Option<String> {
        let rows = mesh(Wire::Local, local).chain(mesh(Wire::Remote, remote)).collect();
        let common = Common { scale: 1.0, sizes: vec![1 << 20], upgrades };
        Table::new(&experiment(), common, rows).miss()
    }

    #[test]
    fn remote_wire_may_equal_local_wire_but_not_with_all_copies_remote() {
        assert_eq!(miss([7e6, 7e6, 8e6], [7e6, 7.1e6, 6e6], Vec::new()), None);
        let told = miss([7e6, 6e6, 8e6], [7e6, 7e6, 6e6], Vec::new()).unwrap();
        let wanted = "routed-mesh, local wire, 1.00 MiB, 1 remote: 6.00 MB/s is below the 7.00 of \
                      remote wire";
        assert_eq!(told, wanted);
        let told = miss([7e6, 7e6, 7e6], [7e6, 7e6, 7e6], Vec::new()).unwrap();
        assert!(told.contains("2 remote: 7.00 MB/s is not above the 7.00"), "{told}");
        let told = miss([7e6, 7e6, 8e6], [7e6, 7e6, 1e6], Vec::new()).unwrap();
        assert!(told.contains("12.5 % of the bound of wires and disks, below 65 %"), "{told}");
    }

    #[test]
    fn miss_reports_another_best_and_a_wrong_forecast() {
        let bonded = |rates: [f64; 3]| {
            let row = |(remote, rate)| row("bonded-dual-net", Wire::Local, remote, rate);
            let rows = rates.into_iter().enumerate().map(row).collect();
            let common = Common { scale: 1.0, sizes: vec![1 << 20], upgrades: Vec::new() };
            Table::new(&experiment(), common, rows).miss()
        };
        assert_eq!(bonded([7.1e6, 7e6, 6e6]), None);
        let told = bonded([7e6, 7e6, 8e6]).unwrap();
        assert!(told.contains("2 remote: 8.00 MB/s is above the 7.00 with 1"), "{told}");
        let tried = |rate| Tried { faster: Faster::Wires, remote: 2, forecast: 4e6, rate };
        let with = |rate| miss([7e6, 7e6, 8e6], [7e6, 7e6, 6e6], vec![tried(rate)]);
        assert_eq!(with(3.9e6), None);
        let told = with(2e6).unwrap();
        assert_eq!(told, "wires twice as fast, 2 remote: 2.00 MB/s, but the forecast was 4.00");
    }
}

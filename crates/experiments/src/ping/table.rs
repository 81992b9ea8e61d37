//! The table of gets in the form of pgping's lines: published and measured figures side by side.

use std::fmt;

use garland_analysis::grade::Sample;
use serde::Serialize;

use super::depths::{adapter, pipelined, write_told};
use super::job::{Job, Ping, Point, Transport};
use crate::claim::Claim;
use crate::predicted::Prediction;
use crate::scenario_lab::Waited;
use crate::table;

/// The nanoseconds below which the time of a read of memory says nothing: it is no longer than what
/// a processor does beside it.
const SHORTEST_NS: f64 = 50.0;

/// The table: for each transport, a row for each size, and for each number of gets in flight.
pub type Table = table::Table<Ping, Row>;

/// A line of the table: gets of one size, with a certain number in flight.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Row {
    /// The transport of the gets.
    pub transport: Transport,
    /// Whether the line belongs to the second part of the table, in which the number of gets in
    /// flight grows.
    #[serde(skip)]
    pub deep: bool,
    /// The predicted nanoseconds per get. `None` in the first part of the table, and for the first
    /// and the last line of the second part, from which the others are predicted.
    pub predicted_ns: Option<f64>,
    /// The share of the time of its gets in which programs waited for a processor. Both ends poll,
    /// so that they take their processors whole, and `Busy` says nothing about others.
    pub waited: Waited,
    /// The measured gets: size, number in flight, times.
    #[serde(flatten)]
    pub point: Point,
}

/// Predicts, for each transport with a round trip, the rows with several gets in flight. The first
/// row (one get alone) and the last row (the most in flight) are the inputs.
pub fn predict(experiment: &Ping, rows: &mut [Row]) {
    for &transport in experiment.job.transports.iter().filter(|one| one.has_round_trip()) {
        let mut depths: Vec<&mut Row> =
            rows.iter_mut().filter(|row| row.transport == transport && row.deep).collect();
        let [alone, between @ .., most] = depths.as_mut_slice() else { continue };
        for row in between {
            row.predicted_ns =
                pipelined(alone.point.each_ns, most.point.each_ns, row.point.in_flight);
        }
    }
}

impl Table {
    /// Returns the predicted times, each with the time measured in the lab.
    pub fn predictions(&self) -> Vec<Prediction> {
        let of = |row: &Row| {
            let what = format!("{}, {} in flight", row.transport.name(), row.point.in_flight);
            let emulated = row.point.each_ns / 1000.0;
            let predicted = row.predicted_ns? / 1000.0;
            let void = row.waited.is_long();
            Some(Prediction { what, unit: "us", predicted, emulated, void })
        };
        self.rows.iter().filter_map(of).collect()
    }

    /// Returns what they were predicted from, and where each input came from.
    pub fn predicted_from(&self) -> Vec<String> {
        vec![
            "the times of a get alone and with the most in flight, which are not predicted"
                .to_owned(),
        ]
    }

    fn of(&self, transport: Transport, deep: bool) -> impl Iterator<Item = &Point> {
        self.rows_of(transport, deep).map(|row| &row.point)
    }

    fn rows_of(&self, transport: Transport, deep: bool) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.transport == transport && row.deep == deep)
    }

    /// Returns the times and rates of the published lines over TCP, the emulation of the adapter.
    /// No wire is emulated that could lag, but a figure is void if programs waited for a processor.
    pub fn claims(&self) -> Vec<Claim> {
        let mut claims = Vec::new();
        for deep in [false, true] {
            let rows = self.rows_of(Transport::Tcp, deep);
            for row in rows.filter(|row| self.experiment.published(&row.point).is_some()) {
                let point = &row.point;
                // One get of this size alone is published once, and measured in both parts.
                if deep && point.in_flight == 1 {
                    continue;
                }
                let what = line(point);
                let us = point.each_ns / 1000.0;
                let rate = row.sample(f64::from(point.size) / us);
                claims.push(Claim::measured(&what, "us", row.sample(us)));
                claims.push(Claim::measured(format!("{what}, rate"), "MB/s", rate));
            }
        }
        claims
    }

    /// Returns `None`: a wrong byte ends a get, so a table has none.
    pub fn broken(&self) -> Option<String> {
        None
    }

    fn lines(&self, f: &mut fmt::Formatter<'_>, deep: bool) -> fmt::Result {
        let Some(&first) = self.experiment.job.transports.first() else { return Ok(()) };
        for (at, point) in self.of(first, deep).enumerate() {
            let Point { size, in_flight, .. } = *point;
            write!(f, "  1: {size:8} bytes")?;
            if deep {
                write!(f, " b {in_flight:<3}")?;
            }
            match self.experiment.published(point) {
                Some(then) => write!(f, " {:>9} uSec {:>8} MB/s", then.us, then.rate)?,
                None => write!(f, " {:>9}      {:>8}     ", "-", "-")?,
            }
            for &transport in &self.experiment.job.transports {
                let Some(now) = self.of(transport, deep).nth(at) else { continue };
                let us = now.each_ns / 1000.0;
                if transport.has_round_trip() || now.each_ns >= SHORTEST_NS {
                    write!(f, " | {us:9.3} uSec {:8.2} MB/s", f64::from(size) / us.max(1e-9))?;
                } else {
                    let most = format!("< {:.2}", SHORTEST_NS / 1000.0);
                    write!(f, " | {most:>9} uSec {:>8}     ", "-")?;
                }
            }
            writeln!(f)?;
        }
        Ok(())
    }

    fn head(&self, f: &mut fmt::Formatter<'_>, what: &str, deep: bool) -> fmt::Result {
        let wide = if deep { 24 } else { 18 };
        write!(f, "\n{what:<wide$} {:>28}", "Elan4, 2005")?;
        for transport in &self.experiment.job.transports {
            let name = match transport {
                Transport::Tcp => "tcp, emulated",
                Transport::Shm => "shared memory, one-sided",
            };
            write!(f, " | {name:>28}")?;
        }
        writeln!(f)
    }
}

impl Row {
    /// Returns the sample of a value from this row, which is void if programs waited for a
    /// processor.
    fn sample(&self, value: f64) -> Sample {
        Sample::new(value).voided(self.waited.is_long())
    }
}

/// Returns the text that identifies a line: size and number in flight.
fn line(point: &Point) -> String {
    format!("{} bytes, {} in flight", point.size, point.in_flight)
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Job { sizes, in_flight, deep_size, .. } = &self.experiment.job;
        self.head(f, &format!("-f get {} {}", sizes[0], sizes[1]), false)?;
        self.lines(f, false)?;
        self.head(f, &format!("-f get -bN {deep_size}"), true)?;
        self.lines(f, true)?;
        writeln!(f)?;
        write_told(f, "Elan4", &adapter(&self.experiment))?;
        for &transport in &self.experiment.job.transports {
            self.beside(f, transport)?;
            write_told(f, transport.name(), &self.between(transport))?;
        }
        self.write_added(f)?;
        for &transport in &self.experiment.job.transports {
            let Some(deep) = self.of(transport, true).last().filter(|deep| deep.writes > 0) else {
                continue;
            };
            writeln!(
                f,
                "{}: with {} gets in flight, each takes {:.2} uSec (p50), and each write carries {:.1} gets: \
                 what more in flight gain here is batching, and no pipeline of an adapter",
                transport.name(),
                in_flight[1],
                deep.sojourn.p50 as f64 / 1000.0,
                deep.count as f64 / deep.writes as f64
            )?;
        }
        Ok(())
    }
}

impl Table {
    /// Returns each depth between the first and the last with its predicted and its measured
    /// microseconds.
    fn between(&self, transport: Transport) -> Vec<(u32, f64, f64)> {
        let told = |row: &Row| {
            let predicted_us = row.predicted_ns? / 1000.0;
            Some((row.point.in_flight, predicted_us, row.point.each_ns / 1000.0))
        };
        self.rows_of(transport, true).filter_map(told).collect()
    }

    /// Writes what an emulated get, which the other processor serves, adds to one that reads the
    /// memory itself: for one get alone and for the most in flight.
    fn write_added(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ends = |transport| {
            let mut points = self.of(transport, true);
            let alone = points.next()?;
            Some((alone, points.last()?))
        };
        let (Some(served), Some(read)) = (ends(Transport::Tcp), ends(Transport::Shm)) else {
            return Ok(());
        };
        let added = |served: &Point, read: &Point| (served.each_ns - read.each_ns) / 1000.0;
        writeln!(
            f,
            "an emulated get adds {:.2} uSec to a read of shared memory, and {:.2} with {} in flight",
            added(served.0, read.0),
            added(served.1, read.1),
            served.1.in_flight
        )
    }

    /// Writes the measured times as multiples of the published ones, for one get alone and for the
    /// most in flight.
    fn beside(&self, f: &mut fmt::Formatter<'_>, transport: Transport) -> fmt::Result {
        let mut depths = self.of(transport, true).filter_map(|point| {
            let then = self.experiment.published(point)?;
            Some((point, point.each_ns / 1000.0 / then.us.middle()))
        });
        let Some((point, alone)) = depths.next() else { return Ok(()) };
        write!(f, "{}: one get of {} bytes takes ", transport.name(), point.size)?;
        write!(f, "{alone:.2} times as long as on Elan4")?;
        if let Some((point, deep)) = depths.last() {
            write!(f, ", and {deep:.2} times with {} in flight", point.in_flight)?;
        }
        writeln!(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_line_is_measured_once_and_void_if_its_processors_were_taken() {
        let quiet = elan4(&[]).claims();
        assert_eq!(quiet.len(), 2 * 10);
        assert!(quiet.iter().all(|claim| !claim.sample.void));
        let void = |waited: f64| {
            let claims = elan4(&[(32, waited)]).claims().into_iter();
            claims.filter(|claim| claim.sample.void).map(|claim| claim.what).collect::<Vec<_>>()
        };
        assert_eq!(void(0.04), Vec::<String>::new());
        let deep = "8 bytes, 32 in flight";
        assert_eq!(void(0.06), [deep.to_owned(), format!("{deep}, rate")]);
    }

    /// What a served get adds is what it takes more than a read, both measured.
    #[test]
    fn an_emulated_get_adds_what_it_takes_more_than_a_read_of_memory() {
        let mut table = elan4(&[]);
        assert!(!table.to_string().contains("an emulated get adds"), "{table}");
        let reads = table.rows.clone().into_iter().filter(|row| row.deep).map(|mut row| {
            row.transport = Transport::Shm;
            row.point.each_ns = 90.0;
            row
        });
        table.rows.extend(reads.collect::<Vec<_>>());
        let wanted = "an emulated get adds 2.26 uSec to a read of shared memory, and 0.70 with 32 in \
                      flight";
        assert!(table.to_string().contains(wanted), "{table}");
        // Such a read has a time; one of some nanoseconds has none.
        assert!(table.to_string().contains("0.090 uSec"), "{table}");
        let shm = |row: &&mut Row| row.transport == Transport::Shm;
        table.rows.iter_mut().filter(shm).for_each(|row| row.point.each_ns = 9.0);
        let text = table.to_string();
        assert!(text.contains("< 0.05 uSec        -") && !text.contains("0.009 uSec"), "{text}");
        let model =
            "Elan4: predicted from the first and the last of these: b 2 1.308 uSec (1.320) b 4";
        assert!(table.to_string().contains(model), "{table}");
    }

    /// Returns a table with what was published, in which programs waited for a share of the time of
    /// the rows with these numbers in flight.
    fn elan4(waited: &[(u32, f64)]) -> Table {
        let scenario = garland_topology::scenarios::text("elan4-2005").unwrap();
        let experiment: Ping = toml::from_str(scenario).unwrap();
        let mut table = super::super::ideal(&experiment, &experiment);
        for &(depth, share) in waited {
            let rows = table.rows.iter_mut().filter(|row| row.point.in_flight == depth);
            rows.for_each(|row| row.waited = Waited::share(share));
        }
        table
    }
}

//! The table of gets in the form of pgping's lines: published and measured figures side by side.

use std::fmt;

use garland_analysis::grade::Sample;
use garland_analysis::queue::cycles;
use serde::Serialize;

use super::job::{Job, Ping, Point, Transport};
use crate::claim::Claim;
use crate::predicted::Prediction;
use crate::table;

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
    /// The measured gets: size, number in flight, times.
    #[serde(flatten)]
    pub point: Point,
}

/// Predicts, for each transport, the rows with several gets in flight. The first row (one get
/// alone) and the last row (the most in flight) are the inputs.
pub fn predict(experiment: &Ping, rows: &mut [Row]) {
    for &transport in &experiment.job.transports {
        let mut depths: Vec<&mut Row> =
            rows.iter_mut().filter(|row| row.transport == transport && row.deep).collect();
        let [alone, between @ .., most] = depths.as_mut_slice() else { continue };
        for row in between {
            row.predicted_ns = pipelined(&alone.point, &most.point, row.point.in_flight);
        }
    }
}

impl Table {
    /// Returns the predicted times, each with the time measured in the lab.
    pub fn predictions(&self) -> Vec<Prediction> {
        let of = |row: &Row| {
            let what = format!("{}, {} in flight", row.transport.name(), row.point.in_flight);
            let emulated = row.point.each_ns / 1000.0;
            Some(Prediction { what, unit: "us", predicted: row.predicted_ns? / 1000.0, emulated })
        };
        self.rows.iter().filter_map(of).collect()
    }

    fn of(&self, transport: Transport, deep: bool) -> impl Iterator<Item = &Point> {
        let is = move |row: &&Row| row.transport == transport && row.deep == deep;
        self.rows.iter().filter(is).map(|row| &row.point)
    }

    /// Returns the published lines and orders, each with what was measured over TCP, the emulation of the
    /// adapter. No wire is emulated, so nothing can lag.
    pub fn claims(&self) -> Vec<Claim> {
        let mut claims = Vec::new();
        for deep in [false, true] {
            let points = self.of(Transport::Tcp, deep);
            let lines: Vec<_> = points
                .filter_map(|point| Some((point, self.experiment.published(point)?)))
                .collect();
            for (point, then) in &lines {
                // One get of this size alone is published once, and measured in both parts.
                if deep && point.in_flight == 1 {
                    continue;
                }
                let what = line(point);
                let us = point.each_ns / 1000.0;
                let rate = Sample::new(f64::from(point.size) / us);
                claims.push(Claim::figure(&what, "uSec", &then.us, Sample::new(us)));
                claims.push(Claim::figure(format!("{what}, rate"), "MB/s", &then.rate, rate));
            }
            let Some(((alone, first), others)) = lines.split_first() else { continue };
            // Sizes in between take what the smallest takes, within the last digit: that is no order.
            let skipped = if deep { 0 } else { others.len().saturating_sub(1) };
            for (point, then) in &others[skipped..] {
                let what = format!("time of {} over {}", line(point), line(alone));
                let quotient = Sample::new(point.each_ns / alone.each_ns);
                claims.extend(Claim::order(what, (&then.us, &first.us), quotient));
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
                write!(f, " | {us:9.3} uSec {:8.2} MB/s", f64::from(size) / us.max(1e-9))?;
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

/// Returns the text that identifies a line: size and number in flight.
fn line(point: &Point) -> String {
    format!("{} bytes, {} in flight", point.size, point.in_flight)
}

/// Returns the predicted nanoseconds per get with `in_flight` gets in flight; `None` if `in_flight`
/// is 0. The model is a closed queueing network of one server and a delay: the server needs the
/// time per get at the highest rate, and the delay is the rest of a round trip.
fn pipelined(alone: &Point, most: &Point, in_flight: u32) -> Option<f64> {
    let gap = most.each_ns.min(alone.each_ns);
    let cycle = cycles(alone.each_ns - gap, &[gap], in_flight).pop()?;
    Some(cycle / f64::from(in_flight))
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Job { sizes, in_flight, deep_size, .. } = &self.experiment.job;
        self.head(f, &format!("-f get {} {}", sizes[0], sizes[1]), false)?;
        self.lines(f, false)?;
        self.head(f, &format!("-f get -bN {deep_size}"), true)?;
        self.lines(f, true)?;
        writeln!(f)?;
        for &transport in &self.experiment.job.transports {
            self.beside(f, transport)?;
            self.between(f, transport)?;
        }
        for &transport in &self.experiment.job.transports {
            let Some(deep) = self.of(transport, true).last().filter(|deep| deep.writes > 0) else {
                continue;
            };
            writeln!(
                f,
                "{}: with {} gets in flight, each takes {:.2} uSec (p50), and each write carries {:.1} gets",
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
    /// Writes the predicted lines beside the measured ones.
    fn between(&self, f: &mut fmt::Formatter<'_>, transport: Transport) -> fmt::Result {
        let is = |row: &&Row| row.transport == transport && row.predicted_ns.is_some();
        let mut rows = self.rows.iter().filter(is).peekable();
        if rows.peek().is_none() {
            return Ok(());
        }
        write!(f, "{}: predicted from the first and the last of these:", transport.name())?;
        for row in rows {
            let (told, depth) =
                (row.predicted_ns.unwrap_or_default() / 1000.0, row.point.in_flight);
            write!(f, " b {depth} {told:.2} uSec ({:.2})", row.point.each_ns / 1000.0)?;
        }
        writeln!(f)
    }

    /// Writes the measured times as multiples of the published ones, for one get alone and for the most in
    /// flight.
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
    use super::super::job::Sojourn;
    use super::*;

    /// The table of 2005, from its first and last line.
    #[test]
    fn published_times_of_elan4_follow_from_the_first_and_the_last() {
        let point = |in_flight: u32, us: f64| Point {
            size: 8,
            in_flight,
            count: 1000,
            each_ns: us * 1000.0,
            sojourn: Sojourn { p50: 0 },
            writes: 0,
        };
        let (alone, most) = (point(1, 2.35), point(32, 0.79));
        for (depth, published) in [(2, 1.32), (4, 1.04), (8, 0.84), (16, 0.82)] {
            let told = pipelined(&alone, &most, depth).unwrap() / 1000.0;
            assert!((told / published - 1.0).abs() < 0.17, "{depth}: {told} against {published}");
        }
        assert_eq!(pipelined(&alone, &most, 0), None);
    }
}

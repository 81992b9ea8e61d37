//! Gets as pgping's lines, published and measured side by side.

use std::fmt;

use serde::Serialize;

use super::{Ping, Point, Transport};

/// All rows, and what they are compared with.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    #[serde(skip)]
    experiment: Ping,
    rows: Vec<Row>,
}

/// A line.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Row {
    /// What it went by.
    pub transport: Transport,
    /// Whether it is one of those with more and more in flight.
    #[serde(skip)]
    pub deep: bool,
    /// What was measured.
    #[serde(flatten)]
    pub point: Point,
}

impl Table {
    /// The table of `rows`.
    pub fn new(experiment: &Ping, rows: Vec<Row>) -> Self {
        Self { experiment: experiment.clone(), rows }
    }

    fn of(&self, transport: Transport, deep: bool) -> impl Iterator<Item = &Point> {
        let is = move |row: &&Row| row.transport == transport && row.deep == deep;
        self.rows.iter().filter(is).map(|row| &row.point)
    }

    /// The first thing that isn't as in 2005, and why.
    pub fn miss(&self) -> Option<String> {
        self.size_counts().or_else(|| self.depth_gains_nothing()).or_else(|| self.memory_is_slow())
    }

    fn size_counts(&self) -> Option<String> {
        let most = self.experiment.tolerance.large_over_small;
        let mut sizes = self.of(Transport::Tcp, false).filter(|point| point.size > 0);
        let (small, large) = (sizes.next()?, sizes.last()?);
        let share = large.each_ns / small.each_ns;
        let (small, large) = (small.size, large.size);
        (share > most).then(|| {
            format!("tcp: {large} bytes take {share:.2} times what {small} take, above {most}")
        })
    }

    fn depth_gains_nothing(&self) -> Option<String> {
        let most = self.experiment.tolerance.deep_over_alone;
        let mut depths = self.of(Transport::Tcp, true);
        let (alone, deep) = (depths.next()?, depths.last()?);
        let (share, depth) = (deep.each_ns / alone.each_ns, deep.in_flight);
        (share > most).then(|| {
            format!("tcp: each of {depth} in flight takes {share:.2} of one alone, above {most}")
        })
    }

    fn memory_is_slow(&self) -> Option<String> {
        let slow = [false, true].into_iter().find_map(|deep| {
            let mut both = self.of(Transport::Tcp, deep).zip(self.of(Transport::Shm, deep));
            both.find(|(tcp, shm)| shm.each_ns >= tcp.each_ns)
        });
        let (tcp, shm) = slow?;
        let (size, depth) = (shm.size, shm.in_flight);
        Some(format!(
            "shm: {size} bytes, {depth} in flight, take {:.2} uSec and over tcp {:.2}",
            shm.each_ns / 1000.0,
            tcp.each_ns / 1000.0
        ))
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
                Some(then) => write!(f, " {:9.2} uSec {:8.2} MB/s", then.us, then.rate)?,
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

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let super::Job { sizes, in_flight, deep_size, .. } = &self.experiment.job;
        self.head(f, &format!("-f get {} {}", sizes[0], sizes[1]), false)?;
        self.lines(f, false)?;
        self.head(f, &format!("-f get -bN {deep_size}"), true)?;
        self.lines(f, true)?;
        writeln!(f)?;
        for &transport in &self.experiment.job.transports {
            self.beside(f, transport)?;
        }
        for &transport in &self.experiment.job.transports {
            let Some(deep) = self.of(transport, true).last().filter(|deep| deep.writes > 0) else {
                continue;
            };
            writeln!(
                f,
                "{}: with {} in flight each stays {:.2} uSec (p50), and {:.1} go out in one write",
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
    /// What was measured as multiples of what was published, one get alone and with the most in
    /// flight.
    fn beside(&self, f: &mut fmt::Formatter<'_>, transport: Transport) -> fmt::Result {
        let mut depths = self.of(transport, true).filter_map(|point| {
            let then = self.experiment.published(point)?;
            Some((point, point.each_ns / 1000.0 / then.us))
        });
        let Some((point, alone)) = depths.next() else { return Ok(()) };
        write!(f, "{}: one get of {} bytes takes ", transport.name(), point.size)?;
        write!(f, "{alone:.2} times Elan4's")?;
        if let Some((point, deep)) = depths.last() {
            write!(f, ", and {deep:.2} times with {} in flight", point.in_flight)?;
        }
        writeln!(f)
    }
}

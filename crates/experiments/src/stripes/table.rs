//! The table of copies to a striped server: published and emulated rates, and the findings about their
//! pauses.

use std::fmt;

use garland_core::units::bytes;
use serde::Serialize;

use super::answer::{Answer, Finding};
use super::job::Stripes;
use super::sizes::Sizes;
use crate::predicted::Prediction;
use crate::table::{self, Size};

/// The table: a row for each copy.
pub type Table = table::Table<Stripes, Row, Common>;

/// The file's length, the bound of the wire, and the findings about pauses.
#[derive(Clone, Debug, Serialize)]
pub struct Common {
    /// The sizes of the copy.
    #[serde(skip)]
    pub sizes: Sizes,
    /// The length of the copied file.
    #[serde(flatten)]
    pub size: Size,
    /// Number of operations of a copy.
    pub operations: u64,
    /// The seconds that the wire alone needs for the file.
    pub wire_s: f64,
    /// What `garland explain` found about the pauses.
    pub answers: Vec<Answer>,
}

/// A copy of the file to the server.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Row {
    /// Whether the copy was made in operations.
    pub held: bool,
    /// Whether the suspects' pauses were injected.
    pub paused: bool,
    /// The predicted seconds of the whole command: the measured start-up time, the simulated time
    /// of the bytes, and the pauses that delay the copy.
    pub predicted_s: f64,
    /// Seconds of the whole command.
    pub whole_s: f64,
    /// The seconds from the first byte to the last one.
    pub stream_s: f64,
    /// Whether the server's file equals the source.
    pub equal: bool,
}

impl Table {
    /// Describes the first result that is out of tolerance; `None` if there is none.
    pub fn miss(&self) -> Option<String> {
        self.differing()
            .or_else(|| self.slow())
            .or_else(|| self.gain_lost())
            .or_else(|| self.wrong())
    }

    /// Returns the predicted times, each with the time measured in the lab.
    pub fn predictions(&self) -> Vec<Prediction> {
        let of = |row: &Row| Prediction::seconds(row.words(), row.predicted_s, row.whole_s);
        self.rows.iter().map(of).collect()
    }

    fn differing(&self) -> Option<String> {
        let row = self.rows.iter().find(|row| !row.equal)?;
        Some(format!("{}: the file differs from its source", row.words()))
    }

    fn slow(&self) -> Option<String> {
        let least = self.experiment.tolerance.least_of_wire;
        let share = |row: &Row| self.common.wire_s / row.whole_s;
        let row = self.rows.iter().find(|row| !row.held && share(row) < least)?;
        let (share, least) = (share(row) * 100.0, least * 100.0);
        Some(format!("{}: {share:.1} % of the bound of the wire, below {least:.0} %", row.words()))
    }

    fn gain_lost(&self) -> Option<String> {
        let least = self.experiment.tolerance.least_gain;
        let gain = self.row(true, true)?.whole_s / self.row(false, true)?.whole_s;
        (gain < least).then(|| {
            format!(
                "without operations a copy is {gain:.2} times as fast as with them, below {least}"
            )
        })
    }

    fn wrong(&self) -> Option<String> {
        let allowed = &self.experiment.tolerance;
        let answer = self.common.answers.iter().find(|answer| !answer.is_right(allowed))?;
        let of = |finding: &Finding, traces: &str, most: f64| {
            let off = finding.off(answer.put_in_ns);
            let named = finding.fault.as_deref().unwrap_or("none");
            let is_wrong = !finding.right || off.abs() > most;
            is_wrong.then(|| {
                let (maker, pause, cause) = (answer.maker.words(), &answer.pause, finding.cause);
                let off = off * 100.0;
                format!(
                    "{pause} by {maker}: {traces} the time of {cause} is {off:+.1} % off, and the \
                     first fault is {named}"
                )
            })
        };
        let both = of(&answer.whole, "with both traces", allowed.found);
        both.or_else(|| of(&answer.half, "with one trace", allowed.found_by_one))
    }

    fn row(&self, held: bool, paused: bool) -> Option<&Row> {
        self.rows.iter().find(|row| row.held == held && row.paused == paused)
    }

    /// Returns the rate in Gbit/s of a copy of the file that takes `seconds`.
    fn gbit(&self, seconds: f64) -> f64 {
        self.common.size.bytes as f64 * 8.0 / 1e9 / seconds
    }

    /// Returns a description of the suspects' pauses.
    fn suspects(&self) -> String {
        let suspects = self.experiment.job.suspects.iter();
        let words = suspects.map(|one| format!("{} {}", one.maker.words(), one.pause));
        words.collect::<Vec<_>>().join(", ")
    }
}

impl Row {
    fn words(&self) -> String {
        let mode = if self.held { "in operations" } else { "without operations" };
        format!("{mode}, {}", if self.paused { "with pauses" } else { "without pauses" })
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (size, share) = (bytes::format(self.common.size.bytes), self.common.size.scale * 100.0);
        let operation = bytes::format(self.common.sizes.operation);
        let buffer = bytes::format(self.common.sizes.buffer);
        let wire = self.gbit(self.common.wire_s);
        writeln!(
            f,
            "emulated: {size} ({share:.3} % of the published file) in buffers of {buffer}; the wire \
             alone gives {wire:.2} Gbit/s\n"
        )?;
        let held = format!("operations of {operation}");
        writeln!(
            f,
            "{:<47} |{:>17} |{held:>35} |{:>26}",
            "Gbit/s, ms per operation", "published", "without operations"
        )?;
        writeln!(
            f,
            "{:<47} |{:>17} |{:>10}{:>13}{:>12} |{:>10}{:>16}",
            "", "", "predicted", "emulated", "", "predicted", "emulated"
        )?;
        for paused in [false, true] {
            let of = |held| self.row(held, paused);
            let (Some(held), Some(free)) = (of(true), of(false)) else { continue };
            let title = if paused { self.suspects() } else { "without pauses".to_owned() };
            let dash = || format!("{:>8}{:>9}", "-", "-");
            let then = self.experiment.published.first().filter(|_| paused);
            let then = then.map_or_else(dash, |then| {
                let each_ms = self.common.sizes.operation as f64 * 8.0 / 1e6 / then.copy;
                format!("{:>8.2}{each_ms:>9.1}", then.copy)
            });
            let each_ms = held.stream_s * 1e3 / self.common.size.bytes as f64
                * self.common.sizes.operation as f64;
            writeln!(
                f,
                "{title:<47} |{then} |{:>10.2}{:>13.2}{each_ms:>12.1} |{:>10.2}{:>16.2}",
                self.gbit(held.predicted_s),
                self.gbit(held.whole_s),
                self.gbit(free.predicted_s),
                self.gbit(free.whole_s)
            )?;
        }
        self.write_published(f)?;
        self.write_answers(f)
    }
}

impl Table {
    fn write_published(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(then) = self.experiment.published.first() else { return Ok(()) };
        let [least, most] = then.between_ms;
        writeln!(
            f,
            "also published: {} Gbit/s while bytes were sent; {least:.0} to {most:.0} ms between \
             operations, {:.0} ms from the last send to the reply",
            then.transfer, then.end_ms
        )
    }

    fn write_answers(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "\n{:<19}{:>7}{:>12} | {:<36} | {:<36}",
            "maker of pauses", "each", "injected", "garland explain", "without the server's trace"
        )?;
        for answer in &self.common.answers {
            let ms = |ns: f64| format!("{:.1} ms", ns / 1e6);
            let of = |finding: &Finding| {
                let wrong = if finding.right { "" } else { " WRONG" };
                let off = finding.off(answer.put_in_ns) * 100.0;
                let (cause, found) = (finding.cause, ms(finding.found_ns as f64));
                format!("{cause:<19}{found:>10}{off:>+5.1} %{wrong}")
            };
            let both = if answer.together { " (both at once)" } else { "" };
            writeln!(
                f,
                "{:<19}{:>7}{:>12} | {:<36} | {:<36}{both}",
                answer.maker.words(),
                answer.pause,
                ms(answer.put_in_ns as f64),
                of(&answer.whole),
                of(&answer.half)
            )?;
        }
        let open = self.common.answers.iter().find(|answer| !answer.maker.is_the_clients());
        let open = open.into_iter().flat_map(|answer| &answer.half.undecided);
        open.into_iter().try_for_each(|line| writeln!(f, "undecided without it: {line}"))
    }
}

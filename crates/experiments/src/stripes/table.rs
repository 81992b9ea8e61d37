//! The table of copies to a striped server: published and emulated rates, and the findings about
//! their pauses.

use std::fmt;

use garland_analysis::grade::{Condition, Published, Sample};
use garland_core::units::{Nanos, bytes};
use serde::Serialize;

use super::answer::{Answer, Finding};
use super::job::Stripes;
use super::sizes::Sizes;
use super::varied::Varied;
use crate::claim::Claim;
use crate::predicted::{Prediction, inputs};
use crate::scenario_lab::Busy;
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
    /// The milliseconds of a buffer's transfer in the copy without operations and pauses. At the
    /// published rate it is not the published time: that is 3 % shorter for 1 MiB, and longer for
    /// 1,000,000 bytes.
    pub buffer_ms: f64,
    /// What `garland explain` found about the pauses.
    pub answers: Vec<Answer>,
    /// The copies with the suspects' pauses that a user of the time would have tried next.
    pub varied: Vec<Varied>,
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
    /// The share of this machine's processor time that was in use during the copy.
    pub busy: Busy,
    /// Whether the server's file equals the source.
    pub equal: bool,
}

impl Table {
    /// Describes the first copy that differs from its source; `None` if there is none.
    pub fn broken(&self) -> Option<String> {
        let rows = self.rows.iter().filter(|row| !row.equal).map(Row::words);
        let varied = self.common.varied.iter().filter(|row| !row.equal).map(ToString::to_string);
        let words = rows.chain(varied).next()?;
        Some(format!("{words}: the file differs from its source"))
    }

    /// Returns the rates, with and without the suspects' pauses, and what the traces show about
    /// each injected pause.
    pub fn claims(&self) -> Vec<Claim> {
        let mut claims = self.rates();
        for answer in &self.common.answers {
            claims.extend(self.finding(answer));
        }
        claims
    }

    /// Returns the measured rates. The suspects' pauses are a condition that is put in as long as
    /// published.
    fn rates(&self) -> Vec<Claim> {
        let of = |held, paused| self.row(held, paused);
        let (Some(free), Some(held), Some(paused)) =
            (of(false, false), of(true, false), of(true, true))
        else {
            return Vec::new();
        };
        let on = self.experiment.constant.iter().flat_map(|one| one.on.clone()).collect();
        let pauses = Condition::fitted(self.suspects(), on);
        let rate = |row: &Row| row.sample(self.gbit(row.whole_s));
        let transfer = free.sample(self.gbit(free.stream_s));
        let by = |row: &Row| row.sample(free.stream_s / row.whole_s).voided(free.busy.lags());
        let buffer = free.sample(self.common.buffer_ms);
        vec![
            Claim::measured("while bytes go", "Gbit/s", transfer),
            Claim::measured("a transfer of 1 MB, about", "ms", buffer),
            Claim::measured("the whole copy", "Gbit/s", rate(held))
                .with(pauses.clone(), rate(paused)),
            Claim::quotient("rate of the copy over that of its transfers", by(held))
                .with(pauses, by(paused)),
        ]
    }

    /// Returns the claims about an injected pause: with the traces of both ends it has its length
    /// and its maker; without the server's its maker is named if it is the client, and left
    /// undecided otherwise.
    fn finding(&self, answer: &Answer) -> Vec<Claim> {
        let pause = &answer.pause;
        let maker = answer.maker.words();
        let of = if answer.together { "the published gaps: " } else { "" };
        let what = format!("{of}{pause} by {maker}");
        let injected = pause.parse::<Nanos>().map_or(0, |pause| pause.0) as f64 / 1e6;
        let found = format!("{what}, found by both traces");
        let found = match injected.to_string().parse::<Published>() {
            // The published gaps are no figures of this experiment.
            Ok(injected) if !answer.together => {
                Claim::put_in(found, "ms", &injected, answer.found_ms())
            }
            _ => Claim::measured(found, "ms", answer.found_ms()),
        };
        let should = if answer.maker.is_the_clients() { "named" } else { "left undecided" };
        let half = Claim::answer(format!("{what}, {should} by one trace"), answer.half.right);
        let half = half.voided(answer.busy.lags());
        vec![found, half]
    }

    /// Returns the predicted times, each with the time measured in the lab.
    pub fn predictions(&self) -> Vec<Prediction> {
        let rows = self.rows.iter().map(|row| {
            let one = Prediction::seconds(row.words(), row.predicted_s, row.whole_s);
            one.voided(row.busy.lags())
        });
        let varied = self.common.varied.iter().map(|row| {
            let one = Prediction::seconds(row.to_string(), row.predicted_s, row.whole_s);
            one.voided(row.busy.lags())
        });
        rows.chain(varied).collect()
    }

    /// Returns what they were predicted from, and where each input came from.
    pub fn predicted_from(&self) -> Vec<String> {
        let pauses =
            "pauses and operations: the scenario's file, one after another or beside each other";
        [inputs::WIRES, inputs::PROCESSORS, inputs::SET_UP, pauses].map(str::to_owned).to_vec()
    }

    /// Returns how many parts of `part` bytes the file has.
    pub(super) fn times(&self, part: u64) -> f64 {
        self.common.size.bytes as f64 / part.max(1) as f64
    }

    pub(super) fn row(&self, held: bool, paused: bool) -> Option<&Row> {
        self.rows.iter().find(|row| row.held == held && row.paused == paused)
    }

    /// Returns the rate in Gbit/s of a copy of the file that takes `seconds`.
    pub(super) fn gbit(&self, seconds: f64) -> f64 {
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
    /// Returns the sample of a value from this row, which is void if the emulator lagged.
    pub(super) fn sample(&self, value: f64) -> Sample {
        Sample::new(value).voided(self.busy.lags())
    }

    fn words(&self) -> String {
        let mode = if self.held { "in operations" } else { "without operations" };
        format!("{mode}, {}", if self.paused { "with pauses" } else { "without pauses" })
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = bytes::format(self.common.size.bytes);
        let share = self.common.size.scale * 100.0;
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
            let then = then.map_or_else(dash, |then| format!("{:>8}{:>9}", then.copy, "-"));
            let each_ms = held.stream_s * 1e3 / self.times(self.common.sizes.operation);
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
        self.write_budget(f)?;
        self.write_varied(f)?;
        self.write_answers(f)
    }
}

impl Table {
    fn write_published(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(then) = self.experiment.published.first() else { return Ok(()) };
        writeln!(
            f,
            "also published: {} Gbit/s while bytes were sent; {} ms between operations, {} ms from the \
             last send to the reply",
            then.transfer, then.between_ms, then.end_ms
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
                let cause = finding.cause;
                let found = ms(finding.found_ns as f64);
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

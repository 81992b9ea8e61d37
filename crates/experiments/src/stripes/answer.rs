//! The answers of `garland explain` about a copy.

use garland_analysis::grade::Sample;
use garland_analysis::ledger::Cause;
use garland_core::units::Nanos;
use serde::{Deserialize, Serialize};

use super::maker::{Maker, Pause};
use crate::scenario_lab::Busy;

/// The fields of `garland.explain/2` that are read.
#[derive(Clone, Debug, Deserialize)]
pub struct Report {
    rows: Vec<TimeOf>,
    faults: Vec<TimeOf>,
    undecided: Vec<String>,
}

/// The time of a cause at a place, in nanoseconds.
#[derive(Clone, Debug, Deserialize)]
struct TimeOf {
    cause: String,
    node: Option<String>,
    to: Option<String>,
    ns: u64,
}

/// A copy in which a maker paused.
pub struct PausedCopy<'a> {
    /// The pause that the reports are asked about.
    pub pause: &'a Pause,
    /// The total length of this maker's pauses in nanoseconds.
    pub put_in_ns: u64,
    /// Whether other makers paused, too.
    pub together: bool,
    /// The share of this machine's processor time that was in use during the copy.
    pub busy: Busy,
}

/// The two reports about one copy.
#[derive(Clone, Debug)]
pub struct Explained {
    /// The report from the traces of both ends.
    pub whole: Report,
    /// The report after the server's trace was removed.
    pub half: Report,
}

/// The findings about one kind of injected pause.
#[derive(Clone, Debug, Serialize)]
pub struct Answer {
    /// The part of the copy that paused.
    pub maker: Maker,
    /// The length of each pause, such as `11ms`.
    pub pause: String,
    /// Whether other makers paused in the same copy.
    pub together: bool,
    /// The total length of the injected pauses in nanoseconds.
    pub put_in_ns: u64,
    /// The share of this machine's processor time that was in use during the copy.
    pub busy: Busy,
    /// The finding from the traces of both ends.
    pub whole: Finding,
    /// The finding without the server's trace.
    pub half: Finding,
}

/// What one report says about a kind of pause.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// The name of the cause whose time is counted.
    pub cause: &'static str,
    /// The nanoseconds of this cause, minus its median in copies without pauses.
    pub found_ns: i64,
    /// The first fault that the report names; `None` if it names none.
    pub fault: Option<String>,
    /// Whether the report blames the maker of the pause. If the maker is not on the client, a
    /// report without the server's trace must list the server as undecided instead, and not blame
    /// it.
    pub right: bool,
    /// The lines of the report about what is undecided.
    pub undecided: Vec<String>,
}

impl Answer {
    /// Evaluates the reports `explained` about a copy with a pause. `bases` are the reports about
    /// copies without pauses. If other makers paused, too, this pause need not be the first fault.
    pub fn new(
        copy: &PausedCopy<'_>,
        server: &str,
        explained: &Explained,
        bases: &[Explained],
    ) -> Self {
        let PausedCopy { pause, put_in_ns, together, busy } = *copy;
        let maker = pause.maker;
        let known = |report: &Report, of: fn(&Explained) -> &Report| {
            let cause = maker.cause();
            let is_it = |time: &TimeOf| maker.is_it(server, time);
            let found_ns =
                report.time(is_it) - usual(bases.iter().map(|base| of(base).time(is_it)));
            let right = match together {
                true => report.faults.iter().any(is_it),
                false => report.faults.first().is_some_and(is_it),
            };
            Finding::new(cause, found_ns, right, report)
        };
        let open = |report: &Report, of: fn(&Explained) -> &Report| {
            let is_it = |time: &TimeOf| {
                time.cause == Cause::Undecided.name() && time.node.as_deref() == Some(server)
            };
            let found_ns =
                report.time(is_it) - usual(bases.iter().map(|base| of(base).time(is_it)));
            let right = report.undecided.iter().any(|line| line.starts_with(server));
            // An unknown part must not be reported as a fault.
            let named = report.faults.iter().any(|fault| maker.is_it(server, fault));
            Finding::new(Cause::Undecided, found_ns, right && !named, report)
        };
        let half = match maker.is_the_clients() {
            true => known(&explained.half, |base| &base.half),
            false => open(&explained.half, |base| &base.half),
        };
        let whole = known(&explained.whole, |base| &base.whole);
        Self { maker, pause: pause.pause.clone(), together, put_in_ns, busy, whole, half }
    }

    /// Returns the milliseconds of each pause that the traces of both ends show; none if they blame
    /// another maker. Void if the emulator lagged.
    pub fn found_ms(&self) -> Sample {
        let each = self.pause.parse::<Nanos>().map_or(0, |pause| pause.0) as f64 / 1e6;
        let found = each * (1.0 + self.whole.off(self.put_in_ns));
        let sample = if self.whole.right { Sample::new(found) } else { Sample::none() };
        sample.voided(self.busy.lags())
    }
}

/// Returns the median of times in nanoseconds.
fn usual(times: impl Iterator<Item = i64>) -> i64 {
    let mut times: Vec<i64> = times.collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or(0)
}

impl Finding {
    fn new(cause: Cause, found_ns: i64, right: bool, report: &Report) -> Self {
        let fault = report.faults.first().map(TimeOf::words);
        let cause = cause.name();
        let undecided = report.undecided.clone();
        Self { cause, found_ns, fault, right, undecided }
    }

    /// Returns the relative error of the found time, with sign; the true time is `put_in_ns`.
    pub fn off(&self, put_in_ns: u64) -> f64 {
        self.found_ns as f64 / (put_in_ns as f64).max(1.0) - 1.0
    }
}

impl Report {
    fn time(&self, is_it: impl Fn(&TimeOf) -> bool) -> i64 {
        let ns: u64 = self.rows.iter().filter(|row| is_it(row)).map(|row| row.ns).sum();
        i64::try_from(ns).unwrap_or(i64::MAX)
    }
}

impl TimeOf {
    fn words(&self) -> String {
        let to = self.to.as_ref().map(|to| format!("to {to}"));
        let words = [Some(self.cause.clone()), self.node.clone(), to];
        words.into_iter().flatten().collect::<Vec<_>>().join(" ")
    }
}

impl Maker {
    fn is_it(self, server: &str, time: &TimeOf) -> bool {
        time.cause == self.cause().name()
            && self.is_at(server, time.node.as_deref(), time.to.as_deref())
    }
}

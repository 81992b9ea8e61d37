//! Contests: several tools measure the same quantity in turns, round by round. Disturbances of the machine
//! hit all tools alike, so ratios are valid even if the absolute times are not.

mod benchmark;
mod event;
mod figure;
mod goal;
mod report;
mod tool;
mod words;

use std::time::Duration;

use anyhow::Result;
use serde::Serialize;

pub(crate) use benchmark::{Benchmark, Findings};
pub(crate) use event::Event;
#[cfg(test)]
pub(crate) use event::assert_sound;
use figure::Statistic;
pub(crate) use figure::{Entry, Figure};
pub(crate) use goal::Goal;
pub(crate) use report::Heading;
pub(crate) use tool::Tool;
pub(crate) use words::Words;

use super::machine::version;
use super::result::Tool as Used;
use xtask::clock::Watch;
use xtask::packages::{Need, install};

/// A tool that measures something at a place, such as between two nodes or in a directory.
pub(crate) trait Gauge<P> {
    /// Returns the tool's name, one word.
    fn tool(&self) -> &'static str;

    /// Returns what the tool is and how it is used here, for the report.
    fn about(&self) -> &'static str;

    /// Returns the Debian package of the tool; `None` for Garland.
    fn need(&self) -> Option<Need>;

    /// Measures once.
    ///
    /// # Errors
    /// If the tool fails, or its output cannot be parsed.
    fn measure(&self, place: &P) -> Result<Figure>;
}

/// A quantity that several tools measure, and the goal for Garland.
pub(crate) struct Contest<P> {
    /// The contest's title.
    pub(crate) title: &'static str,
    /// The unit of figures.
    pub(crate) unit: &'static str,
    /// The goal.
    pub(crate) goal: Goal,
    /// The tools, Garland first.
    pub(crate) gauges: Vec<Box<dyn Gauge<P>>>,
}

/// The figures of a contest.
#[derive(Serialize)]
pub(crate) struct Outcome {
    pub(crate) title: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) goal: Goal,
    pub(crate) entries: Vec<Entry>,
}

/// Installs the tools' packages.
fn equip<P>(contests: &[Contest<P>]) -> Result<()> {
    let needs = contests.iter().flat_map(|contest| &contest.gauges).filter_map(|it| it.need());
    install(&needs.collect::<Vec<_>>())
}

/// Returns all tools of all contests, each once, with their versions.
fn tools<P>(contests: &[Contest<P>]) -> Vec<Used> {
    let mut tools: Vec<Used> = Vec::new();
    for gauge in contests.iter().flat_map(|contest| &contest.gauges) {
        if tools.iter().all(|tool| tool.name != gauge.tool()) {
            let version = match gauge.need() {
                Some((package, _)) => version(&["dpkg-query", "-W", package]),
                None => version(&["git", "describe", "--always", "--dirty", "--exclude=*"]),
            };
            tools.push(Used { name: gauge.tool(), about: gauge.about(), version });
        }
    }
    tools
}

/// Runs up to `rounds` rounds of all contests. No round begins after `time` has passed, except the first.
/// Each round begins with another tool, so that none is always first.
pub(crate) fn hold<P>(
    contests: &[Contest<P>],
    rounds: usize,
    time: Duration,
    place: &P,
) -> Vec<Outcome> {
    let mut outcomes: Vec<Outcome> = contests.iter().map(Outcome::new).collect();
    let watch = Watch::start();
    for round in 0..rounds {
        if round > 0 && watch.read() > time {
            eprintln!("stopping after {round} rounds: they took more than {time:?}");
            break;
        }
        for (contest, outcome) in contests.iter().zip(&mut outcomes) {
            eprintln!("round {} of {rounds}: {}", round + 1, contest.title);
            let count = contest.gauges.len();
            for at in (0..count).map(|turn| (turn + round) % count) {
                outcome.entries[at].enter(contest.gauges[at].measure(place), contest.unit);
            }
        }
    }
    outcomes
}

impl Outcome {
    fn new<P>(contest: &Contest<P>) -> Self {
        Self {
            title: contest.title,
            unit: contest.unit,
            goal: contest.goal,
            entries: contest.gauges.iter().map(|gauge| Entry::of(gauge.tool())).collect(),
        }
    }

    /// Returns Garland's entry.
    fn own(&self) -> Option<&Entry> {
        self.entries.first()
    }

    /// Returns the median of Garland's ratios to each peer.
    fn ratios(&self) -> Vec<f64> {
        let peers = self.entries.iter().skip(1);
        let ratios = peers.filter_map(|peer| Some(self.own()?.ratio(peer)?.1.median));
        ratios.collect()
    }

    /// Returns whether the goal is reached.
    pub(crate) fn is_reached(&self) -> bool {
        let own = self.own().and_then(Entry::spread);
        own.is_some_and(|(_, own)| self.goal.is_reached(&self.ratios(), own.median))
    }

    /// Returns the number that decides whether the goal is reached: the ratio to the best peer, or Garland's
    /// figure if the goal is absolute.
    fn decisive(&self) -> Option<f64> {
        if let Goal::Below(_) = self.goal {
            return self.own()?.spread().map(|(_, own)| own.median);
        }
        let badness = |ratio: &f64| self.goal.badness(*ratio);
        self.ratios().into_iter().max_by(|a, b| badness(a).total_cmp(&badness(b)))
    }
}

impl Entry {
    /// Returns the entry of a tool that has not had a turn yet.
    fn of(tool: &'static str) -> Self {
        Self { tool, turns: Vec::new(), failed: None }
    }

    fn enter(&mut self, turn: Result<Figure>, unit: &str) {
        match turn {
            Ok(figure) => {
                let told = |statistic: Statistic| {
                    let number = figure.number(statistic)?;
                    Some(format!("{} {number:.3} {unit}", statistic.name()))
                };
                let told: Vec<String> = Statistic::ALL.into_iter().filter_map(told).collect();
                eprintln!("  {}: {}", self.tool, told.join(", "));
                self.turns.push(Some(figure));
            }
            Err(error) => {
                eprintln!("  {}: {error:#}", self.tool);
                self.failed.get_or_insert(format!("{error:#}"));
                self.turns.push(None);
            }
        }
    }
}

//! Contests: several tools measure the same quantity in turns, round by round. Disturbances of the
//! machine hit all tools alike, so ratios are valid even if the absolute times are not.

mod benchmark;
mod figure;
mod goal;
mod report;
mod tool;
mod words;

use std::time::Duration;

use anyhow::Result;
use serde::Serialize;
use xtask::clock::Watch;

use super::machine::{own_version, tell_version};
use super::result::Tool as Used;
#[cfg(test)]
pub(crate) use benchmark::assert_sound;
pub(crate) use benchmark::{Benchmark, Place, Setting};
use figure::Statistic;
pub(crate) use figure::{Entry, Figure};
pub(crate) use goal::Goal;
pub(crate) use report::Heading;
pub(crate) use tool::{Contest, Tool};
pub(crate) use words::{Choice, Usage};

/// The figures of a contest.
#[derive(Serialize)]
pub(crate) struct Outcome {
    pub(crate) title: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) goal: Goal,
    pub(crate) entries: Vec<Entry>,
}

/// Returns all tools of all contests, each once, with their versions.
fn used_tools<P>(contests: &[&Contest<P>]) -> Vec<Used> {
    let mut tools: Vec<Used> = Vec::new();
    for tool in contests.iter().flat_map(|contest| contest.tools) {
        if tools.iter().all(|used| used.name != tool.name) {
            let version = tool.need.map_or_else(own_version, |(package, _)| {
                tell_version(&["dpkg-query", "-W", package])
            });
            tools.push(Used { name: tool.name, about: tool.about, version });
        }
    }
    tools
}

/// Runs up to `rounds` rounds of all contests. No round begins after `time` has passed, except the
/// first. Each round begins with another tool, so that none is always first.
fn hold<P>(contests: &[&Contest<P>], rounds: usize, time: Duration, place: &P) -> Vec<Outcome> {
    let mut outcomes: Vec<Outcome> = contests.iter().map(|contest| Outcome::new(contest)).collect();
    let watch = Watch::start();
    for round in 0..rounds {
        if round > 0 && watch.read() > time {
            eprintln!("stopping after {round} rounds: they took more than {time:?}");
            break;
        }
        for (contest, outcome) in contests.iter().zip(&mut outcomes) {
            eprintln!("round {} of {rounds}: {}", round + 1, contest.title);
            let count = contest.tools.len();
            for at in (0..count).map(|turn| (turn + round) % count) {
                outcome.entries[at].enter((contest.tools[at].measure)(place), contest.unit);
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
            entries: contest.tools.iter().map(|tool| Entry::new(tool.name)).collect(),
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

    /// Returns the number that decides whether the goal is reached: the ratio to the best peer, or
    /// Garland's figure if the goal is absolute.
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
    fn new(tool: &'static str) -> Self {
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

//! The frame of a benchmark that consists of contests: arguments, installation, places, report.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use xtask::packages::{Need, install};

use super::report::{Heading, Report};
use super::words::{Choice, Usage, Words};
use super::{Contest, hold, used_tools};
use crate::runnable::Runnable;
use crate::{chain, sandbox};

/// A benchmark: its names, its arguments and its contests.
pub(crate) struct Benchmark<P: 'static> {
    /// The names in reports.
    pub(crate) bench: Heading,
    /// Default number of rounds, as text.
    pub(crate) rounds: &'static str,
    /// Options of this benchmark only.
    pub(crate) options: &'static [Choice],
    /// Packages that are needed in addition to those of the tools.
    pub(crate) needs: &'static [Need],
    /// Whether it runs in a sandbox.
    pub(crate) sandboxed: bool,
    /// No round at a place begins after this time.
    pub(crate) time: Duration,
    /// The places, each with its contests.
    pub(crate) places: &'static [Place<P>],
    /// Returns notes for the report on where and how the figures were measured.
    pub(crate) notes: fn(&Setting<'_>, &P) -> Result<Vec<String>>,
}

/// A place where contests are held.
pub(crate) struct Place<P: 'static> {
    /// Builds the place; dropping its value removes it.
    pub(crate) make: fn(&Setting<'_>) -> Result<P>,
    /// The contests at this place.
    pub(crate) contests: &'static [Contest<P>],
}

/// The circumstances of a run that places depend on.
pub(crate) struct Setting<'a> {
    /// The repository.
    pub(crate) root: &'a Path,
    /// The number of the run; 0 outside of a sandbox.
    pub(crate) run: u32,
    /// The arguments.
    pub(crate) words: &'a Words,
}

impl<P> Runnable for Benchmark<P> {
    fn usage(&self) -> Usage {
        let mut options = self.options.to_vec();
        options.push(("--rounds", self.rounds, "turns of each tool"));
        options.push(("--only", "WORDS", "only contests with these words in their title"));
        Usage { name: self.bench.name, options }
    }

    fn run(&self, root: &Path, args: &[String]) -> Result<()> {
        if !self.sandboxed {
            self.prepare(root, args)?;
            return self.contend(root, 0, args);
        }
        let prepare = |args: &[String]| self.prepare(root, args);
        sandbox::enter(self.bench.name, args, prepare, |run, args| {
            sandbox::mount()?;
            self.contend(root, run, args)
        })
    }
}

impl<P> Benchmark<P> {
    /// Parses the arguments, installs what the chosen contests need, and builds Garland.
    fn prepare(&self, root: &Path, args: &[String]) -> Result<()> {
        let words = self.usage().parse(args)?;
        let _ = words.rounds()?;
        words.refuse_nothing(self.contests())?;
        install(self.needs)?;
        let tools = words.choose(self.contests()).into_iter().flat_map(|contest| contest.tools);
        install(&tools.filter_map(|tool| tool.need).collect::<Vec<_>>())?;
        chain::build(root)
    }

    /// Holds the chosen contests at their places, prints the report, and writes it to files unless
    /// the arguments say otherwise.
    fn contend(&self, root: &Path, run: u32, args: &[String]) -> Result<()> {
        let words = &self.usage().parse(args)?;
        let setting = Setting { root, run, words };
        let mut outcomes = Vec::new();
        let mut notes = Vec::new();
        for Place { make, contests } in self.places {
            let contests = words.choose(contests.iter());
            if !contests.is_empty() {
                let place = make(&setting)?;
                outcomes.extend(hold(&contests, words.rounds()?, self.time, &place));
                notes = (self.notes)(&setting, &place)?;
            }
        }
        let tools = used_tools(&words.choose(self.contests()));
        Report::new(self.bench, args, notes, tools, outcomes).finish(root, words.write)
    }

    fn contests(&self) -> impl Iterator<Item = &'static Contest<P>> {
        self.places.iter().flat_map(|place| place.contests)
    }
}

#[cfg(test)]
/// Asserts that titles are unique, that Garland is the first tool of each contest, and that every
/// contest has either a peer or an absolute goal.
#[track_caller]
pub(crate) fn assert_sound<P>(benchmark: &Benchmark<P>) {
    use super::Goal;

    let contests: Vec<_> = benchmark.contests().collect();
    for (at, contest) in contests.iter().enumerate() {
        assert!(contests[..at].iter().all(|other| other.title != contest.title));
        assert_eq!(contest.tools[0].need, None, "{}", contest.title);
        let alone = contest.tools.len() == 1;
        assert_eq!(alone, matches!(contest.goal, Goal::Below(_)), "{}", contest.title);
    }
}

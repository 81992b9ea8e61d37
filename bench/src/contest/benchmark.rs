//! The frame of a benchmark that consists of contests: arguments, installation, report.

use std::path::Path;

use anyhow::Result;

use super::report::{Heading, Report};
use super::words::Words;
use super::{Contest, Outcome, equip, tools};
use crate::{chain, sandbox};
use xtask::packages::{Need, install};

/// A benchmark: its names, its arguments and its contests.
pub(crate) struct Benchmark<P: 'static> {
    /// The names in reports.
    pub(crate) bench: Heading,
    /// The usage text.
    pub(crate) usage: &'static str,
    /// Default number of rounds.
    pub(crate) rounds: usize,
    /// Options of this benchmark only, each with a value.
    pub(crate) options: &'static [&'static str],
    /// Packages that are needed in addition to those of the tools.
    pub(crate) needs: &'static [Need],
    /// Returns all contests.
    pub(crate) contests: fn() -> Vec<Contest<P>>,
}

/// The outcomes of a benchmark's contests, and notes for the report on where and how they were measured.
pub(crate) type Findings = (Vec<Outcome>, Vec<String>);

impl<P> Benchmark<P> {
    /// Parses the arguments, installs what the chosen contests need, and builds Garland.
    ///
    /// # Errors
    /// If an argument is wrong, no contest is chosen, or an installation or the build fails.
    pub(crate) fn prepare(&self, root: &Path, args: &[String]) -> Result<Words> {
        let words = self.parse(args)?;
        words.refuse_nothing(&(self.contests)())?;
        install(self.needs)?;
        equip(&words.choose((self.contests)()))?;
        chain::build(root)?;
        Ok(words)
    }

    /// Prints the report, and writes it to files unless `words` say otherwise.
    ///
    /// # Errors
    /// If a file cannot be written; after that, if a tool failed or a goal was missed.
    pub(crate) fn finish(
        &self,
        root: &Path,
        args: &[String],
        words: &Words,
        (outcomes, notes): Findings,
    ) -> Result<()> {
        let tools = tools(&words.choose((self.contests)()));
        Report::new(self.bench, args, notes, tools, outcomes).finish(root, words.write)
    }

    /// Runs the whole benchmark in a sandbox: prepares, calls `contend` with the number of the run, and
    /// reports.
    ///
    /// # Errors
    /// If one of these three steps fails.
    pub(crate) fn run_in_sandbox(
        &self,
        root: &Path,
        args: &[String],
        contend: impl FnOnce(u32, &Words) -> Result<Findings>,
    ) -> Result<()> {
        let prepare = |args: &[String]| self.prepare(root, args).map(drop);
        sandbox::enter(self.bench.name, args, prepare, |run, args| {
            let words = self.parse(args)?;
            sandbox::mount()?;
            self.finish(root, args, &words, contend(run, &words)?)
        })
    }

    fn parse(&self, args: &[String]) -> Result<Words> {
        Words::parse(args, self.rounds, self.options, self.usage)
    }
}

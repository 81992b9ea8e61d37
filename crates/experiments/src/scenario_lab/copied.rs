//! Runs commands in a lab, and reads their results.

use garland_farm::result::FarmResult;
use garland_results::head::{Head, Phase};
use garland_sys::clock;
use garland_terminal::failure::{Exit, Failure, OrFailure};
use serde::de::DeserializeOwned;

use super::ScenarioLab;

/// The times of a copy, from its result and from a clock around the command.
#[derive(Debug)]
pub struct Copied {
    /// The name of the copy's run.
    pub run: String,
    /// Nanoseconds of the whole command, from before its start until its end.
    pub whole_ns: u64,
    /// The nanoseconds from the first byte until the last node has received its last byte.
    pub stream_ns: u64,
}

impl ScenarioLab<'_> {
    /// Runs this binary with `--json` and `words`, as [`ScenarioLab::garland`] does. Returns the
    /// parsed result.
    pub fn ask<T: DeserializeOwned>(&self, words: &[&str]) -> Result<T, Failure> {
        self.ask_tolerating(&[], words)
    }

    /// Runs a command as [`ScenarioLab::ask`] does, and accepts the exit codes in `tolerated` as
    /// well as 0.
    pub fn ask_tolerating<T: DeserializeOwned>(
        &self,
        tolerated: &[Exit],
        words: &[&str],
    ) -> Result<T, Failure> {
        parse(&self.garland_tolerating(tolerated, &[&["--json"], words].concat())?)
    }

    /// Runs a command as [`ScenarioLab::ask`] does; `None` if it refuses, and prints why.
    pub fn ask_or_refused<T: DeserializeOwned>(
        &self,
        words: &[&str],
    ) -> Result<Option<T>, Failure> {
        let words = [&["--json"], words].concat();
        let output = self.garland_tolerating(&[Exit::Usage], &words)?;
        if output.is_empty() { Ok(None) } else { parse(&output).map(Some) }
    }

    /// Runs `garland farm run` with `words`. Returns its result even if jobs failed.
    pub fn farm(&self, words: &[&str]) -> Result<FarmResult, Failure> {
        let tolerated = [Exit::SomeFailed, Exit::Nothing];
        self.ask_tolerating(&tolerated, &[&["farm", "run"], words].concat())
    }

    /// Runs a farm as [`ScenarioLab::farm`] does. A failed job is an error.
    pub fn farm_done(&self, words: &[&str]) -> Result<FarmResult, Failure> {
        let report = self.farm(words)?;
        let Some(failed) = report.summary.jobs.failures.first() else { return Ok(report) };
        let job = failed.job;
        let node = failed.node.as_deref().unwrap_or("no node");
        Err(Failure::nothing(format!("job {job} on {node} failed: {}", failed.reason)))
    }

    /// Runs several farms at the same time. Returns their results in the same order. A failed job
    /// is an error.
    pub fn farms(&self, commands: &[Vec<String>]) -> Result<Vec<FarmResult>, Failure> {
        let words = |words: &Vec<String>| {
            let first = ["--json", "farm", "run"].map(str::to_owned);
            first.into_iter().chain(words.iter().cloned()).collect()
        };
        let commands: Vec<Vec<String>> = commands.iter().map(words).collect();
        let (outputs, _) = self.at_once(&[], &commands)?;
        outputs.iter().map(|output| parse(output)).collect()
    }

    /// Runs `garland cp --whole` with `words`. Returns the times of the copy.
    pub fn copy(&self, words: &[&str]) -> Result<Copied, Failure> {
        let before = clock::now_ns();
        let head: Head = self.ask(&[&["cp", "--whole"], words].concat())?;
        let whole_ns = clock::now_ns() - before;
        let streams = |phase: &&Phase| matches!(&*phase.name, "first byte" | "stream" | "drain");
        let stream_ns = head.phases.iter().filter(streams).map(|phase| phase.ns).sum();
        Ok(Copied { run: head.run.unwrap_or_default(), whole_ns, stream_ns })
    }
}

fn parse<T: DeserializeOwned>(result: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(result).or_nothing("cannot parse the result of garland")
}

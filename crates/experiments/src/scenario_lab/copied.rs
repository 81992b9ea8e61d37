//! Commands in a lab whose results are read back.

use garland_sys::clock;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::ScenarioLab;
use garland_farm::result::FarmResult;
use garland_terminal::failure::{Exit, Failure, OrFailure};

/// What a copy took, by its own result and by a clock around the command.
#[derive(Debug)]
pub struct Copied {
    /// The name of its run.
    pub run: String,
    /// Nanoseconds of the whole command, from before its start until its end.
    pub whole_ns: u64,
    /// Nanoseconds from the first byte to the last byte of the last node.
    pub stream_ns: u64,
}

/// What is read of a `garland.cp/2`.
#[derive(Deserialize)]
struct Report {
    run: String,
    phases: Vec<Phase>,
}

#[derive(Deserialize)]
struct Phase {
    name: String,
    ns: u64,
}

impl ScenarioLab<'_> {
    /// Runs this binary with `--json` and `words`, as [`ScenarioLab::garland`] does, and reads the result.
    pub fn ask<T: DeserializeOwned>(&self, words: &[&str]) -> Result<T, Failure> {
        self.ask_tolerating(&[], words)
    }

    /// Asks as [`ScenarioLab::ask`] does, and accepts the `tolerated` exit codes beside 0.
    pub fn ask_tolerating<T: DeserializeOwned>(
        &self,
        tolerated: &[Exit],
        words: &[&str],
    ) -> Result<T, Failure> {
        parse(&self.garland_tolerating(tolerated, &[&["--json"], words].concat())?)
    }

    /// Runs `garland farm run` with `words`, and reads its result even if jobs have failed.
    pub fn farm(&self, words: &[&str]) -> Result<FarmResult, Failure> {
        let tolerated = [Exit::SomeFailed, Exit::Nothing];
        self.ask_tolerating(&tolerated, &[&["farm", "run"], words].concat())
    }

    /// Runs several farms at once, and reads their results in the same order. All jobs must be done.
    pub fn farms(&self, commands: &[Vec<String>]) -> Result<Vec<FarmResult>, Failure> {
        let words = |words: &Vec<String>| {
            let first = ["--json", "farm", "run"].map(str::to_owned);
            first.into_iter().chain(words.iter().cloned()).collect()
        };
        let commands: Vec<Vec<String>> = commands.iter().map(words).collect();
        let (outputs, _) = self.at_once(&[], &commands)?;
        outputs.iter().map(|output| parse(output)).collect()
    }

    /// Runs `garland cp --whole` with `words`.
    pub fn copy(&self, words: &[&str]) -> Result<Copied, Failure> {
        let before = clock::now_ns();
        let report: Report = self.ask(&[&["cp", "--whole"], words].concat())?;
        let whole_ns = clock::now_ns() - before;
        let streams = |name: &str| matches!(name, "first byte" | "stream" | "drain");
        let streams = report.phases.iter().filter(|phase| streams(&phase.name));
        let stream_ns = streams.map(|phase| phase.ns).sum();
        Ok(Copied { run: report.run, whole_ns, stream_ns })
    }
}

fn parse<T: DeserializeOwned>(result: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(result).or_nothing("reading what garland said")
}

//! Commands in a bench that say what they did.

use garland_sys::clock;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::ScenarioLab;
use garland_terminal::failure::{Failure, OrFailure};

/// A copy by its own result, and by a clock beside it.
#[derive(Debug)]
pub struct Copied {
    /// The name of its run.
    pub run: String,
    /// Nanoseconds as its user sees them: from before the program is started until it has ended.
    pub whole_ns: u64,
    /// Nanoseconds from the first byte to the last node's last.
    pub stream_ns: u64,
}

/// What is read of a `garland.cp/1`.
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
    /// Runs this binary with `--json` and `words`; what it said, as [`ScenarioLab::garland`] has it.
    pub fn ask<T: DeserializeOwned>(&self, words: &[&str]) -> Result<T, Failure> {
        parse(&self.garland(&[&["--json"], words].concat())?)
    }

    /// The same where the command may end with 1: some of what it is about lacks.
    pub fn ask_of_some<T: DeserializeOwned>(&self, words: &[&str]) -> Result<T, Failure> {
        parse(&self.garland_of_some(&[&["--json"], words].concat())?)
    }

    /// The same where it may end with 3, too, and say why nothing was done.
    pub fn ask_of_any<T: DeserializeOwned>(&self, words: &[&str]) -> Result<T, Failure> {
        parse(&self.garland_of_any(&[&["--json"], words].concat())?)
    }

    /// The same for several commands at once, which must all end well; what they said, in their order.
    pub fn ask_at_once<T: DeserializeOwned>(
        &self,
        commands: &[Vec<String>],
    ) -> Result<Vec<T>, Failure> {
        let json = |words: &Vec<String>| {
            std::iter::once("--json".to_owned()).chain(words.iter().cloned()).collect()
        };
        let commands: Vec<Vec<String>> = commands.iter().map(json).collect();
        let (outputs, _) = self.garlands(&commands)?;
        outputs.iter().map(|said| parse(said)).collect()
    }

    /// Makes a copy: `words` are those behind `garland cp`.
    pub fn copy(&self, words: &[&str]) -> Result<Copied, Failure> {
        let before = clock::now_ns();
        let told: Report = self.ask(&[&["cp", "--whole"], words].concat())?;
        let whole_ns = clock::now_ns() - before;
        let streams = |name: &str| matches!(name, "first byte" | "stream" | "drain");
        let streams = told.phases.iter().filter(|phase| streams(&phase.name));
        let stream_ns = streams.map(|phase| phase.ns).sum();
        Ok(Copied { run: told.run, whole_ns, stream_ns })
    }
}

fn parse<T: DeserializeOwned>(said: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(said).or_nothing("reading what garland said")
}

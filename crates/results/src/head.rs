//! What every result object begins with (`docs/results.md`), and the phases that its time is
//! parted into.

use std::borrow::Cow;
use std::fmt::Display;

use garland_sys::{clock, process};
use serde::{Deserialize, Serialize};

use crate::limit::Limit;
use crate::run::Run;
use garland_terminal::failure::{Failure, OrFailure};
use garland_terminal::output;

/// The head of a result object.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Head {
    /// The kind of result and its version, such as `garland.cp/2`.
    pub schema: Cow<'static, str>,
    /// The run's name; none where nothing is kept.
    pub run: Option<String>,
    /// The command line.
    #[serde(default)]
    command: Vec<String>,
    /// From the command's start to its end, in nanoseconds.
    pub elapsed_ns: u64,
    /// They sum to `elapsed_ns`.
    #[serde(default)]
    pub phases: Vec<Phase>,
    /// The best that the wires allow; none where it is not known, or no file was copied.
    pub limit: Option<Limit>,
}

/// A stretch of the command's time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Phase {
    /// What was done in it.
    pub name: Cow<'static, str>,
    /// How long it took, in nanoseconds.
    pub ns: u64,
}

impl Head {
    /// The head of a result of the kind `schema`, whose time is parted into `phases`.
    pub fn new(schema: &'static str, run: Option<&Run>, phases: Phases) -> Self {
        Self {
            schema: Cow::Borrowed(schema),
            run: run.map(|run| run.name().to_owned()),
            command: std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect(),
            elapsed_ns: phases.list.iter().map(|phase| phase.ns).sum(),
            phases: phases.list,
            limit: None,
        }
    }
}

/// Phases without gaps: each begins where the one before it ended, the first with the program.
pub struct Phases {
    /// Where the last one ended, in nanoseconds of the monotonic clock.
    last: u64,
    list: Vec<Phase>,
}

impl Phases {
    /// No phase yet; the first begins with the program.
    pub fn begin() -> Self {
        Self { last: process::start_ns(), list: Vec::new() }
    }

    /// No phase yet; the first begins now.
    pub fn since_now() -> Self {
        Self { last: clock::now_ns(), list: Vec::new() }
    }

    /// Whether a phase has ended.
    pub fn has_any(&self) -> bool {
        !self.list.is_empty()
    }

    /// Where the next phase begins, in nanoseconds of the monotonic clock.
    pub fn last_ns(&self) -> u64 {
        self.last
    }

    /// The phase `name` ends now; how long it took, in nanoseconds.
    pub fn end(&mut self, name: &'static str) -> u64 {
        self.end_at(name, clock::now_ns())
    }

    /// The phase `name` ended at `end`, or has no length where that is before its beginning.
    pub fn end_at(&mut self, name: &'static str, end: u64) -> u64 {
        let ns = end.saturating_sub(self.last);
        self.list.push(Phase { name: Cow::Borrowed(name), ns });
        self.last += ns;
        ns
    }
}

/// How a node ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeVerdict {
    /// It did everything that was asked of it.
    Ok,
    /// It did not, and says why.
    Failed,
    /// It was there, and is gone.
    Dead,
    /// Nothing was to be done there.
    Skipped,
}

impl NodeVerdict {
    /// Its word in tables and results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Dead => "dead",
            Self::Skipped => "skipped",
        }
    }
}

/// How a node ended, and why.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NodeEnd {
    /// How it ended.
    pub verdict: NodeVerdict,
    /// Why it is not ok.
    pub reason: Option<String>,
}

impl NodeEnd {
    /// It is ok if there is no reason why not; else this word says how it ended.
    pub fn new(otherwise: NodeVerdict, reason: Option<String>) -> Self {
        Self { verdict: if reason.is_none() { NodeVerdict::Ok } else { otherwise }, reason }
    }

    /// Whether it did all that it was to do.
    pub fn is_ok(&self) -> bool {
        self.verdict == NodeVerdict::Ok
    }

    /// As the table of verdicts takes it, of the node `name`.
    pub fn of<'a>(&'a self, name: &'a str) -> (&'a str, Option<&'a str>, &'a str) {
        (self.verdict.as_str(), self.reason.as_deref(), name)
    }
}

/// Keeps a result object in its run's directory, and prints it: as JSON, or for people.
pub fn tell(run: &Run, json: bool, result: &(impl Serialize + Display)) -> Result<(), Failure> {
    run.keep("result.json", result)?;
    if json { print_json(result) } else { output::print(result) }
}

/// Prints a result object.
pub fn print_json(result: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(result).or_nothing("writing the result")?;
    output::print_json(&text)
}

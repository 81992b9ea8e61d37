//! The fields that all result objects have (`docs/results.md`), and the phases into which a
//! command's time is divided.

use std::borrow::Cow;
use std::fmt::Display;

use garland_state::run::{self, Run};
use garland_sys::{clock, process};
use garland_terminal::failure::{Failure, OrFailure};
use garland_terminal::output;
use serde::{Deserialize, Serialize};

use crate::limit::Limit;

/// The fields with which all result objects begin.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Head {
    /// The schema and its version, such as `garland.cp/2`.
    pub schema: Cow<'static, str>,
    /// The name of the run; `None` if the command stores no run.
    pub run: Option<String>,
    /// The arguments of the command line, the program first.
    #[serde(default)]
    command: Vec<String>,
    /// Nanoseconds from the start of the command to its end.
    pub elapsed_ns: u64,
    /// The phases in order; their durations sum to `elapsed_ns`.
    #[serde(default)]
    pub phases: Vec<Phase>,
    /// The maximum rate that the network allows; `None` if unknown, or if no file was copied.
    pub limit: Option<Limit>,
}

/// A phase of a command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Phase {
    /// The name of the phase, such as `set-up`.
    pub name: Cow<'static, str>,
    /// The duration of the phase in nanoseconds.
    pub ns: u64,
}

impl Head {
    /// Creates the fields for a result with the schema `schema` and the phases `phases`. `run` is
    /// the command's run, if the command stores one.
    pub fn new(schema: &'static str, run: Option<&Run>, phases: Phases) -> Self {
        Self {
            schema: Cow::Borrowed(schema),
            run: run.map(|run| run.name().to_owned()),
            command: run::own_words(),
            elapsed_ns: phases.list.iter().map(|phase| phase.ns).sum(),
            phases: phases.list,
            limit: None,
        }
    }

    /// Returns the fields without the command line, whose arguments may be secret, for a file that
    /// other users may read.
    #[must_use]
    pub fn for_others(self) -> Self {
        Self { command: Vec::new(), ..self }
    }
}

/// Records the phases of a command. There are no gaps: each phase begins when the previous one
/// ends.
pub struct Phases {
    /// When the last phase ended, in monotonic nanoseconds.
    last: u64,
    list: Vec<Phase>,
}

impl Phases {
    /// Begins the first phase at the start of the process.
    pub fn begin() -> Self {
        Self { last: process::start_ns(), list: Vec::new() }
    }

    /// Begins the first phase at the time of this call.
    pub fn since_now() -> Self {
        Self { last: clock::now_ns(), list: Vec::new() }
    }

    /// Returns whether a phase of this name has ended.
    pub fn has(&self, name: &str) -> bool {
        self.list.iter().any(|phase| phase.name == name)
    }

    /// Returns when the first phase began, in monotonic nanoseconds.
    pub fn began_ns(&self) -> u64 {
        self.last - self.list.iter().map(|phase| phase.ns).sum::<u64>()
    }

    /// Ends the current phase now and gives it the name `name`. Returns its duration in
    /// nanoseconds.
    pub fn end(&mut self, name: &'static str) -> u64 {
        self.end_at(name, clock::now_ns())
    }

    /// Ends the current phase at the monotonic time `end` and gives it the name `name`. If `end` is
    /// before the beginning of the phase, the duration is 0. Returns the duration in nanoseconds.
    pub fn end_at(&mut self, name: &'static str, end: u64) -> u64 {
        let ns = end.saturating_sub(self.last);
        self.list.push(Phase { name: Cow::Borrowed(name), ns });
        self.last += ns;
        ns
    }
}

/// The verdict on a node when a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NodeVerdict {
    /// The operation succeeded on the node.
    Ok,
    /// The operation failed on the node.
    Failed,
    /// The node's agent died or was lost.
    Dead,
    /// The node was lost while it committed: it is not known whether it did.
    Unknown,
    /// There was nothing to do on the node.
    Skipped,
}

impl NodeVerdict {
    /// Returns the word for the verdict in tables and results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Failed => "failed",
            Self::Dead => "dead",
            Self::Unknown => "unknown",
            Self::Skipped => "skipped",
        }
    }
}

/// The verdict on a node and its reason.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct NodeEnd {
    /// The verdict: ok, failed, dead, unknown or skipped.
    pub verdict: NodeVerdict,
    /// The reason for the verdict; `None` if the verdict is ok.
    pub reason: Option<String>,
}

impl NodeEnd {
    /// Creates the verdict ok if `reason` is `None`, else the verdict `otherwise` with this reason.
    pub fn new(otherwise: NodeVerdict, reason: Option<String>) -> Self {
        Self { verdict: if reason.is_none() { NodeVerdict::Ok } else { otherwise }, reason }
    }

    /// Returns whether the verdict is ok.
    pub fn is_ok(&self) -> bool {
        self.verdict == NodeVerdict::Ok
    }

    /// Returns the node's row for the table of verdicts: the verdict, the reason, and its name
    /// `name`.
    pub fn of<'a>(&'a self, name: &'a str) -> (&'a str, Option<&'a str>, &'a str) {
        (self.verdict.as_str(), self.reason.as_deref(), name)
    }
}

/// Writes a result object to the directory of its run, and prints it: as JSON if `json`, otherwise
/// as text.
pub fn tell(run: &Run, json: bool, result: &(impl Serialize + Display)) -> Result<(), Failure> {
    run.keep("result.json", result)?;
    show(json, result)
}

/// Prints a result object: as JSON if `json`, otherwise as text.
pub fn show(json: bool, result: &(impl Serialize + Display)) -> Result<(), Failure> {
    if json { print_json(result) } else { output::print(result) }
}

/// Prints an object as JSON.
pub fn print_json(result: &impl Serialize) -> Result<(), Failure> {
    let text = serde_json::to_string_pretty(result).or_nothing("cannot encode the result")?;
    output::print_json(&text)
}

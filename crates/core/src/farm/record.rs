//! What became of a job: the same from every engine.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Text;

/// What runs the jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// Processes of this machine.
    Local,
    /// Garland's agents, which take jobs as they get free.
    Agents,
    /// Slurm's job arrays.
    Slurm,
    /// GNU parallel over ssh.
    Parallel,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Local => "local",
            Self::Agents => "agents",
            Self::Slurm => "slurm",
            Self::Parallel => "parallel",
        })
    }
}

/// How a job's last try ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Its command ended with this code.
    Exit(i32),
    /// Its command was ended by this signal.
    Signal(i32),
    /// It ran longer than it may, and was killed.
    Timeout,
    /// Its node was lost, or its end is unknown.
    NodeLost,
    /// It couldn't be started, its files couldn't be brought or taken back, or no node may have it.
    Failed(String),
}

impl Outcome {
    /// Whether the job is done, with its results where they belong.
    pub fn is_done(&self) -> bool {
        *self == Self::Exit(0)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "killed by signal {signal}"),
            Self::Timeout => f.write_str("took too long"),
            Self::NodeLost => f.write_str("its node was lost"),
            Self::Failed(reason) => f.write_str(reason),
        }
    }
}

/// A job's record: its last try. Times are seconds since the run began, by the controller's clock; what
/// never happened is `None`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The job's number in the list, from 1.
    pub job: u32,
    /// What it is called in tables.
    pub name: Text,
    /// The node of its last try.
    pub node: Option<String>,
    /// What ran it.
    pub engine: Engine,
    /// The engine had it, and it waited for a node.
    pub queued: Option<f64>,
    /// Its inputs were at the node.
    pub staged_in: Option<f64>,
    /// Its command was started.
    pub started: Option<f64>,
    /// Its command ended.
    pub ended: Option<f64>,
    /// Its results were where they belong.
    pub staged_out: Option<f64>,
    /// How many times it was given to a node.
    pub tries: u32,
    /// How it ended.
    pub outcome: Outcome,
    /// CPU time of the command and all that it waited for, in seconds.
    pub cpu: Option<f64>,
    /// Its largest process's peak resident memory, in bytes.
    pub memory: Option<u64>,
    /// Bytes of its inputs: brought to the node, or as large as they were under a mount.
    pub bytes_in: u64,
    /// Bytes of its outputs.
    pub bytes_out: u64,
    /// Where it isn't done, the last lines of its standard error, a few; of its node's agent where that
    /// was lost and said something.
    #[serde(default)]
    pub last_words: Vec<Text>,
}

impl Record {
    /// How long its command ran, in seconds.
    pub fn ran(&self) -> Option<f64> {
        Some(self.ended? - self.started?)
    }
}

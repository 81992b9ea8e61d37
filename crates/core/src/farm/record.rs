//! The record of a job, in the same form from every engine.

use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use serde::{Deserialize, Serialize};

use super::Text;

/// The program that distributes and runs the jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// Processes on this machine.
    Local,
    /// Garland's agents, which take the next job when they are free.
    Agents,
    /// Slurm's job arrays.
    Slurm,
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Local => "local",
            Self::Agents => "agents",
            Self::Slurm => "slurm",
        })
    }
}

/// The result of a job's last attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The command exited with this code.
    Exit(i32),
    /// The command was killed by this signal.
    Signal(i32),
    /// The command exceeded its time limit and was killed.
    Timeout,
    /// The node was lost, or the result is unknown.
    #[default]
    NodeLost,
    /// The command could not be started, files could not be transferred, or no node fits the job,
    /// for this reason.
    Failed(String),
}

impl Outcome {
    /// Returns whether the job succeeded and its outputs are in place.
    pub fn is_done(&self) -> bool {
        *self == Self::Exit(0)
    }
}

impl From<ExitStatus> for Outcome {
    fn from(status: ExitStatus) -> Self {
        status.signal().map_or_else(|| Self::Exit(status.code().unwrap_or(-1)), Self::Signal)
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "killed by signal {signal}"),
            Self::Timeout => f.write_str("timed out"),
            Self::NodeLost => f.write_str("node lost"),
            Self::Failed(reason) => f.write_str(reason),
        }
    }
}

/// What became of a running job's work when the job was moved to another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MoveKind {
    /// The job went on from its checkpoint.
    Migrated,
    /// The job started over.
    Restart,
}

impl fmt::Display for MoveKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Migrated => "migrated",
            Self::Restart => "restart",
        })
    }
}

/// A move of a running job to another node. Times are in seconds, as those of [`Record`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Move {
    /// The number of the attempt that was moved, from 1.
    pub tries: u32,
    /// The node that the job left.
    pub from: String,
    /// The node to which the job was moved; `None` if no node was left for it.
    pub to: Option<String>,
    /// When the job's processes had ended on the node that it left.
    pub at: f64,
    /// Whether the job went on or started over.
    pub kind: MoveKind,
    /// When the job's command was started on the node that it left.
    pub started: f64,
    /// The CPU time of the job's processes on that node, in seconds.
    pub cpu: f64,
}

/// The record of a job's last attempt. If the job was moved, its values are those of the last node,
/// and those of the nodes before are in `moves`. Times are seconds since the start of the run, by
/// the controller's clock; `None` if the event did not happen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The job's number in the list, from 1.
    pub job: u32,
    /// The job's name in tables.
    pub name: Text,
    /// The node of the attempt; `None` if the job was assigned to no node.
    pub node: Option<String>,
    /// The engine that ran the job.
    pub engine: Engine,
    /// When the engine queued the job, in seconds since the start of the run.
    pub queued: Option<f64>,
    /// When the copy of the inputs to the node was ordered, in seconds since the start of the run.
    #[serde(default)]
    pub staging: Option<f64>,
    /// When all inputs had arrived on the node, in seconds since the start of the run.
    pub staged_in: Option<f64>,
    /// When the command was started, in seconds since the start of the run.
    pub started: Option<f64>,
    /// When the command ended or was killed, in seconds since the start of the run.
    pub ended: Option<f64>,
    /// When all outputs were in place, in seconds since the start of the run.
    pub staged_out: Option<f64>,
    /// The number of attempts, including this one.
    pub tries: u32,
    /// The result of the attempt.
    pub outcome: Outcome,
    /// CPU time of the command and all its child processes, in seconds.
    pub cpu: Option<f64>,
    /// Peak resident memory of the largest process, in bytes.
    pub memory: Option<u64>,
    /// Bytes of inputs that were transferred to the node; with a mount, the size of the inputs.
    pub bytes_in: u64,
    /// The size of the job's outputs in bytes.
    pub bytes_out: u64,
    /// For a job that failed: the last lines of its standard error, or of the agent's standard
    /// error if the node was lost.
    #[serde(default)]
    pub last_words: Vec<Text>,
    /// The moves of the running job to other nodes, in order, also those of earlier attempts.
    #[serde(default)]
    pub moves: Vec<Move>,
}

impl Record {
    /// Returns the run time of the command in seconds, on all nodes from which it migrated; `None`
    /// if it did not start or end.
    pub fn ran(&self) -> Option<f64> {
        let before: f64 = self.migrations().map(|one| one.at - one.started).sum();
        Some(self.ended? - self.started? + before)
    }

    /// Returns the CPU time of the command in seconds, on all nodes from which it migrated; `None`
    /// if it is unknown.
    pub fn worked(&self) -> Option<f64> {
        Some(self.cpu? + self.migrations().map(|one| one.cpu).sum::<f64>())
    }

    /// Returns the moves of this attempt since its command was last started from the beginning.
    pub fn migrations(&self) -> impl Iterator<Item = &Move> {
        let since = self.moves.rsplit(|one| one.kind == MoveKind::Restart).take(1).flatten();
        since.filter(|one| one.tries == self.tries)
    }
}

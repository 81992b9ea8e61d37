//! The result of one attempt at a job.

use garland_core::farm::{Engine, Job, Outcome, Record, Text, last_words};
use garland_core::printable;

use crate::farm::jobs::{CORES_MAX, TaskEnd};

/// The most bytes of a node's reason why a job failed. A run keeps the reasons of all its jobs.
const REASON_MAX: usize = 1024;

/// How much more CPU time a job may have had than its node has told by its times, in seconds of all
/// processors.
const CPU_MORE: f64 = 1.0;

/// The most bytes of memory, and of outputs, of a job of which a node tells.
const BYTES_MAX: u64 = 1 << 50;

/// The result of one attempt at a job. Times are in seconds since the run began; a value is `None`
/// if the attempt ended before it was known.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Try {
    /// How the attempt ended.
    pub outcome: Outcome,
    /// When the copy of the input files to the node was ordered.
    pub staging: Option<f64>,
    /// When the input files were present on the node.
    pub staged_in: Option<f64>,
    /// When the command was started.
    pub started: Option<f64>,
    /// When the command ended.
    pub ended: Option<f64>,
    /// When the output files were at their destination.
    pub staged_out: Option<f64>,
    /// The CPU time of the command in seconds.
    pub cpu: Option<f64>,
    /// The peak memory of the command in bytes.
    pub memory: Option<u64>,
    /// The total length of the input files in bytes.
    pub bytes_in: u64,
    /// The total length of the output files in bytes.
    pub bytes_out: u64,
    /// The last lines of the command's standard error, if the command failed.
    pub last_words: Vec<Text>,
}

impl Try {
    /// Creates the result of an attempt that did not run.
    pub fn failed(outcome: Outcome) -> Self {
        Self { outcome, ..Self::default() }
    }

    /// Creates the result of a command that has ended on a node. `seconds` converts a time in
    /// nanoseconds of the node's clock to seconds since the run began. Values that cannot be true
    /// are bounded: those of the other jobs are added to them.
    pub fn ended(end: TaskEnd, seconds: impl Fn(u64) -> f64) -> Self {
        let ended = seconds(end.ended_ns);
        let started = seconds(end.started_ns).min(ended);
        let cpu_max = (ended - started + CPU_MORE) * f64::from(CORES_MAX);
        Self {
            started: Some(started),
            ended: Some(ended),
            cpu: Some((end.cpu_ns as f64 / 1e9).min(cpu_max)),
            memory: Some(end.memory.min(BYTES_MAX)),
            bytes_out: end.bytes_out.min(BYTES_MAX),
            last_words: last_words::limited(end.last_words),
            ..Self::failed(match end.outcome {
                Outcome::Failed(reason) => failed(reason),
                ended => ended,
            })
        }
    }

    /// Returns the record of the job if this is its last attempt: number `tries`, on `node`, by
    /// `engine`. The job was queued at `queued`, in seconds since the run began.
    pub fn record(
        self,
        job: &Job,
        engine: Engine,
        node: Option<String>,
        queued: f64,
        tries: u32,
    ) -> Record {
        Record {
            job: job.number,
            name: job.name.clone(),
            node,
            engine,
            queued: Some(queued),
            staging: self.staging,
            staged_in: self.staged_in,
            started: self.started,
            ended: self.ended,
            staged_out: self.staged_out,
            tries,
            outcome: self.outcome,
            cpu: self.cpu,
            memory: self.memory,
            bytes_in: self.bytes_in,
            bytes_out: self.bytes_out,
            last_words: self.last_words,
            moves: Vec::new(),
        }
    }
}

/// Returns the outcome of a job that failed for the reason `why`, which a node may have told: its
/// beginning, as one line.
pub fn failed(why: String) -> Outcome {
    Outcome::Failed(shortened(printable::line(&why)))
}

/// Returns the beginning of a reason.
fn shortened(mut reason: String) -> String {
    reason.truncate(reason.floor_char_boundary(REASON_MAX));
    reason
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_is_one_line() {
        let Outcome::Failed(reason) = failed("boom\nok  n1\x1b[2J".to_owned()) else {
            panic!("not failed")
        };
        assert!(!reason.contains(['\n', '\x1b']) && reason.starts_with("boom"), "{reason}");
    }

    #[test]
    fn a_long_reason_is_cut_between_letters() {
        let Outcome::Failed(reason) = failed("ä".repeat(REASON_MAX)) else { panic!("not failed") };
        assert_eq!(reason, "ä".repeat(REASON_MAX / 2));
    }
}

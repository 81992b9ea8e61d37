//! The state of a job that is assigned to a node.

use garland_core::farm::staging::path_inside;
use garland_core::farm::{Outcome, Text};
use garland_protocol::dispatch::Try;
use garland_protocol::{OutputFile, TaskEnd};

/// A try of a job.
#[derive(Clone, Debug)]
pub struct RunningJob {
    /// The index of the node.
    pub node: usize,
    /// The number of the try, from 1.
    pub tries: u32,
    /// The time at which the job's inputs were staged, in seconds since the beginning of the run;
    /// `None` before, or if there is nothing to stage.
    pub staged_in: Option<f64>,
    /// The total length of the inputs in bytes.
    pub bytes_in: u64,
    /// How the command ended; `None` before its end.
    pub end: Option<TaskEnd>,
    /// The output files of the command, as its node described them.
    pub outputs: Vec<OutputFile>,
    /// The times of the command's start and end, in seconds since the beginning of the run; `None`
    /// before its end.
    pub ran: Option<(f64, f64)>,
}

impl RunningJob {
    /// Returns the state of a try that begins.
    pub fn new(node: usize, tries: u32) -> Self {
        let outputs = Vec::new();
        Self { node, tries, staged_in: None, bytes_in: 0, end: None, outputs, ran: None }
    }

    /// Returns the result of the try. Its outcome is that of the command, or `wrong` if another
    /// step failed.
    pub fn over(self, wrong: Option<Outcome>, staged_out: Option<f64>, bytes_out: u64) -> Try {
        let outcome = self.end.as_ref().map(|end| end.outcome.clone());
        let unknown = || Outcome::Failed("the end of its command is unknown".to_owned());
        Try {
            outcome: wrong.or(outcome).unwrap_or_else(unknown),
            staged_in: self.staged_in,
            started: self.ran.map(|(started, _)| started),
            ended: self.ran.map(|(_, ended)| ended),
            staged_out,
            cpu: self.end.as_ref().map(|end| end.cpu_ns as f64 / 1e9),
            memory: self.end.as_ref().map(|end| end.memory),
            bytes_in: self.bytes_in,
            bytes_out,
            last_words: self.end.map(|end| end.last_words).unwrap_or_default(),
        }
    }
}

/// Returns the subdirectories of a job's directory that files with these paths need, without
/// duplicates.
pub fn directories(paths: &[&Text]) -> Vec<Text> {
    let directory = |path: &Text| {
        let path = path_inside(path);
        let at = path.bytes().iter().rposition(|&byte| byte == b'/')?;
        Some(Text::from(&path.bytes()[..at]))
    };
    let mut all: Vec<Text> = paths.iter().filter_map(|path| directory(path)).collect();
    all.sort_unstable();
    all.dedup();
    all
}

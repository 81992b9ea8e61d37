//! The state of a job that is assigned to a node.

use garland_core::farm::staging::path_inside;
use garland_core::farm::{Job, Text};

use super::transfer::Direction;
use super::tried::{self, Try};
use super::work::CpuUse;
use crate::farm::jobs::{OutputFile, Task};

/// The step of a job on its node. A message about the job counts only in its step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobStep {
    /// The node creates the directories of the job's files.
    Make,
    /// The job's files are transferred in this direction.
    Stage(Direction),
    /// The job waits on the node for free processors, or runs.
    Run,
    /// The job was ordered to leave the node.
    Leave,
}

/// A try of a job on a node.
#[derive(Clone, Debug)]
pub struct RunningJob {
    /// The index of the node.
    pub node: usize,
    /// The number of the try, from 1.
    pub tries: u32,
    /// The present step.
    pub step: JobStep,
    /// The output files of the command, or its state files, as its node described them.
    pub outputs: Vec<OutputFile>,
    /// Whether the output of the command was reported, which comes once, before the end.
    pub has_output: bool,
    /// The result of the try, as far as it is known.
    pub tried: Try,
    /// The CPU time of the job so far.
    pub cpu: CpuUse,
    /// Whether the job has a checkpoint.
    pub saves: bool,
    /// The files of the checkpoint that are copied if the job moves.
    pub state: Vec<Text>,
    /// The index of the node to which the job is about to move.
    pub target: Option<usize>,
    /// Whether the job's checkpoint has failed, so that it stays.
    pub stays: bool,
    /// Whether the node was asked to return the job.
    pub is_recalled: bool,
    /// The number of processors that the job requests.
    pub cores: u32,
    /// The time limit of the command in nanoseconds.
    pub limit_ns: Option<u64>,
    /// The place of the job among those that were sent to be run; `None` before it is sent.
    pub sent: Option<u64>,
    /// How long the node had enough processors for the job, in nanoseconds.
    pub ran_ns: u64,
    /// How long the node has not answered the order of this step, in nanoseconds.
    pub unanswered_ns: u64,
}

impl RunningJob {
    /// Creates the state of a try with this number, which begins with `step`. `before` is the CPU
    /// time of the work that earlier nodes have saved, in seconds.
    pub fn new(node: usize, tries: u32, step: JobStep, task: &Task, before: f64) -> Self {
        Self {
            node,
            tries,
            step,
            outputs: Vec::new(),
            has_output: false,
            tried: Try::default(),
            cpu: CpuUse::new(before),
            saves: task.checkpoint.is_some(),
            state: task.state.clone(),
            target: None,
            stays: false,
            is_recalled: false,
            cores: task.cores,
            limit_ns: task.timeout_ns,
            sent: None,
            ran_ns: 0,
            unanswered_ns: 0,
        }
    }

    /// Returns the place of the job among those that its node has to run, unless the command has
    /// ended.
    pub fn place(&self) -> Option<u64> {
        self.sent.filter(|_| matches!(self.step, JobStep::Run | JobStep::Leave))
    }

    /// Sets the result of the command, which has ended.
    pub fn ended(&mut self, ended: Try) {
        let Try { staging, staged_in, bytes_in, .. } = self.tried;
        self.tried = Try { staging, staged_in, bytes_in, ..ended };
    }

    /// Returns the result of the try, which failed for the reason `why` in a step other than the
    /// command.
    pub fn failed(self, why: String) -> Try {
        Try { outcome: tried::failed(why), bytes_out: 0, ..self.tried }
    }
}

/// Returns the subdirectories of a job's directory that its files need, without duplicates. `state`
/// are the job's state files.
pub fn directories(job: &Job, state: &[Text]) -> Vec<Text> {
    let directory = |path: &Text| {
        let path = path_inside(path);
        let at = path.bytes().iter().rposition(|&byte| byte == b'/')?;
        Some(Text::from(&path.bytes()[..at]))
    };
    let names = job.inputs.iter().chain(&job.outputs).chain(state);
    let mut all: Vec<Text> = names.filter_map(directory).collect();
    all.sort_unstable();
    all.dedup();
    all
}

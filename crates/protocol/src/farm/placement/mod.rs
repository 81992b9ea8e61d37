//! Placement: the choice of the node for a job by Garland's own engine.

mod mosix;
mod pull;
mod turns;

use garland_core::farm::Job;

pub use mosix::Mosix;
pub use pull::Pull;
pub use turns::Turns;

/// The state of a node when a job is placed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidate {
    /// The name of the node.
    pub name: String,
    /// Whether the node takes jobs: its agent answers, and the node is not excluded.
    pub is_alive: bool,
    /// The number of processors that jobs may use.
    pub cores: u32,
    /// The speed of one processor relative to the fastest node's; 1 if unknown.
    pub speed: f64,
    /// The number of processors that jobs of this run use, including jobs that have not started
    /// yet.
    pub busy: u32,
    /// The number of jobs that wait on the node for free processors.
    pub waiting: u32,
    /// The node's load from other work than this run, in runnable processes; `None` if unknown.
    pub load: Option<f64>,
    /// The node's memory in bytes; `None` if unknown.
    pub memory: Option<u64>,
    /// The memory that was free before the run, minus the requests of the node's jobs, in bytes;
    /// `None` if unknown.
    pub memory_free: Option<u64>,
}

impl Candidate {
    /// Whether the node could ever run the job.
    pub fn can_hold(&self, job: &Job) -> bool {
        job.cores <= self.cores && self.memory.is_none_or(|memory| job.fits_in(memory))
    }

    /// Whether the memory that the job requests is free, or the free memory is unknown.
    pub fn has_memory(&self, job: &Job) -> bool {
        self.memory_free.is_none_or(|free| job.fits_in(free))
    }

    /// Whether the node has room for the job now.
    pub fn has_room(&self, job: &Job) -> bool {
        let is_free = self.busy + job.cores <= self.cores && self.has_memory(job);
        self.is_alive && self.can_hold(job) && is_free
    }
}

/// Chooses nodes for jobs, one at a time.
pub trait Placement: Send {
    /// Returns the index of the node for a job. `None`: the job waits until another job has ended,
    /// or a node was added or lost.
    ///
    /// A job may go to a node without room for it, where it waits.
    fn choose(&mut self, asked: &PlacementRequest<'_>) -> Option<usize>;

    /// Whether jobs may move between nodes: then nodes get some short jobs in advance, and return
    /// them when other nodes are idle.
    fn may_move(&self) -> bool {
        false
    }
}

/// A request to a [`Placement`].
#[derive(Clone, Copy, Debug)]
pub struct PlacementRequest<'a> {
    /// The job to place.
    pub job: &'a Job,
    /// All nodes of the run.
    pub nodes: &'a [Candidate],
    /// Seconds since the run began.
    pub now: f64,
    /// Whether jobs start without waiting for processors.
    pub at_once: bool,
    /// Indexes of nodes to avoid: nodes on which the job has failed (none if it has failed on all),
    /// and nodes without enough free memory if others have enough.
    pub avoid: &'a [usize],
}

impl PlacementRequest<'_> {
    /// Whether the job may go to the node with index `at`, now or later.
    pub fn may_have(&self, at: usize) -> bool {
        let node = &self.nodes[at];
        node.is_alive && node.can_hold(self.job) && !self.avoid.contains(&at)
    }
}

#[cfg(test)]
mod tests_of {
    use garland_core::farm::{Command, Text};

    use super::*;

    pub(super) fn job_of(cores: u32) -> Job {
        let name = Text::from("true");
        Job { cores, ..Job::new(1, name.clone(), Command::Words(vec![name])) }
    }

    pub(super) fn node(cores: u32, busy: u32) -> Candidate {
        let name = "n".to_owned();
        Candidate { name, is_alive: true, cores, speed: 1.0, busy, ..Candidate::default() }
    }
}

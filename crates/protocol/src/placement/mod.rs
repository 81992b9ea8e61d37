//! Which node a job goes to, when the engine is Garland's own.

mod mosix;
mod pull;
mod turns;

use garland_core::farm::Job;

pub use mosix::Mosix;
pub use pull::Pull;
pub use turns::Turns;

/// What is known of a node when a job is placed.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its name.
    pub name: String,
    /// Whether it takes jobs: it answers, and isn't being left out.
    pub is_alive: bool,
    /// Its processors, or as many as jobs may have.
    pub cores: u32,
    /// The speed of one of them relative to the quickest node's; 1 if unknown.
    pub speed: f64,
    /// Processors that jobs of this run have there, jobs on their way included.
    pub busy: u32,
    /// Jobs that wait there.
    pub waiting: u32,
    /// Its load without this run, in runnable processes; `None` if unknown.
    pub load: Option<f64>,
    /// Its memory in bytes; `None` if unknown.
    pub memory: Option<u64>,
    /// The memory that was free before the run, less the requests of its jobs there, in bytes; `None`
    /// if unknown.
    pub memory_free: Option<u64>,
}

impl Candidate {
    /// Whether the job could ever run there.
    pub fn can_hold(&self, job: &Job) -> bool {
        job.cores <= self.cores && self.memory.is_none_or(|memory| job.fits_in(memory))
    }

    /// Whether the job's memory is free.
    pub fn has_memory(&self, job: &Job) -> bool {
        self.memory_free.is_none_or(|free| job.fits_in(free))
    }

    /// Whether there is room for the job now.
    pub fn has_room(&self, job: &Job) -> bool {
        let is_free = self.busy + job.cores <= self.cores && self.has_memory(job);
        self.is_alive && self.can_hold(job) && is_free
    }
}

/// Chooses nodes for jobs, one at a time.
pub trait Placement: Send {
    /// The index of the node for a job at `now` seconds since the run began. `None`: the job waits until
    /// another one has ended, or a node was added or lost.
    ///
    /// A job may go to a node without room for it, where it waits.
    fn choose(&mut self, asked: &PlacementRequest<'_>) -> Option<usize>;

    /// Whether jobs may move between nodes: then nodes get some short jobs in advance, and return them to
    /// idle ones.
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
    /// Places where it has failed before; none of them when nothing else is left.
    pub avoid: &'a [usize],
}

impl PlacementRequest<'_> {
    /// Whether the job may go to the node at `at`, sooner or later.
    pub fn may_have(&self, at: usize) -> bool {
        let node = &self.nodes[at];
        node.is_alive && node.can_hold(self.job) && !self.avoid.contains(&at)
    }
}

#[cfg(test)]
mod tests_of {
    use super::*;
    use garland_core::farm::{Command, Text};

    pub(super) fn job(cores: u32) -> Job {
        let name = Text::from("true");
        Job { cores, ..Job::new(1, name.clone(), Command::Words(vec![name])) }
    }

    pub(super) fn node(cores: u32, busy: u32) -> Candidate {
        Candidate {
            name: "n".to_owned(),
            is_alive: true,
            cores,
            speed: 1.0,
            busy,
            waiting: 0,
            load: None,
            memory: None,
            memory_free: None,
        }
    }
}

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
    /// How quick one of them is compared with the quickest node's; 1 unless it is known.
    pub speed: f64,
    /// Processors that jobs of this run have there, or will have, which are on their way.
    pub busy: u32,
    /// Jobs that wait there for their turn.
    pub waiting: u32,
    /// Its load besides this run, in processes that want a processor; `None` unless it tells.
    pub load: Option<f64>,
    /// Its memory in bytes; `None` unless it tells.
    pub memory: Option<u64>,
    /// The memory that was free before the run, less the requests of its jobs there, in bytes; `None`
    /// unless it tells.
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
    /// The place in `nodes` that `job` goes to, at `now` seconds since the run began; `None`: it waits
    /// until a job has ended or a node has come or gone.
    ///
    /// Whether a job may go to a node without room for it, where it waits.
    fn choose(&mut self, asked: &PlacementRequest<'_>) -> Option<usize>;

    /// Whether jobs belong to no node in particular: then nodes are handed some ahead when jobs are
    /// short, and give them back to those that have none.
    fn may_move(&self) -> bool {
        false
    }
}

/// A question to a [`Placement`].
#[derive(Clone, Copy, Debug)]
pub struct PlacementRequest<'a> {
    /// The job that wants a node.
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

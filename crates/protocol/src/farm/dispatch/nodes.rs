//! The jobs of a node, as the dispatcher knows them.

use std::collections::VecDeque;

use garland_core::farm::Job;

use crate::farm::placement::Candidate;

/// The amount of work that a node gets in advance if no files are copied, in seconds of all its
/// processors: more than the latency of an order.
const AHEAD: f64 = 0.1;

/// The amount of work that a node gets in advance if files are copied before and after each job, in
/// seconds of all its processors: more than the time of two copies. Jobs that wait together share a
/// copy, so more waiting jobs need fewer copies.
const AHEAD_STAGED: f64 = 1.0;

/// The maximum number of jobs that a node gets in advance.
const AHEAD_MAX: usize = 256;

/// The time in seconds after which jobs that wait on a node are recalled if other nodes are idle.
const STUCK: f64 = 0.2;

/// The number of processors that a node may use at once, whatever the other nodes have: no more are
/// in usual machines, and the largest node of a small farm must not wait for its second round of
/// jobs.
const FIRST_CORES: u32 = 512;

/// By how many times the processors of a node that exceed those of a typical node are believed.
const BELIEVED_TIMES: u32 = 16;

/// By how many processors the portion of a node grows with each processor that a job has given
/// back.
const GROWTH: u32 = 2;

/// A job that a node has or will be sent, and the resources that the job requests.
#[derive(Clone, Copy, Debug)]
struct Held {
    job: usize,
    cores: u32,
    /// The memory that the job requests, in bytes.
    memory: u64,
}

/// A node and its jobs.
#[derive(Default)]
pub struct Node {
    /// The state of the node for placement; its `memory_free` is the memory that was free before
    /// the run.
    pub sight: Candidate,
    /// The number of processors that jobs may use there at present. It grows as jobs end, up to
    /// those that the node says to have: one that says too much does not get most of the jobs, to
    /// keep them.
    portion: u32,
    /// Jobs that are assigned to the node, but not sent yet.
    assigned: VecDeque<Held>,
    /// Jobs that the node has, in the order in which they were sent.
    given: VecDeque<Held>,
    /// The number of cores that `given` requests.
    cores_given: u32,
    /// The memory that `given` requests, in bytes.
    memory_given: u64,
    /// Jobs whose commands have ended on the node and whose results are being fetched.
    ended: Vec<usize>,
    /// The moving average of the duration of jobs on this node, in seconds.
    mean: Option<f64>,
    /// When jobs began to wait on the node for others to end, in seconds since the run began;
    /// `None` if all its jobs may be running.
    waiting_since: Option<f64>,
    /// Whether the node starts all jobs immediately, without waiting for free processors.
    at_once: bool,
}

impl Node {
    /// Creates a node without jobs, which may use `first` processors until some have ended.
    pub fn new(sight: Candidate, first: u32, at_once: bool) -> Self {
        let portion = first.min(sight.cores);
        Self { sight, portion, at_once, ..Self::default() }
    }

    /// Returns the number of jobs that the node may have in addition to the running ones.
    fn ahead(&self, staged: bool) -> usize {
        let cores = self.portion.max(1) as usize;
        let seconds = if staged { AHEAD_STAGED } else { AHEAD };
        let short = self.mean.map_or(0.0, |mean| seconds * cores as f64 / mean.max(1e-6));
        let files = if staged { cores } else { 0 };
        (short as usize).min(AHEAD_MAX).max(files)
    }

    /// Returns the node as a placement sees it. If jobs may move (`moves`), the node looks less
    /// busy by the number of jobs that it may get in advance: at most `most`, or one per processor
    /// if that is more and files are `staged`.
    pub fn seen(&self, moves: bool, most: usize, staged: bool) -> Candidate {
        let cores = self.cores_given + self.assigned.iter().map(|held| held.cores).sum::<u32>();
        let running = cores.min(self.portion);
        let files = if staged { self.portion as usize } else { 0 };
        let ahead = self.ahead(staged).min(most.max(files));
        let busy = match moves {
            true => cores.saturating_sub(u32::try_from(ahead).unwrap_or(u32::MAX)),
            false => running,
        };
        let asked = self.asked();
        let memory_free = self.sight.memory_free.map(|free| free.saturating_sub(asked));
        let waiting = cores - running;
        Candidate { cores: self.portion, busy, waiting, memory_free, ..self.sight.clone() }
    }

    /// Whether the node had enough memory for the job before the run.
    pub fn has_memory(&self, wanted: &Job) -> bool {
        self.sight.memory_free.is_none_or(|free| wanted.fits_in(free))
    }

    /// Returns the memory that the node's jobs request, in bytes.
    pub fn asked(&self) -> u64 {
        let more = self.assigned.iter().map(|held| held.memory);
        more.fold(self.memory_given, u64::saturating_add)
    }

    /// Assigns a job to the node.
    pub fn assign(&mut self, job: usize, wanted: &Job) {
        let cores = wanted.cores;
        let memory = wanted.memory.unwrap_or(0);
        self.assigned.push_back(Held { job, cores, memory });
    }

    /// Removes and returns the next job to send to the node, if it should get one now.
    pub fn next(&mut self, staged: bool) -> Option<usize> {
        let &held = self.assigned.front()?;
        let room = self.portion.saturating_add(u32::try_from(self.ahead(staged)).ok()?);
        let is_busy = !self.at_once && self.cores_given + held.cores > room;
        // Memory is never assigned twice: a node that runs out of memory pages, or kills jobs.
        let left = self.sight.memory_free.map(|free| free.saturating_sub(self.memory_given));
        let is_full = left.is_some_and(|left| held.memory > left);
        if (is_busy || is_full) && !self.given.is_empty() {
            return None;
        }
        self.assigned.pop_front();
        self.given.push_back(held);
        self.cores_given += held.cores;
        self.memory_given = self.memory_given.saturating_add(held.memory);
        Some(held.job)
    }

    /// Notes that the command of a job ended after `took` seconds, so its processors are free. The
    /// node keeps the job until its results are fetched.
    pub fn ended(&mut self, job: usize, took: f64) {
        self.freed(job, Some(took));
        self.ended.push(job);
    }

    /// Removes a job; `took` is its duration in seconds, if it ran.
    pub fn freed(&mut self, job: usize, took: Option<f64>) {
        self.ended.retain(|&ended| ended != job);
        self.assigned.retain(|held| held.job != job);
        if let Some(at) = self.given.iter().position(|held| held.job == job)
            && let Some(held) = self.given.remove(at)
        {
            self.cores_given -= held.cores;
            self.memory_given = self.memory_given.saturating_sub(held.memory);
            self.waiting_since = None;
            if took.is_some() {
                let grown = self.portion.saturating_add(held.cores.saturating_mul(GROWTH));
                self.portion = grown.min(self.sight.cores);
            }
        }
        if let Some(took) = took.filter(|took| took.is_finite()) {
            self.mean = Some(self.mean.map_or(took, |mean| mean + (took - mean) / 8.0));
        }
    }

    /// Marks the node as lost. Returns the jobs that it may have started, and those that it cannot
    /// have started.
    pub fn lose(&mut self) -> (Vec<usize>, Vec<usize>) {
        self.sight.is_alive = false;
        let begun = self.running();
        let mut jobs = std::mem::take(&mut self.given).into_iter().map(|held| held.job);
        (self.cores_given, self.memory_given) = (0, 0);
        let ended = std::mem::take(&mut self.ended).into_iter();
        let begun: Vec<usize> = ended.chain(jobs.by_ref().take(begun)).collect();
        let given: Vec<usize> = jobs.collect();
        let assigned = std::mem::take(&mut self.assigned).into_iter().map(|held| held.job);
        (begun, given.into_iter().chain(assigned).collect())
    }

    /// Returns how many of the node's jobs may be running; the node starts jobs in order.
    fn running(&self) -> usize {
        if self.at_once {
            return self.given.len();
        }
        let mut cores = 0;
        let fits = |held: &&Held| {
            cores += held.cores;
            cores <= self.sight.cores
        };
        self.given.iter().take_while(fits).count().max(1)
    }

    /// Whether the node could start a job now.
    pub fn is_idle(&self) -> bool {
        self.sight.is_alive && self.assigned.is_empty() && self.cores_given < self.portion
    }

    /// Whether the node has jobs that cannot be running, or will be sent some.
    pub fn has_waiting(&self) -> bool {
        !self.assigned.is_empty() || self.given.len() > self.running()
    }

    /// Returns the number of processors that are free for the job now; `None` if there are not
    /// enough, or too little memory.
    pub fn room(&self, wanted: &Job) -> Option<u32> {
        let used = self.cores_given + self.assigned.iter().map(|held| held.cores).sum::<u32>();
        let free = self.portion.saturating_sub(used);
        let has_memory = self
            .sight
            .memory_free
            .is_none_or(|free| wanted.fits_in(free.saturating_sub(self.asked())));
        let has_room = self.sight.is_alive && self.sight.can_hold(wanted) && has_memory;
        (has_room && wanted.cores <= free).then_some(free)
    }

    /// Returns the jobs that wait on the node, if jobs have waited there for `STUCK` seconds; then
    /// the time starts again.
    pub fn stuck(&mut self, now: f64) -> Vec<usize> {
        let running = self.running();
        if self.given.len() <= running {
            self.waiting_since = None;
            return Vec::new();
        }
        let since = *self.waiting_since.get_or_insert(now);
        if now - since < STUCK {
            return Vec::new();
        }
        self.waiting_since = None;
        self.given.iter().skip(running).map(|held| held.job).collect()
    }
}

/// Returns how many processors each of `nodes` may use before jobs have ended there: as many as all
/// others together, or [`FIRST_CORES`], or as the largest job wants (`largest`). Of the others,
/// those that exceed a typical node [`BELIEVED_TIMES`] do not count for more.
pub fn first_portions(nodes: &[Candidate], largest: u32) -> Vec<u32> {
    let alive = |node: &&Candidate| node.is_alive;
    let mut cores: Vec<u32> = nodes.iter().filter(alive).map(|node| node.cores).collect();
    cores.sort_unstable();
    // There is nobody to take jobs from.
    let Some(&typical) = cores.get(cores.len() / 2).filter(|_| cores.len() > 1) else {
        return vec![u32::MAX; nodes.len()];
    };
    let believed = |cores: u32| cores.min(typical.saturating_mul(BELIEVED_TIMES));
    let all = cores.iter().fold(0_u32, |sum, cores| sum.saturating_add(believed(*cores)));
    let first =
        |node: &Candidate| (all - believed(node.cores).min(all)).max(FIRST_CORES).max(largest);
    nodes.iter().map(first).collect()
}

#[cfg(test)]
impl Node {
    /// The jobs that the node has.
    pub fn given_jobs(&self) -> Vec<usize> {
        self.given.iter().map(|held| held.job).collect()
    }
}

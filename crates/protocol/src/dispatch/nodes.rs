//! What a node has in hand.

use std::collections::VecDeque;

use crate::placement::Candidate;
use garland_core::farm::Job;

/// Work that a node is handed ahead, in seconds of all its processors: more than an order takes to get
/// there.
const AHEAD: f64 = 0.1;

/// Jobs that it is handed ahead at most.
const AHEAD_MAX: usize = 256;

/// The time in seconds after which waiting jobs are requested back if other nodes are idle.
const STUCK: f64 = 0.2;

/// A job that a node has, or will have, and what it takes there.
#[derive(Clone, Copy, Debug)]
struct Held {
    job: usize,
    cores: u32,
    /// Bytes that it has asked for.
    memory: u64,
}

/// A node and its jobs.
pub struct Node {
    /// What is known of it; its free memory is that before the run.
    pub sight: Candidate,
    /// Jobs that are to go there.
    assigned: VecDeque<Held>,
    /// Jobs that are there, in the order in which they were given.
    given: VecDeque<Held>,
    /// Cores of those.
    cores_given: u32,
    /// Memory that those have asked for, in bytes.
    memory_given: u64,
    /// Jobs whose commands have ended there and whose results are being fetched.
    ended: Vec<usize>,
    /// How long jobs took here of late, in seconds.
    mean: Option<f64>,
    /// Since when jobs that it has can't be running.
    waiting_since: Option<f64>,
    /// It starts all that it is given, room or none.
    at_once: bool,
}

impl Node {
    pub fn new(sight: Candidate, at_once: bool) -> Self {
        let (assigned, given) = (VecDeque::new(), VecDeque::new());
        Self {
            sight,
            assigned,
            given,
            cores_given: 0,
            memory_given: 0,
            ended: Vec::new(),
            mean: None,
            waiting_since: None,
            at_once,
        }
    }

    /// How many jobs it may have besides those that run.
    fn ahead(&self, staged: bool) -> usize {
        let cores = self.sight.cores.max(1) as usize;
        let short = self.mean.map_or(0.0, |mean| AHEAD * cores as f64 / mean.max(1e-6));
        let files = if staged { cores } else { 0 };
        (short as usize).min(AHEAD_MAX).max(files)
    }

    /// What a placement sees of it. Jobs that may `move` count as its own only beyond what it is handed
    /// ahead, which is at most `most`.
    pub fn seen(&self, moves: bool, most: usize, staged: bool) -> Candidate {
        let cores = self.cores_given + self.assigned.iter().map(|held| held.cores).sum::<u32>();
        let running = cores.min(self.sight.cores);
        let files = if staged { self.sight.cores as usize } else { 0 };
        let ahead = self.ahead(staged).min(most.max(files));
        let busy = match moves {
            true => cores.saturating_sub(u32::try_from(ahead).unwrap_or(u32::MAX)),
            false => running,
        };
        let asked = self.asked();
        let memory_free = self.sight.memory_free.map(|free| free.saturating_sub(asked));
        Candidate { busy, waiting: cores - running, memory_free, ..self.sight.clone() }
    }

    /// Whether it had the memory that a job wants before the run.
    pub fn has_memory(&self, wanted: &Job) -> bool {
        self.sight.memory_free.is_none_or(|free| wanted.fits_in(free))
    }

    /// Memory that its jobs have asked for, in bytes.
    pub fn asked(&self) -> u64 {
        let more = self.assigned.iter().map(|held| held.memory);
        more.fold(self.memory_given, u64::saturating_add)
    }

    /// A job is to go there.
    pub fn assign(&mut self, job: usize, wanted: &Job) {
        let (cores, memory) = (wanted.cores, wanted.memory.unwrap_or(0));
        self.assigned.push_back(Held { job, cores, memory });
    }

    /// The next job to give it, if it should have one now.
    pub fn next(&mut self, staged: bool) -> Option<usize> {
        let &held = self.assigned.front()?;
        let room = self.sight.cores.saturating_add(u32::try_from(self.ahead(staged)).ok()?);
        let is_busy = !self.at_once && self.cores_given + held.cores > room;
        // Memory is never handed out twice: what jobs take beyond it, the node pages or kills.
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

    /// The job's command has ended after so many seconds: its processors are free. The node keeps the job
    /// until its results are fetched.
    pub fn ended(&mut self, job: usize, took: f64) {
        self.freed(job, Some(took));
        self.ended.push(job);
    }

    /// Removes a job; it took this many seconds if it ran.
    pub fn freed(&mut self, job: usize, took: Option<f64>) {
        self.ended.retain(|&ended| ended != job);
        self.assigned.retain(|held| held.job != job);
        if let Some(at) = self.given.iter().position(|held| held.job == job)
            && let Some(held) = self.given.remove(at)
        {
            self.cores_given -= held.cores;
            self.memory_given = self.memory_given.saturating_sub(held.memory);
            self.waiting_since = None;
        }
        if let Some(took) = took.filter(|took| took.is_finite()) {
            self.mean = Some(self.mean.map_or(took, |mean| mean + (took - mean) / 8.0));
        }
    }

    /// It is gone: the jobs that it may have begun, and those that it can't have.
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

    /// How many of its jobs may be running: it starts them in their order.
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

    /// Whether it could begin a job now.
    pub fn is_idle(&self) -> bool {
        self.sight.is_alive && self.assigned.is_empty() && self.cores_given < self.sight.cores
    }

    /// Jobs that it has had for too long without being able to start them; each is returned once.
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

#[cfg(test)]
impl Node {
    /// The jobs that are there.
    pub fn given_jobs(&self) -> Vec<usize> {
        self.given.iter().map(|held| held.job).collect()
    }
}

//! The dispatcher of Garland's own farm engine: a state machine without I/O that decides which node
//! gets which job, and when.

use std::collections::VecDeque;

use garland_core::farm::{Engine, Job, Move, MoveKind, Outcome, Record};

use super::nodes::{Node, first_portions};
use super::tried::{self, Try};
use super::tries::Tries;
use crate::farm::placement::{Candidate, Placement, PlacementRequest};

/// The number of queued jobs that are considered if no node can run the first one.
const LOOK_PAST: usize = 64;

/// How often a job goes to another node without using up a try because its node did not answer
/// while its files were copied there.
const STRANDED_MAX: u32 = 3;

/// The rules of dispatching.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// How often a job is tried.
    pub tries: Tries,
    /// Whether jobs start immediately, without waiting for free processors.
    pub at_once: bool,
    /// Whether input files are copied to the node before a job, and output files back after it.
    pub staged: bool,
    /// The name of the engine for the records.
    pub engine: Engine,
}

/// An order of the dispatcher to its driver.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Send a job to a node.
    Give {
        /// The index of the node.
        node: usize,
        /// The index of the job.
        job: usize,
    },
    /// Ask a node to return the jobs of this list that it has not started.
    Recall {
        /// The index of the node.
        node: usize,
        /// The indexes of the jobs.
        jobs: Vec<usize>,
    },
    /// A job is over; this is its record.
    Over(Box<Record>),
}

/// The attempts at a job so far.
#[derive(Clone, Debug, Default)]
struct Tally {
    /// The number of times that the job was sent to a node.
    tries: u32,
    /// The node that has the job.
    node: Option<usize>,
    /// How often a node did not answer before it had the files of the job.
    stranded: u32,
    /// The nodes on which the job has failed.
    failed_at: Vec<usize>,
    /// When the job entered the queue, in seconds since the run began.
    queued: f64,
    /// The moves of the job while it ran.
    moves: Vec<Move>,
    /// Whether the job has moved in its present try.
    has_moved: bool,
    /// The CPU time of the work that the job's checkpoint has saved, in seconds; `None` if the job
    /// starts from its beginning.
    saved: Option<f64>,
}

/// The dispatcher of a run.
pub struct Dispatcher {
    jobs: Vec<Job>,
    tallies: Vec<Tally>,
    nodes: Vec<Node>,
    /// The indexes of the jobs that have no node.
    queue: VecDeque<usize>,
    placement: Box<dyn Placement>,
    rules: Rules,
    /// The number of jobs that are not over.
    open: usize,
    over: Vec<Record>,
}

impl Dispatcher {
    /// Creates a dispatcher for `jobs` on `nodes`.
    pub fn new(
        jobs: Vec<Job>,
        nodes: Vec<Candidate>,
        placement: Box<dyn Placement>,
        rules: Rules,
    ) -> Self {
        let open = jobs.len();
        let queue = (0..jobs.len()).collect();
        let tallies = vec![Tally::default(); open];
        let all = Vec::new();
        let over = Vec::new();
        let mut dispatcher =
            Self { jobs, tallies, nodes: all, queue, placement, rules, open, over };
        dispatcher.add_nodes(nodes);
        dispatcher
    }

    /// Adds nodes, which get the next indexes. Nodes that are not alive now stay unused.
    pub fn add_nodes(&mut self, nodes: Vec<Candidate>) {
        let at_once = self.rules.at_once;
        let largest = self.jobs.iter().map(|job| job.cores).max().unwrap_or(0);
        let firsts = first_portions(&nodes, largest);
        let node = |(sight, first)| Node::new(sight, first, at_once);
        self.nodes.extend(nodes.into_iter().zip(firsts).map(node));
    }

    /// Returns all jobs, in the order of their indexes.
    pub fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    /// Returns the number of jobs that are not over.
    pub fn open(&self) -> usize {
        self.open
    }

    /// Returns whether all jobs are over, and [`Self::steps`] has returned their records.
    pub fn is_over(&self) -> bool {
        self.open == 0 && self.over.is_empty()
    }

    /// Returns how often a job has been sent to a node.
    pub fn tries(&self, job: usize) -> u32 {
        self.tallies[job].tries
    }

    /// Returns the CPU time of the work that a job's checkpoint has saved, in seconds; `None` if
    /// the job starts from its beginning.
    pub fn saved(&self, job: usize) -> Option<f64> {
        self.tallies[job].saved
    }

    /// Returns how often a job was moved while it ran.
    pub fn moves(&self, job: usize) -> usize {
        self.tallies[job].moves.len()
    }

    /// Whether jobs wait for a node, or for other jobs on their node.
    pub fn has_waiting(&self) -> bool {
        !self.queue.is_empty() || self.nodes.iter().any(Node::has_waiting)
    }

    /// Returns the nodes that could start a job now, each with the number of free processors;
    /// without those on which the job has failed.
    pub fn room_for(&self, job: usize) -> Vec<(usize, u32)> {
        let wanted = &self.jobs[job];
        let failed = &self.tallies[job].failed_at;
        let nodes = self.nodes.iter().enumerate().filter(|(at, _)| !failed.contains(at));
        nodes.filter_map(|(at, node)| Some((at, node.room(wanted)?))).collect()
    }

    /// Notes that a running job has left its node for the node `target`; `left` has all but the
    /// new node. If the target cannot start the job now, the job is queued first. This uses up no
    /// try.
    pub fn left(&mut self, node: usize, job: usize, target: Option<usize>, left: Move) {
        if self.tallies[job].node != Some(node) {
            return;
        }
        self.nodes[node].freed(job, None);
        let tally = &mut self.tallies[job];
        tally.saved = match left.kind {
            MoveKind::Migrated => Some(tally.saved.unwrap_or(0.0) + left.cpu),
            MoveKind::Restart => None,
        };
        tally.moves.push(left);
        tally.has_moved = true;
        self.give_back(job);
        let wanted = &self.jobs[job];
        let has_room = |&target: &usize| self.nodes[target].room(wanted).is_some();
        if let Some(target) = target.filter(has_room) {
            self.queue.pop_front();
            self.nodes[target].assign(job, wanted);
            self.tallies[job].node = Some(target);
        }
    }

    /// Notes that the command of a job ended after `took` seconds, so its processors are free. The
    /// result comes later; if the node is lost before that, the attempt counts.
    pub fn freed(&mut self, node: usize, job: usize, took: f64) {
        if self.tallies[job].node == Some(node) {
            self.nodes[node].ended(job, took);
        }
    }

    /// Notes the end of an attempt at a job, with its result.
    pub fn tried(&mut self, node: usize, job: usize, tried: Try, now: f64) {
        if self.tallies[job].node != Some(node) {
            return;
        }
        let took = tried.ended.zip(tried.started).map(|(ended, started)| ended - started);
        self.nodes[node].freed(job, took);
        self.settle(node, job, tried, now);
    }

    /// Notes that a node did not answer while the files of a job were copied there, for this
    /// reason. The job was not started: it goes to another node, and uses up no try unless that
    /// happens again and again.
    pub fn stranded(&mut self, node: usize, job: usize, why: String, now: f64) {
        if self.tallies[job].node != Some(node) {
            return;
        }
        self.nodes[node].freed(job, None);
        let tally = &mut self.tallies[job];
        tally.stranded += 1;
        if tally.stranded > STRANDED_MAX {
            return self.settle(node, job, Try::failed(tried::failed(why)), now);
        }
        tally.failed_at.push(node);
        self.give_back(job);
    }

    /// Notes that a node returned jobs without starting them.
    pub fn returned(&mut self, node: usize, jobs: &[usize]) {
        for &job in jobs.iter().rev() {
            if self.tallies[job].node == Some(node) {
                self.nodes[node].freed(job, None);
                self.give_back(job);
            }
        }
    }

    /// Requeues a job that was sent to a node, but not started.
    fn give_back(&mut self, job: usize) {
        let tally = &mut self.tallies[job];
        (tally.node, tally.tries) = (None, tally.tries.saturating_sub(1));
        self.queue.push_front(job);
    }

    /// Notes that a node is lost. Jobs that it may have started have used up an attempt.
    pub fn lost(&mut self, node: usize, now: f64) {
        let (begun, waiting) = self.nodes[node].lose();
        waiting.iter().rev().for_each(|&job| self.give_back(job));
        for job in begun {
            self.settle(node, job, Try::failed(Outcome::NodeLost), now);
        }
    }

    /// Returns the orders that are due at `now`, in seconds since the run began.
    pub fn steps(&mut self, now: f64) -> Vec<Step> {
        self.place(now);
        let mut steps = Vec::new();
        for (at, node) in self.nodes.iter_mut().enumerate() {
            while let Some(job) = node.next(self.rules.staged) {
                let tally = &mut self.tallies[job];
                tally.tries += 1;
                if let Some(last) = tally.moves.last_mut().filter(|_| tally.has_moved) {
                    last.to = Some(node.sight.name.clone());
                }
                steps.push(Step::Give { node: at, job });
            }
        }
        self.recall(now, &mut steps);
        steps.extend(self.over.drain(..).map(|record| Step::Over(Box::new(record))));
        steps
    }

    /// Assigns queued jobs to nodes.
    fn place(&mut self, now: f64) {
        let mut at = 0;
        let mut refused = Vec::new();
        while at < self.queue.len().min(LOOK_PAST) {
            let job = self.queue[at];
            let kind = (self.jobs[job].cores, self.jobs[job].memory);
            let has_failed = !self.tallies[job].failed_at.is_empty();
            if !has_failed && refused.contains(&kind) {
                at += 1;
                continue;
            }
            match self.choose(job, now) {
                Ok(Some(node)) => {
                    self.queue.remove(at);
                    self.nodes[node].assign(job, &self.jobs[job]);
                    self.tallies[job].node = Some(node);
                }
                Ok(None) => {
                    at += 1;
                    if !has_failed {
                        refused.push(kind);
                    }
                }
                Err(outcome) => {
                    self.queue.remove(at);
                    self.finish(job, Try::failed(outcome));
                }
            }
        }
    }

    /// Returns the node for a job; `None` if the job has to wait. If no node can ever run the job,
    /// returns the job's outcome as the error.
    fn choose(&mut self, job: usize, now: f64) -> Result<Option<usize>, Outcome> {
        let wanted = &self.jobs[job];
        let left = self.queue.len();
        let alive = self.nodes.iter().filter(|node| node.sight.is_alive).count();
        let ahead = left / (2 * alive.max(1));
        // No node gets jobs in advance while another one could start them.
        let has_room = || self.nodes.iter().any(|node| node.room(wanted).is_some());
        let moves = self.placement.may_move() && !has_room();
        let mut sights: Vec<Candidate> =
            self.nodes.iter().map(|node| node.seen(moves, ahead, self.rules.staged)).collect();
        let has = |at: usize| sights[at].is_alive && sights[at].can_hold(wanted);
        let able: Vec<usize> = (0..sights.len()).filter(|&at| has(at)).collect();
        if able.is_empty() {
            return Err(match alive {
                0 if self.tallies[job].tries > 0 => Outcome::NodeLost,
                0 => Outcome::Failed("no node is left".to_owned()),
                _ => Outcome::Failed(needs(wanted)),
            });
        }
        let (wanted_at, others) = self.with_memory(wanted, able);
        if others.is_empty() {
            // Memory that other programs use may stay in use for ever, so here the total memory
            // counts.
            for (sight, node) in sights.iter_mut().zip(&self.nodes) {
                if !node.has_memory(wanted) {
                    sight.memory_free = sight.memory.map(|all| all.saturating_sub(node.asked()));
                }
            }
        }
        let mut avoid = self.tallies[job].failed_at.clone();
        if wanted_at.iter().all(|at| avoid.contains(at)) {
            avoid.clear();
        }
        avoid.extend(others);
        let at_once = self.rules.at_once;
        let asked = PlacementRequest { job: wanted, nodes: &sights, now, at_once, avoid: &avoid };
        Ok(self.placement.choose(&asked))
    }

    /// Splits the nodes `able` into those that had enough free memory for the job before the run,
    /// and the others. If none had enough, the first list has all of them.
    fn with_memory(&self, wanted: &Job, able: Vec<usize>) -> (Vec<usize>, Vec<usize>) {
        let (with, without): (Vec<usize>, Vec<usize>) =
            able.into_iter().partition(|&at| self.nodes[at].has_memory(wanted));
        if with.is_empty() { (without, with) } else { (with, without) }
    }

    /// Recalls jobs from nodes that have more jobs than they can run at the same time, if other
    /// nodes are idle.
    fn recall(&mut self, now: f64, steps: &mut Vec<Step>) {
        let may_move = self.placement.may_move() && !self.rules.at_once;
        if !may_move || !self.queue.is_empty() || !self.nodes.iter().any(Node::is_idle) {
            return;
        }
        for (at, node) in self.nodes.iter_mut().enumerate() {
            let jobs = node.stuck(now);
            if !jobs.is_empty() {
                steps.push(Step::Recall { node: at, jobs });
            }
        }
    }

    /// Ends an attempt: the job is over, or it is queued for another attempt.
    fn settle(&mut self, node: usize, job: usize, tried: Try, now: f64) {
        let tally = &mut self.tallies[job];
        if !self.rules.tries.go_on(tally.tries, &tried.outcome) {
            return self.finish(job, tried);
        }
        tally.failed_at.push(node);
        (tally.node, tally.queued) = (None, now);
        (tally.has_moved, tally.saved) = (false, None);
        self.queue.push_back(job);
    }

    fn finish(&mut self, job: usize, tried: Try) {
        let tally = &mut self.tallies[job];
        let node = tally.node.take().map(|node| self.nodes[node].sight.name.clone());
        // The clocks of nodes are known to a fraction of a millisecond only.
        let not_before = |time: Option<f64>| time.map(|time| time.max(tally.queued));
        let started = not_before(tried.started);
        let ended = not_before(tried.ended);
        let tried = Try { started, ended, ..tried };
        let engine = self.rules.engine;
        let queued = tally.queued;
        let tries = tally.tries;
        let moves = std::mem::take(&mut tally.moves);
        let record = tried.record(&self.jobs[job], engine, node, queued, tries);
        self.over.push(Record { moves, ..record });
        self.open -= 1;
    }
}

fn needs(job: &Job) -> String {
    let cores = format!("{} core{}", job.cores, if job.cores == 1 { "" } else { "s" });
    let memory =
        job.memory.map(|bytes| format!(" and {}", garland_core::units::bytes::format(bytes)));
    format!("the job needs {cores}{}: no node is large enough", memory.unwrap_or_default())
}

#[cfg(test)]
mod tests;

//! The dispatcher of Garland's own engine: a sans-io machine which decides which node gets which job, and
//! when.

mod nodes;
mod tally;

use std::collections::VecDeque;

use self::nodes::Node;
use self::tally::Tally;
use super::placement::{Candidate, Placement, PlacementRequest};
use garland_core::farm::{Engine, Job, Outcome, Record, Text};

/// The number of jobs after the first in the queue that are considered when that finds no node.
const LOOK_PAST: usize = 64;

/// The rules of dispatching.
#[derive(Clone, Copy, Debug)]
pub struct Rules {
    /// The maximum number of tries of a job.
    pub tries: u32,
    /// Whether jobs start without waiting for processors.
    pub at_once: bool,
    /// Whether files are staged in before a job and staged out after it.
    pub staged: bool,
    /// The engine in the records.
    pub engine: Engine,
}

/// An order to the driver.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Give the job at this place in the list to the node at that place.
    Give {
        /// The node's place.
        node: usize,
        /// The job's place.
        job: usize,
    },
    /// Ask a node to give back those of these jobs that it hasn't started.
    Recall {
        /// The node's place.
        node: usize,
        /// The jobs' places.
        jobs: Vec<usize>,
    },
    /// A job is over, and this is what became of it.
    Over(Box<Record>),
}

/// How a try ended; times are seconds since the run began.
#[derive(Clone, Debug, PartialEq)]
pub struct Try {
    /// How.
    pub outcome: Outcome,
    /// Its inputs were there.
    pub staged_in: Option<f64>,
    /// Its command was started.
    pub started: Option<f64>,
    /// Its command ended.
    pub ended: Option<f64>,
    /// Its results were where they belong.
    pub staged_out: Option<f64>,
    /// CPU time in seconds.
    pub cpu: Option<f64>,
    /// Peak memory in bytes.
    pub memory: Option<u64>,
    /// Bytes of its inputs.
    pub bytes_in: u64,
    /// Bytes of its outputs.
    pub bytes_out: u64,
    /// The last lines of its standard error, where it failed.
    pub last_words: Vec<Text>,
}

impl Try {
    /// A try that came to nothing.
    pub fn failed(outcome: Outcome) -> Self {
        Self {
            outcome,
            staged_in: None,
            started: None,
            ended: None,
            staged_out: None,
            cpu: None,
            memory: None,
            bytes_in: 0,
            bytes_out: 0,
            last_words: Vec::new(),
        }
    }
}

/// The machine.
pub struct Dispatcher {
    jobs: Vec<Job>,
    tallies: Vec<Tally>,
    nodes: Vec<Node>,
    /// Jobs without a node, by their places.
    queue: VecDeque<usize>,
    placement: Box<dyn Placement>,
    rules: Rules,
    /// How many aren't over.
    open: usize,
    over: Vec<Record>,
}

impl Dispatcher {
    /// A machine for `jobs` on `nodes`; those that are dead never come.
    pub fn new(
        jobs: Vec<Job>,
        nodes: Vec<Candidate>,
        placement: Box<dyn Placement>,
        rules: Rules,
    ) -> Self {
        let (open, queue) = (jobs.len(), (0..jobs.len()).collect());
        let tallies = vec![Tally::default(); open];
        let nodes = nodes.into_iter().map(|sight| Node::new(sight, rules.at_once)).collect();
        Self { jobs, tallies, nodes, queue, placement, rules, open, over: Vec::new() }
    }

    /// All jobs, in their places.
    pub fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    /// How many jobs aren't over.
    pub fn open(&self) -> usize {
        self.open
    }

    /// How often a job has been given to a node.
    pub fn tries(&self, job: usize) -> u32 {
        self.tallies[job].tries
    }

    /// What is known of the nodes.
    pub fn sights(&self) -> impl Iterator<Item = &Candidate> {
        self.nodes.iter().map(|node| &node.sight)
    }

    /// Notes a node's load and its free memory.
    pub fn told(&mut self, node: usize, load: Option<f64>, memory_free: Option<u64>) {
        let sight = &mut self.nodes[node].sight;
        (sight.load, sight.memory_free) = (load, memory_free);
    }

    /// Notes that a job's command has ended, so that its processors are free. Its result comes later; if the
    /// node is lost before that, the try counts.
    pub fn freed(&mut self, node: usize, job: usize, took: f64) {
        if self.tallies[job].node == Some(node) {
            self.nodes[node].ended(job, took);
        }
    }

    /// Notes the end of a try.
    pub fn tried(&mut self, node: usize, job: usize, tried: Try, now: f64) {
        if self.tallies[job].node != Some(node) {
            return;
        }
        let took = tried.ended.zip(tried.started).map(|(ended, started)| ended - started);
        self.nodes[node].freed(job, took);
        self.settle(node, job, tried, now);
    }

    /// Jobs that a node gives back without having started them.
    pub fn returned(&mut self, node: usize, jobs: &[usize]) {
        for &job in jobs.iter().rev() {
            if self.tallies[job].node != Some(node) {
                continue;
            }
            self.nodes[node].freed(job, None);
            self.tallies[job].give_back();
            self.queue.push_front(job);
        }
    }

    /// A node is gone. What it may have begun has had a try.
    pub fn lost(&mut self, node: usize, now: f64) {
        let (begun, waiting) = self.nodes[node].lose();
        for &job in waiting.iter().rev() {
            self.tallies[job].give_back();
            self.queue.push_front(job);
        }
        for job in begun {
            self.settle(node, job, Try::failed(Outcome::NodeLost), now);
        }
    }

    /// What is to be done now.
    pub fn steps(&mut self, now: f64) -> Vec<Step> {
        self.place(now);
        let mut steps = Vec::new();
        for (at, node) in self.nodes.iter_mut().enumerate() {
            while let Some(job) = node.next(self.rules.staged) {
                self.tallies[job].tries += 1;
                steps.push(Step::Give { node: at, job });
            }
        }
        self.recall(now, &mut steps);
        steps.extend(self.over.drain(..).map(|record| Step::Over(Box::new(record))));
        steps
    }

    /// Finds nodes for jobs.
    fn place(&mut self, now: f64) {
        let (mut at, mut refused) = (0, Vec::new());
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
                    self.tallies[job].begin(node);
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

    /// The node that a job goes to, or why it never can.
    fn choose(&mut self, job: usize, now: f64) -> Result<Option<usize>, Outcome> {
        let wanted = &self.jobs[job];
        let left = self.queue.len();
        let alive = self.nodes.iter().filter(|node| node.sight.is_alive).count();
        let ahead = left / (2 * alive.max(1));
        let moves = self.placement.may_move();
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
            // What is used besides the run may be there for ever: then all that there is counts.
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

    /// Of the nodes that are `able`: those that had the memory which the job wants before the run, if there
    /// are any, and the others.
    fn with_memory(&self, wanted: &Job, able: Vec<usize>) -> (Vec<usize>, Vec<usize>) {
        let (with, without): (Vec<usize>, Vec<usize>) =
            able.into_iter().partition(|&at| self.nodes[at].has_memory(wanted));
        if with.is_empty() { (without, with) } else { (with, without) }
    }

    /// Where nodes have nothing to do, and others have more than they can do at once.
    fn recall(&mut self, now: f64, steps: &mut Vec<Step>) {
        if !self.queue.is_empty() || !self.placement.may_move() || self.rules.at_once {
            return;
        }
        if !self.nodes.iter().any(Node::is_idle) {
            return;
        }
        for (at, node) in self.nodes.iter_mut().enumerate() {
            let jobs = node.stuck(now);
            if !jobs.is_empty() {
                steps.push(Step::Recall { node: at, jobs });
            }
        }
    }

    /// A try is over: the job is, or it has another.
    fn settle(&mut self, node: usize, job: usize, tried: Try, now: f64) {
        let tally = &mut self.tallies[job];
        if tried.outcome.is_done() || tally.tries >= self.rules.tries {
            return self.finish(job, tried);
        }
        tally.failed_at.push(node);
        tally.give_again(now);
        self.queue.push_back(job);
    }

    fn finish(&mut self, job: usize, tried: Try) {
        let (wanted, tally) = (&self.jobs[job], &self.tallies[job]);
        let node = tally.node.map(|node| self.nodes[node].sight.name.clone());
        self.over.push(Record {
            job: wanted.number,
            name: wanted.name.clone(),
            node,
            engine: self.rules.engine,
            queued: Some(tally.queued),
            staged_in: tried.staged_in,
            // Nodes' clocks are known to a fraction of a millisecond.
            started: tried.started.map(|started| started.max(tally.queued)),
            ended: tried.ended.map(|ended| ended.max(tally.queued)),
            staged_out: tried.staged_out,
            tries: tally.tries,
            outcome: tried.outcome,
            cpu: tried.cpu,
            memory: tried.memory,
            bytes_in: tried.bytes_in,
            bytes_out: tried.bytes_out,
            last_words: tried.last_words,
        });
        self.tallies[job].node = None;
        self.open -= 1;
    }
}

fn needs(job: &Job) -> String {
    let cores = format!("{} core{}", job.cores, if job.cores == 1 { "" } else { "s" });
    let memory =
        job.memory.map(|bytes| format!(" and {}", garland_core::units::bytes::format(bytes)));
    format!("it needs {cores}{}, and no node has so much", memory.unwrap_or_default())
}

#[cfg(test)]
mod tests;

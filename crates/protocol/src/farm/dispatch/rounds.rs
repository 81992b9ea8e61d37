//! Rounds, for engines that choose nodes themselves: an engine gets all jobs in the first round,
//! and in each later round the jobs that failed in the round before, until no job has a try left.

use std::collections::{BTreeMap, BTreeSet};

use garland_core::farm::{Engine, Job, Outcome, Record, Text};

use super::tried::Try;
use super::tries::Tries;

/// One round of jobs.
#[derive(Clone, Debug, PartialEq)]
pub struct Round {
    /// The number of the try, from 1.
    pub tries: u32,
    /// The jobs of this round, in the order of their numbers.
    pub jobs: Vec<Job>,
    /// The nodes on which jobs of this round have failed in the previous round.
    failed_at: Vec<String>,
}

impl Round {
    /// Returns the nodes to avoid if the engine has `nodes`: those on which jobs have failed. None
    /// if that leaves no node, or concerns none of them.
    pub fn avoid<'a>(&self, nodes: impl Iterator<Item = &'a String>) -> &[String] {
        let (failed, others): (Vec<_>, Vec<_>) =
            nodes.partition(|&node| self.failed_at.contains(node));
        if failed.is_empty() || others.is_empty() { &[] } else { &self.failed_at }
    }
}

/// The rounds of a run.
#[derive(Debug)]
pub struct Rounds {
    engine: Engine,
    /// How often a job is tried.
    allowed: Tries,
    /// The jobs of the next round, by number, each with the node on which it has failed.
    next: BTreeMap<u32, (Job, Option<String>)>,
    /// The jobs of this round that have not ended, by number, each with the last lines of output of
    /// the process that was started for it.
    open: BTreeMap<u32, (Job, Vec<Text>)>,
    nodes: BTreeSet<String>,
    /// The number of the round, from 1.
    tries: u32,
    /// When the round began, in seconds since the run began.
    queued: f64,
    /// The number of jobs that are neither done nor out of tries.
    left: usize,
    over: Vec<(Job, Record)>,
}

impl Rounds {
    /// Creates the rounds of a run of `jobs` by `engine`, which tries each job as often as
    /// `allowed`.
    pub fn new(jobs: Vec<Job>, engine: Engine, allowed: Tries) -> Self {
        Self {
            engine,
            allowed,
            left: jobs.len(),
            next: jobs.into_iter().map(|job| (job.number, (job, None))).collect(),
            open: BTreeMap::new(),
            nodes: BTreeSet::new(),
            tries: 0,
            queued: 0.0,
            over: Vec::new(),
        }
    }

    /// Begins the next round at `now`, in seconds since the run began; `None` if no job has a try
    /// left.
    pub fn begin(&mut self, now: f64) -> Option<Round> {
        let (jobs, failed_at): (Vec<Job>, Vec<Option<String>>) =
            std::mem::take(&mut self.next).into_values().unzip();
        if jobs.is_empty() {
            return None;
        }
        (self.tries, self.queued) = (self.tries + 1, now);
        let open = |job: &Job| (job.number, (job.clone(), Vec::new()));
        self.open = jobs.iter().map(open).collect();
        let failed_at: BTreeSet<String> = failed_at.into_iter().flatten().collect();
        Some(Round { tries: self.tries, jobs, failed_at: failed_at.into_iter().collect() })
    }

    /// Handles the end of a job on a node, whose process the engine has restarted `again` times.
    /// Returns false, without any effect, if the job is not open in this round.
    pub fn ended(&mut self, job: u32, node: String, again: u32, tried: Try) -> bool {
        let Some((job, _)) = self.open.remove(&job) else { return false };
        self.nodes.insert(node.clone());
        self.settle(job, Some(node), self.tries.saturating_add(again), tried);
        true
    }

    /// Sets the last lines of output for the record of an open job, in case its process does not
    /// report its end.
    pub fn blame(&mut self, job: u32, last_words: Vec<Text>) {
        self.open.entry(job).and_modify(|(_, words)| *words = last_words);
    }

    /// Ends the round: jobs that have not ended are lost.
    pub fn end(&mut self) {
        for (job, last_words) in std::mem::take(&mut self.open).into_values() {
            let tried = Try { last_words, ..Try::failed(Outcome::NodeLost) };
            self.settle(job, None, self.tries, tried);
        }
    }

    /// Removes and returns the jobs that are over since the last call, with their records.
    pub fn over(&mut self) -> Vec<(Job, Record)> {
        std::mem::take(&mut self.over)
    }

    /// Returns the number of jobs of this round that have not ended.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// Returns the number of jobs that are neither done nor out of tries.
    pub fn left(&self) -> usize {
        self.left
    }

    /// Returns the nodes that have run jobs, in the order of their names.
    pub fn nodes(&self) -> impl Iterator<Item = &String> {
        self.nodes.iter()
    }

    /// Ends a try: the job is over, or it is in the next round.
    fn settle(&mut self, job: Job, node: Option<String>, tries: u32, tried: Try) {
        if !self.allowed.go_on(self.tries, &tried.outcome) {
            self.left -= 1;
            let record = tried.record(&job, self.engine, node, self.queued, tries);
            self.over.push((job, record));
        } else {
            self.next.insert(job.number, (job, node));
        }
    }
}

#[cfg(test)]
mod tests;

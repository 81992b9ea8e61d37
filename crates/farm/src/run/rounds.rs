//! Rounds, for engines that choose nodes themselves: an engine gets all jobs in the first round,
//! and in each later round the jobs that failed in the round before, until no job has a try left.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use garland_core::farm::{Engine, Job, Outcome, Record, Text};
use garland_sys::clock;

use super::driver::{Ending, Work};
use super::ledger::Ledger;
use super::list::bytes_of_inputs;
use super::worker::WorkEnd;
use crate::result::NodeAccount;
use garland_terminal::failure::Failure;

/// One round of jobs.
pub struct Round<'a> {
    /// The number of the try, from 1.
    pub tries: u32,
    /// The jobs of this round.
    pub jobs: &'a [Job],
    /// Nodes on which jobs failed in the previous round.
    pub avoid: Vec<String>,
}

/// The rounds of a run.
pub struct Rounds<'a, 'l> {
    work: &'a Work<'a>,
    engine: Engine,
    ledger: &'l mut Ledger,
    /// The jobs of this round that have no record yet, by number.
    open: HashMap<u32, Job>,
    /// The jobs that failed in this round and are tried again, by number, each with its record.
    failed: BTreeMap<u32, (Job, Record)>,
    /// For each job, by number: the last lines of output of the process that was started for it.
    words: HashMap<u32, Vec<Text>>,
    nodes: BTreeSet<String>,
    tries: u32,
    queued: f64,
    /// Number of jobs that are neither done nor out of tries.
    left: usize,
}

impl<'a, 'l> Rounds<'a, 'l> {
    /// Creates the rounds of a run by `engine`.
    pub fn new(work: &'a Work<'a>, engine: Engine, ledger: &'l mut Ledger) -> Self {
        Self {
            work,
            engine,
            ledger,
            open: HashMap::new(),
            failed: BTreeMap::new(),
            words: HashMap::new(),
            nodes: BTreeSet::new(),
            tries: 0,
            queued: 0.0,
            left: 0,
        }
    }

    /// Runs rounds until every job is done or has had all its tries, or the user interrupts.
    /// `round` runs one round, and returns whether the user interrupted it.
    pub fn go(
        mut self,
        mut jobs: Vec<Job>,
        round: &mut dyn FnMut(&mut Self, &Round<'_>) -> Result<bool, Failure>,
    ) -> Result<Ending, Failure> {
        self.left = jobs.len();
        let mut interrupted = false;
        for tries in 1..=self.work.settings.tries {
            if jobs.is_empty() || interrupted {
                break;
            }
            (self.tries, self.queued) = (tries, self.now());
            let failed = std::mem::take(&mut self.failed);
            let avoid: BTreeSet<String> =
                failed.into_values().filter_map(|(_, record)| record.node).collect();
            let avoid = avoid.into_iter().collect();
            self.open = jobs.iter().map(|job| (job.number, job.clone())).collect();
            interrupted = round(&mut self, &Round { tries, jobs: &jobs, avoid })?;
            if !interrupted {
                let lost: Vec<Job> = self.open.drain().map(|(_, job)| job).collect();
                lost.into_iter().for_each(|job| self.lost(job));
            }
            jobs = self.failed.values().map(|(job, _)| job.clone()).collect();
            self.commit()?;
        }
        let nodes = self.nodes.iter().map(|name| NodeAccount::new(name, 0)).collect();
        Ok(Ending { nodes, interrupted })
    }

    fn now(&self) -> f64 {
        clock::now_ns().saturating_sub(self.work.began_ns) as f64 / 1e9
    }

    /// Returns the number of jobs of this round without a record.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// Records the end of a job. Ignores jobs that are not open in this round.
    pub fn ended(&mut self, ended: WorkEnd) {
        let WorkEnd { node, ahead_ns, end, again, said: output } = ended;
        let Some(job) = self.open.remove(&end.job) else { return };
        if let Some(output) = output {
            self.ledger.output(end.job, output.bytes());
        }
        let ours = clock::wall_ns().saturating_sub(clock::now_ns());
        let began_ns = self.work.began_ns.saturating_add(ours);
        let seconds = |ns: u64| ns.saturating_add(ahead_ns).saturating_sub(began_ns) as f64 / 1e9;
        let record = Record {
            node: Some(node.clone()),
            started: Some(seconds(end.started_ns)),
            ended: Some(seconds(end.ended_ns)),
            cpu: Some(end.cpu_ns as f64 / 1e9),
            memory: Some(end.memory),
            bytes_out: end.bytes_out,
            tries: self.tries + again,
            last_words: end.last_words,
            ..self.record(&job, end.outcome)
        };
        self.nodes.insert(node);
        self.settle(job, record);
    }

    /// Writes the records to the journal.
    pub fn commit(&mut self) -> Result<(), Failure> {
        self.ledger.commit(self.left)
    }

    /// Sets the last lines of output for the record of `job`, in case its process does not report
    /// its end.
    pub fn blame(&mut self, job: u32, last_words: Vec<Text>) {
        self.words.insert(job, last_words);
    }

    fn lost(&mut self, job: Job) {
        let last_words = self.words.remove(&job.number).unwrap_or_default();
        let record = Record { last_words, ..self.record(&job, Outcome::NodeLost) };
        self.settle(job, record);
    }

    fn record(&self, job: &Job, outcome: Outcome) -> Record {
        Record {
            job: job.number,
            name: job.name.clone(),
            node: None,
            engine: self.engine,
            queued: Some(self.queued),
            staged_in: None,
            started: None,
            ended: None,
            staged_out: None,
            tries: self.tries,
            outcome,
            cpu: None,
            memory: None,
            bytes_in: bytes_of_inputs(job, &self.work.settings.folder),
            bytes_out: 0,
            last_words: Vec::new(),
        }
    }

    fn settle(&mut self, job: Job, record: Record) {
        if record.outcome.is_done() || self.tries >= self.work.settings.tries {
            self.left -= 1;
            return self.ledger.note(record);
        }
        self.failed.insert(job.number, (job, record));
    }
}

//! Runs of engines that choose nodes themselves: passes the ends of jobs to the machine that
//! decides about rounds, and its records to the journal.

use garland_core::farm::{Engine, Job, Record, Text};
use garland_protocol::farm::dispatch::{Round, Rounds, Tries, Try};
use garland_sys::clock;
use garland_terminal::failure::Failure;

use super::driver::{Ending, Work};
use super::ledger::Ledger;
use super::list::bytes_of_inputs;
use super::worker::WorkEnd;
use crate::result::NodeAccount;

/// The run of an engine in rounds, and its journal.
pub struct EngineRun<'a, 'l> {
    work: &'a Work<'a>,
    rounds: Rounds,
    ledger: &'l mut Ledger,
}

impl<'a, 'l> EngineRun<'a, 'l> {
    /// Creates the run of `jobs` by `engine`.
    pub fn new(work: &'a Work<'a>, engine: Engine, jobs: Vec<Job>, ledger: &'l mut Ledger) -> Self {
        Self {
            work,
            rounds: Rounds::new(jobs, engine, Tries::again(work.settings.retries)),
            ledger,
        }
    }

    /// Runs rounds until every job is done or has had all its tries, or the user interrupts.
    /// `run` runs one round, and returns whether the user interrupted it.
    pub fn go(
        mut self,
        run: &mut dyn FnMut(&mut Self, &Round) -> Result<bool, Failure>,
    ) -> Result<Ending, Failure> {
        let mut interrupted = false;
        while !interrupted && let Some(round) = self.rounds.begin(self.now()) {
            interrupted = run(&mut self, &round)?;
            if !interrupted {
                self.rounds.end();
            }
            self.commit()?;
        }
        let nodes = self.rounds.nodes().map(|name| NodeAccount::new(name, 0)).collect();
        Ok(Ending { nodes, interrupted })
    }

    fn now(&self) -> f64 {
        clock::now_ns().saturating_sub(self.work.began_ns) as f64 / 1e9
    }

    /// Returns the number of jobs of this round that have not ended.
    pub fn open(&self) -> usize {
        self.rounds.open()
    }

    /// Records the end of a job. Ignores jobs that are not open in this round.
    pub fn ended(&mut self, ended: WorkEnd) {
        let WorkEnd { node, ahead_ns, end, again, said: output } = ended;
        let ours = clock::wall_ns().saturating_sub(clock::now_ns());
        let began_ns = self.work.began_ns.saturating_add(ours);
        // A node reports only what has happened, so no time is later than now, whatever its clock
        // says.
        let now_ns = clock::wall_ns();
        let seconds =
            |ns: u64| ns.saturating_add(ahead_ns).min(now_ns).saturating_sub(began_ns) as f64 / 1e9;
        let job = end.job;
        if self.rounds.ended(job, node, again, Try::ended(end, seconds))
            && let Some(output) = output
        {
            self.ledger.output(job, output.bytes());
        }
    }

    /// Writes the records of jobs that are over to the journal.
    pub fn commit(&mut self) -> Result<(), Failure> {
        for (job, record) in self.rounds.over() {
            let bytes_in = bytes_of_inputs(&job, &self.work.settings.folder);
            self.ledger.note(Record { bytes_in, ..record });
        }
        self.ledger.commit(self.rounds.left())
    }

    /// Sets the last lines of output for the record of `job`, in case its process does not report
    /// its end.
    pub fn blame(&mut self, job: u32, last_words: Vec<Text>) {
        self.rounds.blame(job, last_words);
    }
}

//! Rounds, for engines that choose nodes themselves: an engine gets all jobs in the first round,
//! and in each later round the jobs that failed in the round before, until no job has a try left.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::tried::Try;
use garland_core::farm::{Engine, Job, Outcome, Record, Text};

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
    /// The maximum number of tries of a job.
    tries_max: u32,
    /// The jobs of the next round, by number, each with the node on which it has failed.
    next: BTreeMap<u32, (Job, Option<String>)>,
    /// The jobs of this round that have not ended, by number.
    open: BTreeMap<u32, Job>,
    /// For each job, by number: the last lines of output of the process that was started for it.
    words: HashMap<u32, Vec<Text>>,
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
    /// Creates the rounds of a run of `jobs` by `engine`, which tries each job at most `tries_max`
    /// times.
    pub fn new(jobs: Vec<Job>, engine: Engine, tries_max: u32) -> Self {
        Self {
            engine,
            tries_max,
            left: jobs.len(),
            next: jobs.into_iter().map(|job| (job.number, (job, None))).collect(),
            open: BTreeMap::new(),
            words: HashMap::new(),
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
        self.open = jobs.iter().map(|job| (job.number, job.clone())).collect();
        let failed_at: BTreeSet<String> = failed_at.into_iter().flatten().collect();
        Some(Round { tries: self.tries, jobs, failed_at: failed_at.into_iter().collect() })
    }

    /// Handles the end of a job on a node, whose process the engine has restarted `again` times.
    /// Returns false, without any effect, if the job is not open in this round.
    pub fn ended(&mut self, job: u32, node: String, again: u32, tried: Try) -> bool {
        let Some(job) = self.open.remove(&job) else { return false };
        self.nodes.insert(node.clone());
        self.settle(job, Some(node), self.tries + again, tried);
        true
    }

    /// Sets the last lines of output for the record of a job, in case its process does not report
    /// its end.
    pub fn blame(&mut self, job: u32, last_words: Vec<Text>) {
        self.words.insert(job, last_words);
    }

    /// Ends the round: jobs that have not ended are lost.
    pub fn end(&mut self) {
        for (number, job) in std::mem::take(&mut self.open) {
            let last_words = self.words.remove(&number).unwrap_or_default();
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
        if tried.outcome.is_done() || self.tries >= self.tries_max {
            self.left -= 1;
            let record = tried.record(&job, self.engine, node, self.queued, tries);
            self.over.push((job, record));
        } else {
            self.next.insert(job.number, (job, node));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use garland_core::farm::Command;

    fn rounds(jobs: u32) -> Rounds {
        let job = |number| Job::new(number, Text::from("x"), Command::Line("x".into()));
        Rounds::new((1..=jobs).map(job).collect(), Engine::Slurm, 3)
    }

    fn numbers(round: &Round) -> Vec<u32> {
        round.jobs.iter().map(|job| job.number).collect()
    }

    fn end(rounds: &mut Rounds, job: u32, node: &str, code: i32) -> bool {
        rounds.ended(job, node.to_owned(), 0, Try::failed(Outcome::Exit(code)))
    }

    /// The job, node, tries and outcome of each record.
    fn over(rounds: &mut Rounds) -> Vec<(u32, Option<String>, u32, Outcome)> {
        let record =
            |(_, record): (Job, Record)| (record.job, record.node, record.tries, record.outcome);
        rounds.over().into_iter().map(record).collect()
    }

    #[test]
    fn only_failed_and_lost_jobs_are_tried_again() {
        let mut rounds = rounds(3);
        let round = rounds.begin(1.0).unwrap();
        assert_eq!((round.tries, numbers(&round)), (1, vec![1, 2, 3]));
        assert!(end(&mut rounds, 2, "b", 0) && end(&mut rounds, 1, "a", 7));
        assert_eq!((rounds.open(), rounds.left()), (1, 2));
        rounds.end();
        assert_eq!(over(&mut rounds), [(2, Some("b".to_owned()), 1, Outcome::Exit(0))]);
        let round = rounds.begin(2.0).unwrap();
        assert_eq!((round.tries, numbers(&round)), (2, vec![1, 3]));
        // The end of a job that is over, and one that the round does not have.
        assert!(!end(&mut rounds, 2, "b", 1) && !end(&mut rounds, 9, "b", 0));
        assert!(end(&mut rounds, 1, "b", 0) && end(&mut rounds, 3, "b", 0));
        assert!(!end(&mut rounds, 3, "b", 1), "the first end counts");
        let queued = rounds.over().into_iter().map(|(_, record)| record.queued);
        assert_eq!(queued.collect::<Vec<_>>(), [Some(2.0); 2]);
        assert_eq!((rounds.left(), rounds.begin(3.0)), (0, None));
        assert_eq!(rounds.nodes().collect::<Vec<_>>(), ["a", "b"]);
    }

    #[test]
    fn a_job_without_tries_is_over_with_its_last_result() {
        let mut rounds = rounds(2);
        for tries in 1..=3 {
            assert_eq!(rounds.begin(0.0).unwrap().tries, tries);
            assert_eq!(over(&mut rounds), []);
            end(&mut rounds, 1, "a", 7);
            rounds.blame(2, vec!["killed".into()]);
            rounds.end();
        }
        let records = rounds.over();
        assert_eq!(records[1].1.last_words, [Text::from("killed")]);
        rounds.over = records;
        let wanted =
            [(1, Some("a".to_owned()), 3, Outcome::Exit(7)), (2, None, 3, Outcome::NodeLost)];
        assert_eq!(over(&mut rounds), wanted);
        assert_eq!((rounds.left(), rounds.begin(0.0)), (0, None));
    }

    #[test]
    fn restarts_by_the_engine_are_tries_of_the_record_only() {
        let mut rounds = rounds(1);
        rounds.begin(0.0).unwrap();
        rounds.ended(1, "a".to_owned(), 5, Try::failed(Outcome::Exit(1)));
        assert_eq!(rounds.begin(0.0).unwrap().tries, 2);
        rounds.ended(1, "a".to_owned(), 5, Try::failed(Outcome::Exit(0)));
        assert_eq!(over(&mut rounds), [(1, Some("a".to_owned()), 7, Outcome::Exit(0))]);
    }

    #[test]
    fn nodes_on_which_jobs_failed_in_the_last_round_are_avoided_if_others_are_left() {
        let mut rounds = rounds(2);
        let names = ["a", "b", "c"].map(str::to_owned);
        let avoided = |round: &Round, names: &[String]| round.avoid(names.iter()).to_vec();
        let round = rounds.begin(0.0).unwrap();
        assert_eq!(avoided(&round, &names), [""; 0]);
        end(&mut rounds, 1, "b", 1);
        end(&mut rounds, 2, "x", 1);
        let round = rounds.begin(0.0).unwrap();
        assert_eq!(avoided(&round, &names), ["b", "x"]);
        assert_eq!(avoided(&round, &names[1..2]), [""; 0], "no other node is left");
        assert_eq!(avoided(&round, &names[2..]), [""; 0], "no job failed here");
        end(&mut rounds, 1, "a", 1);
        end(&mut rounds, 2, "a", 0);
        assert_eq!(avoided(&rounds.begin(0.0).unwrap(), &names), ["a"], "only the last round");
    }
}

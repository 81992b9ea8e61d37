//! Computes the result of a run from the records of its jobs.

use std::collections::HashMap;

use garland_analysis::farm::{
    Files, Power, Task, Worker, losses, rounds, slowdown, spread, standing,
};
use garland_core::farm::{Engine, Move, Record};
use garland_results::head::Head;

use super::node::NodeAccount;
use super::power::{Powers, Unit};
use super::summary::{Failed, Jobs, NAMED, OneMachine, Summary};
use super::value::{FarmResult, NodeResult};
use super::words::write_sentence;
use crate::args::{DataName, word};

/// The conditions under which jobs were run.
#[derive(Clone, Debug)]
pub struct RunConditions {
    /// The engine that ran the jobs.
    pub engine: Engine,
    /// Name of the placement, which chose the node of each job; none if the engine chooses nodes
    /// itself.
    pub placement: Option<String>,
    /// How jobs got their files.
    pub data: DataName,
    /// Whether all jobs were started at the same time.
    pub at_once: bool,
    /// Name of the network, if known.
    pub network: Option<String>,
    /// Price of the cluster, if known.
    pub price: Option<f64>,
    /// The requested unit of processor power.
    pub unit: Unit,
    /// Jobs that ran on one machine, if measured; otherwise their time is estimated from CPU time.
    pub one: Option<OneMachine>,
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct Farmed {
    /// The conditions under which the jobs were run.
    pub how: RunConditions,
    /// All nodes of the run.
    pub members: Vec<NodeAccount>,
    /// The records of the jobs that have ended.
    pub records: Vec<Record>,
    /// Number of jobs; more than `records` if the user interrupted the run.
    pub jobs: usize,
    /// The time from the beginning of the run to the end of the last job, in seconds.
    pub seconds: f64,
    /// Whether the user interrupted the run.
    pub interrupted: bool,
}

impl FarmResult {
    /// Computes the result of a run.
    pub fn new(head: Head, farmed: Farmed) -> Self {
        let powers = farmed.how.unit.of(&farmed.members);
        let summary = farmed.summary(&powers);
        let nodes = farmed.nodes(&powers);
        let sentence = write_sentence(&summary, &powers.each);
        let Farmed { records, interrupted, .. } = farmed;
        Self { head, nodes, summary, sentence, interrupted, records }
    }
}

impl Farmed {
    fn summary(&self, powers: &Powers) -> Summary {
        let workers = self.workers();
        let tasks = self.tasks(Record::worked);
        let parts = [self.tasks(|record| record.cpu), self.parts()].concat();
        let RunConditions { engine, placement, data, at_once, network, price, .. } =
            self.how.clone();
        let ran: Vec<(u32, f64)> =
            self.done().filter_map(|record| Some((record.job, record.ran()?))).collect();
        let seconds: Vec<f64> = ran.iter().map(|(_, seconds)| *seconds).collect();
        let numbered = spread(&seconds).map(|mut found| {
            let number = |at: usize| ran[at].0 as usize;
            (found.slowest_at, found.fastest_at) =
                (number(found.slowest_at), number(found.fastest_at));
            found
        });
        let mounted = data == DataName::Mount;
        let files = if mounted { Files::Mounted } else { Files::OnNodes };
        let one = self.how.one.clone().or_else(|| self.one(&workers, &tasks, powers));
        // The time of some of the jobs cannot be compared with that of all.
        let whole = self.done().count() == self.jobs;
        let power = |one: &OneMachine| Power { one: one.power, all: powers.each.iter().sum() };
        Summary {
            engine,
            placement,
            data: word(data),
            all_at_once: at_once,
            network,
            jobs: self.jobs(),
            total: self.seconds,
            spread: numbered,
            slowdown: slowdown(&tasks, &workers),
            standing: one
                .as_ref()
                .filter(|_| whole)
                .and_then(|one| standing(one.seconds, self.seconds, power(one))),
            one,
            unit: powers.unit.clone(),
            losses: losses(&parts, &workers, self.seconds, files),
            price,
        }
    }

    /// Estimates, from the jobs' CPU time, the time of all jobs on the first node that has power.
    fn one(&self, workers: &[Worker], tasks: &[Task], powers: &Powers) -> Option<OneMachine> {
        let at = workers.iter().position(|worker| worker.power() > 0.0)?;
        let works: Vec<f64> = tasks.iter().map(|task| task.work(&workers[task.worker])).collect();
        let seconds = rounds(&works, &workers[at..=at]).filter(|seconds| *seconds > 0.0)?;
        Some(OneMachine { seconds, power: powers.each[at], run: None })
    }

    /// Returns the records of jobs that are done.
    fn done(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(|record| record.outcome.is_done())
    }

    fn jobs(&self) -> Jobs {
        let again = |record: &Record| u64::from(record.tries.saturating_sub(1));
        let failed = self.records.iter().filter(|record| !record.outcome.is_done());
        let failed = failed.take(NAMED).map(|record| Failed {
            job: record.job,
            name: record.name.clone(),
            node: record.node.clone(),
            reason: record.outcome.to_string(),
            tries: record.tries,
            last_words: record.last_words.clone(),
        });
        let done = self.done().count();
        Jobs {
            all: self.jobs,
            done,
            failed: self.records.len() - done,
            open: self.jobs.saturating_sub(self.records.len()),
            retries: self.records.iter().map(again).sum(),
            failures: failed.collect(),
        }
    }

    fn workers(&self) -> Vec<Worker> {
        let first = self.members.first().map_or(1.0, NodeAccount::speed);
        let all_tell = self.members.iter().all(|member| member.mhz.is_some());
        let worker = |member: &NodeAccount| Worker {
            slots: member.slots,
            share: member.share,
            speed: if all_tell { member.speed() / first } else { 1.0 },
        };
        self.members.iter().map(worker).collect()
    }

    /// Returns the jobs that are done as tasks for the analysis; omits jobs whose node or times are
    /// unknown. `cpu` returns the CPU time that counts.
    fn tasks(&self, cpu: impl Fn(&Record) -> Option<f64>) -> Vec<Task> {
        let places = self.places();
        let task = |record: &Record| {
            let staged = self.how.data == DataName::Stage;
            Some(Task {
                worker: *places.get(record.node.as_deref()?)?,
                queued: record.queued.unwrap_or(0.0),
                staged_in: record.staged_in.filter(|_| staged && record.bytes_in > 0),
                started: record.started?,
                ended: record.ended?,
                staged_out: record.staged_out.filter(|_| staged && record.bytes_out > 0),
                cpu: cpu(record),
            })
        };
        self.done().filter_map(task).collect()
    }

    /// Returns what jobs that are done did on the nodes from which they migrated.
    fn parts(&self) -> Vec<Task> {
        let places = self.places();
        let part = |one: &Move| {
            Some(Task {
                worker: *places.get(one.from.as_str())?,
                queued: one.started,
                staged_in: None,
                started: one.started,
                ended: one.at,
                staged_out: None,
                cpu: Some(one.cpu),
            })
        };
        self.done().flat_map(Record::migrations).filter_map(part).collect()
    }

    /// Returns the index of each node, by its name.
    fn places(&self) -> HashMap<&str, usize> {
        self.members.iter().enumerate().map(|(at, one)| (one.name.as_str(), at)).collect()
    }

    fn nodes(&self, powers: &Powers) -> Vec<NodeResult> {
        let mut nodes: Vec<NodeResult> = self
            .members
            .iter()
            .zip(&powers.each)
            .map(|(member, &power)| NodeResult {
                name: member.name.clone(),
                end: member.end.clone(),
                cores: member.slots,
                share: member.share,
                mhz: member.mhz,
                memory: member.memory,
                power,
                done: 0,
                cpu: 0.0,
                nics: member.nics.clone(),
            })
            .collect();
        let tasks = self.tasks(|record| record.cpu);
        let parts = self.parts();
        tasks.iter().for_each(|task| nodes[task.worker].done += 1);
        for task in tasks.iter().chain(&parts) {
            nodes[task.worker].cpu += task.cpu.unwrap_or(0.0);
        }
        nodes
    }
}

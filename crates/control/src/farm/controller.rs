//! The head's side of a farm: a loop over all agents that assigns jobs to nodes and handles the end
//! of each job.

use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

use garland_core::farm::{Job, Outcome, Record, Text};
use garland_protocol::dispatch::{Dispatcher, Rules, Step, Try};
use garland_protocol::operation::AgentEvent;
use garland_protocol::placement::{Candidate, Placement};
use garland_protocol::{
    COMMAND_MAX, FarmEvent, FarmOrder, FarmTask, FromAgent, NodeFacts, Opening, TaskEnd, ToAgent,
};
use garland_sys::clock;
use garland_sys::event::Wake;
use garland_sys::signal::Interrupts;

use crate::copy::Agent;
use crate::farm::running::{RunningJob, directories};
use crate::farm::stager::Stager;
use crate::farm::transfer::{Direction, Transfer};
use crate::farm::transfers::TransferThreads;
use crate::farm::workers::{Worker, WorkerSet, size};

/// The longest time that the loop waits for events.
const TURN: Duration = Duration::from_millis(100);

/// Timeout for nodes to report their resources, in nanoseconds.
const OPENING_NS: u64 = 10_000_000_000;

/// The number of clock probes per node; the probe with the shortest round trip counts.
const CLOCK_ASKED: usize = 3;

/// The parameters of a run of jobs.
pub struct FarmWork<'a> {
    /// The jobs to run.
    pub jobs: Vec<Job>,
    /// The names of the nodes, in the order of the agents.
    pub names: Vec<String>,
    /// The rules for tries and failures.
    pub rules: Rules,
    /// Assigns jobs to nodes.
    pub placement: Box<dyn Placement>,
    /// The number of CPUs per node for jobs; `None` for all.
    pub slots: Option<u32>,
    /// The name of the directory on nodes that contains the jobs' own directories.
    pub folder: Text,
    /// Makes the task for a try of a job; tries are numbered from 1.
    pub task: &'a dyn Fn(&Job, u32) -> FarmTask,
    /// Copies files to and from nodes, if jobs have directories of their own.
    pub stager: Option<&'a Stager>,
    /// The address and keys of each node's mount; `None` for a node that needs no mount, empty if
    /// no node does.
    pub openings: Vec<Option<Opening>>,
    /// The beginning of the run, in monotonic nanoseconds.
    pub began_ns: u64,
}

/// An event of a run.
#[derive(Debug)]
pub enum FarmNews<'a> {
    /// A job has ended.
    Over(&'a Record),
    /// The output of a job's latest try: the number of the job, and the bytes.
    Output(u32, &'a [u8]),
    /// A node is lost and gets no more jobs: its index, and the reason.
    Lost(usize, &'a str),
    /// The end of an iteration of the loop: all events so far are reported. Contains the number of
    /// jobs that have not ended.
    Turn(usize),
}

/// The state of a node after a run.
#[derive(Clone, Debug)]
pub struct FarmNode {
    /// The node's resources; `None` if it has not reported them.
    pub facts: Option<NodeFacts>,
    /// Why the node gets no more jobs; `None` if it is still usable.
    pub gone: Option<String>,
}

/// How a run ended.
#[derive(Clone, Debug)]
pub struct FarmEnd {
    /// The state of each node, in the order of the agents.
    pub nodes: Vec<FarmNode>,
    /// Whether the user interrupted.
    pub interrupted: bool,
}

/// Runs jobs on agents until all have ended; calls `news` with events.
///
/// # Errors
/// When this host cannot wait for the agents.
pub fn run_farm(
    work: FarmWork<'_>,
    agents: Vec<Result<Agent, String>>,
    interrupts: Option<&Interrupts>,
    news: &mut dyn FnMut(FarmNews<'_>),
) -> io::Result<FarmEnd> {
    let wake = Arc::new(Wake::new()?);
    let nodes = agents.len();
    std::thread::scope(|scope| {
        let transfers =
            work.stager.map(|stager| TransferThreads::begin(scope, nodes, stager, &wake));
        let transfers = transfers.transpose()?;
        let mut workers = WorkerSet::new(agents);
        let opened = open(&mut workers, &work, interrupts)?;
        let mut controller = JobController::new(work, workers, transfers, news);
        let interrupted = !opened || controller.go_round(&wake, interrupts)?;
        let nodes = controller.workers.all.iter();
        let nodes = nodes.map(|worker| FarmNode { facts: worker.facts, gone: worker.gone.clone() });
        Ok(FarmEnd { nodes: nodes.collect(), interrupted })
    })
}

/// Waits until all nodes have reported their resources. Returns false if the user interrupts.
fn open(
    workers: &mut WorkerSet,
    work: &FarmWork<'_>,
    interrupts: Option<&Interrupts>,
) -> io::Result<bool> {
    let slots = if work.rules.at_once { Some(u32::MAX) } else { work.slots };
    for node in 0..workers.all.len() {
        for _ in 0..CLOCK_ASKED {
            workers.agents.send(node, &ToAgent::Clock(clock::now_ns()));
        }
        workers.order(node, FarmOrder::Open { slots, folder: work.folder.clone() });
    }
    for (node, worker) in workers.all.iter_mut().enumerate() {
        worker.sees = work.openings.get(node).is_none_or(Option::is_none);
    }
    for (node, opening) in work.openings.iter().enumerate() {
        if let Some(opening) = opening {
            workers.order(node, FarmOrder::Mount(opening.clone()));
        }
    }
    let deadline = clock::now_ns() + OPENING_NS;
    let is_missing = |it: &Worker| it.gone.is_none() && (it.facts.is_none() || !it.sees);
    let waits = |workers: &WorkerSet| workers.all.iter().any(is_missing);
    while waits(workers) && clock::now_ns() < deadline {
        for (node, event) in workers.agents.wait(interrupts.map(AsFd::as_fd), TURN)? {
            let worker = &mut workers.all[node];
            match event {
                AgentEvent::Message(FromAgent::Clock(asked, received, answered)) => {
                    worker.note_clock(asked, received, answered);
                }
                AgentEvent::Message(FromAgent::Farm(event)) => match *event {
                    FarmEvent::Opened(facts) => worker.facts = Some(facts),
                    FarmEvent::Mounted(wrong) => {
                        worker.sees = wrong.is_none();
                        worker.gone = wrong;
                    }
                    _ => {}
                },
                AgentEvent::Message(_) => {}
                AgentEvent::Lost(reason) => worker.gone = Some(reason),
            }
        }
        if interrupts.is_some_and(Interrupts::have_come) {
            return Ok(false);
        }
    }
    for worker in workers.all.iter_mut().filter(|worker| is_missing(worker)) {
        worker.gone = Some(format!(
            "its agent was not ready for jobs within {} s",
            OPENING_NS / 1_000_000_000
        ));
    }
    Ok(true)
}

struct JobController<'a, 'n> {
    farm: Dispatcher,
    workers: WorkerSet,
    /// The jobs that are assigned to nodes, by index of the job.
    live: HashMap<usize, RunningJob>,
    /// The index of each job, by the job's number.
    places: HashMap<u32, usize>,
    transfers: Option<TransferThreads>,
    task: &'a dyn Fn(&Job, u32) -> FarmTask,
    began_ns: u64,
    news: &'n mut dyn FnMut(FarmNews<'_>),
}

impl<'a, 'n> JobController<'a, 'n> {
    fn new(
        work: FarmWork<'a>,
        workers: WorkerSet,
        transfers: Option<TransferThreads>,
        news: &'n mut dyn FnMut(FarmNews<'_>),
    ) -> Self {
        let facts: Vec<_> = workers.all.iter().map(|worker| worker.facts).collect();
        let speeds = NodeFacts::speeds(&facts);
        let known = |bytes: &u64| *bytes > 0;
        let candidate = |((worker, name), speed): ((&Worker, &String), f64)| Candidate {
            name: name.clone(),
            is_alive: worker.gone.is_none(),
            cores: work.slots.or(worker.facts.map(|facts| facts.cores)).unwrap_or(0),
            speed,
            busy: 0,
            waiting: 0,
            load: None,
            memory: worker.facts.map(|facts| facts.memory).filter(known),
            memory_free: worker.facts.map(|facts| facts.memory_free).filter(known),
        };
        let candidates = workers.all.iter().zip(&work.names).zip(speeds).map(candidate).collect();
        for (node, worker) in workers.all.iter().enumerate() {
            if let Some(reason) = &worker.gone {
                news(FarmNews::Lost(node, reason));
            }
        }
        let places = work.jobs.iter().enumerate().map(|(at, job)| (job.number, at)).collect();
        Self {
            farm: Dispatcher::new(work.jobs, candidates, work.placement, work.rules),
            workers,
            live: HashMap::new(),
            places,
            transfers,
            task: work.task,
            began_ns: work.began_ns,
            news,
        }
    }

    /// Runs the loop until all jobs have ended. Returns whether the user interrupted.
    fn go_round(&mut self, wake: &Wake, interrupts: Option<&Interrupts>) -> io::Result<bool> {
        loop {
            for step in self.farm.steps(self.now()) {
                self.take(step);
            }
            self.workers.flush();
            (self.news)(FarmNews::Turn(self.farm.open()));
            if self.farm.open() == 0 {
                return Ok(false);
            }
            let others = std::iter::once(wake.as_fd()).chain(interrupts.map(AsFd::as_fd));
            for (node, event) in self.workers.agents.wait(others, TURN)? {
                match event {
                    AgentEvent::Message(message) => self.handle(node, message),
                    AgentEvent::Lost(reason) => self.lose(node, reason),
                }
            }
            if interrupts.is_some_and(Interrupts::have_come) {
                return Ok(true);
            }
            wake.lower();
            let done: Vec<Transfer> =
                self.transfers.iter().flat_map(TransferThreads::done).collect();
            done.into_iter().for_each(|transfer| self.moved(transfer));
            while let Some((node, reason)) = self.workers.silent() {
                self.lose(node, reason);
            }
        }
    }

    fn now(&self) -> f64 {
        clock::now_ns().saturating_sub(self.began_ns) as f64 / 1e9
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Give { node, job } => self.give(node, job),
            Step::Recall { node, jobs } => {
                let jobs = jobs.into_iter().map(|job| self.farm.jobs()[job].number).collect();
                self.workers.order(node, FarmOrder::Recall(jobs));
            }
            Step::Over(record) => (self.news)(FarmNews::Over(&record)),
        }
    }

    fn give(&mut self, node: usize, job: usize) {
        let tries = self.farm.tries(job);
        self.live.insert(job, RunningJob::new(node, tries));
        let wanted = &self.farm.jobs()[job];
        let task = (self.task)(wanted, tries);
        if size(&task) > COMMAND_MAX {
            let why = format!("its command is longer than {COMMAND_MAX} bytes");
            return self.fail(job, why);
        }
        if task.own_folder {
            let names =
                directories(&wanted.inputs.iter().chain(&wanted.outputs).collect::<Vec<_>>());
            let number = wanted.number;
            return self.workers.order(node, FarmOrder::Make(number, names));
        }
        self.workers.all[node].give(task);
    }

    fn handle(&mut self, node: usize, message: FromAgent) {
        match message {
            FromAgent::Clock(asked, received, answered) => {
                self.workers.all[node].note_clock(asked, received, answered);
            }
            FromAgent::Farm(event) => self.handle_jobs(node, *event),
            _ => {}
        }
    }

    fn handle_jobs(&mut self, node: usize, event: FarmEvent) {
        match event {
            FarmEvent::Ended(ends) => ends.into_iter().for_each(|end| self.ended(node, end)),
            FarmEvent::Made(number, wrong) => match (self.job_at(node, number), wrong) {
                (Some(job), Some(why)) => self.fail(job, why),
                (Some(job), None) => self.transfer(job, Direction::There),
                (None, _) => {}
            },
            FarmEvent::Output(number, output) if self.job_at(node, number).is_some() => {
                (self.news)(FarmNews::Output(number, &output));
            }
            FarmEvent::Returned(numbers) => {
                let jobs: Vec<usize> =
                    numbers.iter().filter_map(|&number| self.job_at(node, number)).collect();
                jobs.iter().for_each(|job| drop(self.live.remove(job)));
                self.farm.returned(node, &jobs);
            }
            FarmEvent::Results(number, files) => {
                let live = self.job_at(node, number).and_then(|job| self.live.get_mut(&job));
                live.into_iter().for_each(|live| live.outputs.extend(&files));
            }
            FarmEvent::Output(..) | FarmEvent::Opened(_) | FarmEvent::Mounted(_) => {}
        }
    }

    /// Returns the index of the job with this number, if it is assigned to the node.
    fn job_at(&self, node: usize, number: u32) -> Option<usize> {
        let job = *self.places.get(&number)?;
        (self.live.get(&job)?.node == node).then_some(job)
    }

    fn ended(&mut self, node: usize, end: TaskEnd) {
        let Some(job) = self.job_at(node, end.job) else { return };
        let Some(live) = self.live.get_mut(&job) else { return };
        let worker = &self.workers.all[node];
        let began = self.began_ns;
        let seconds = |ns: u64| worker.our_ns(ns).saturating_sub(began) as f64 / 1e9;
        let (started, ended) = (seconds(end.started_ns), seconds(end.ended_ns));
        let (is_done, bytes_out) = (end.outcome.is_done(), end.bytes_out);
        live.ran = Some((started, ended));
        live.end = Some(end);
        let has_files = self.transfers.is_some() && !self.farm.jobs()[job].outputs.is_empty();
        if is_done && has_files {
            self.farm.freed(node, job, ended - started);
            return self.transfer(job, Direction::Back);
        }
        self.over(job, None, None, bytes_out);
    }

    fn transfer(&mut self, job: usize, way: Direction) {
        let live = self.live.get_mut(&job);
        let (Some(live), Some(transfers)) = (live, &self.transfers) else { return };
        let (node, tries, outputs) = (live.node, live.tries, std::mem::take(&mut live.outputs));
        let wanted = &self.farm.jobs()[job];
        let names = match way {
            Direction::There => &wanted.inputs,
            Direction::Back => &wanted.outputs,
        };
        let (number, names) = (wanted.number, names.clone());
        let (bytes, moved) = (0, Ok(()));
        transfers.order(Transfer { node, job, number, tries, way, names, outputs, bytes, moved });
    }

    fn moved(&mut self, transfer: Transfer) {
        let now = self.now();
        let Transfer { node, job, tries, way, bytes, moved, .. } = transfer;
        let Some(live) = self.live.get_mut(&job) else { return };
        if live.node != node || live.tries != tries {
            return;
        }
        match (way, moved) {
            (_, Err(why)) => self.fail(job, why),
            (Direction::There, Ok(())) => {
                (live.staged_in, live.bytes_in) = (Some(now), bytes);
                let task = (self.task)(&self.farm.jobs()[job], tries);
                self.workers.all[node].give(task);
            }
            (Direction::Back, Ok(())) => self.over(job, None, Some(now), bytes),
        }
    }

    fn fail(&mut self, job: usize, why: String) {
        self.over(job, Some(Outcome::Failed(why)), None, 0);
    }

    /// Handles the end of a try. `wrong` is the outcome if a step other than the command failed.
    fn over(&mut self, job: usize, wrong: Option<Outcome>, staged_out: Option<f64>, bytes: u64) {
        let Some(live) = self.live.remove(&job) else { return };
        let (node, now) = (live.node, self.now());
        let tried: Try = live.over(wrong, staged_out, bytes);
        if self.transfers.is_some() {
            self.workers.order(node, FarmOrder::Clear(self.farm.jobs()[job].number));
        }
        self.farm.tried(node, job, tried, now);
    }

    fn lose(&mut self, node: usize, reason: String) {
        if self.workers.all[node].gone.is_some() {
            return;
        }
        (self.news)(FarmNews::Lost(node, &reason));
        self.workers.all[node].gone = Some(reason);
        self.live.retain(|_, live| live.node != node);
        let now = self.now();
        self.farm.lost(node, now);
    }
}

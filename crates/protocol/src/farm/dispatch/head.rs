//! The head's machine of a farm run by agents: which nodes take part, the steps of each job, and
//! what a lost node means for its jobs.

use std::collections::HashMap;

use garland_core::farm::{Job, Move, MoveKind, Outcome, Record, Text};

use super::clock::NodeClock;
use super::dispatcher::{Dispatcher, Rules, Step};
use super::moves::Mover;
use super::readiness::{FarmNode, Readiness};
use super::running::{JobStep, RunningJob, directories};
use super::tasks::{orders_of, size};
use super::time_limits::TimeLimits;
use super::transfer::{Direction, Transfer, TransferFailure};
use super::tried::Try;
use super::work::Work;
use crate::farm::jobs::{COMMAND_MAX, FarmEvent, FarmOrder, NodeFacts, Opening, Task, TaskEnd};
use crate::farm::placement::{Candidate, Placement};
use crate::message::FromAgent;

/// The number of clock probes per node.
const CLOCK_PROBES: usize = 3;

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
    /// Makes the task for a try of a job; tries are numbered from 1. The last argument says whether
    /// the job goes on from its checkpoint.
    pub task: &'a dyn Fn(&Job, u32, bool) -> Task,
    /// Whether running jobs move to other nodes.
    pub migrate: bool,
    /// Whether the output of jobs is reported as it comes.
    pub streamed: bool,
    /// The address and keys of each node's mount; `None` for a node that needs no mount.
    pub openings: Vec<Option<Opening>>,
    /// The beginning of the run, in monotonic nanoseconds.
    pub began_ns: u64,
}

/// An order of the machine to its driver.
#[derive(Debug, PartialEq)]
pub enum FarmHeadOrder {
    /// Send this order to the agent of the node with this index.
    Send(usize, FarmOrder),
    /// Ask the agent of a node for its time, with the time at which the probe is sent.
    Probe(usize),
    /// Transfer the files of a job, and report the result ([`FarmHead::moved`]).
    Transfer(Transfer),
    /// Report this to the user and the journal.
    News(FarmNews),
}

/// An event of a run.
#[derive(Debug, PartialEq)]
pub enum FarmNews {
    /// A job has ended; this is its record.
    Over(Box<Record>),
    /// The output of a job's latest try: the number of the job, and the bytes.
    Output(u32, Vec<u8>),
    /// A job begins, from its beginning: what its earlier tries wrote no longer counts.
    Begins(u32),
    /// Bytes of a running job's output, as they come: the number of the job, whether they are from
    /// standard error, and the bytes.
    Wrote(u32, bool, Vec<u8>),
    /// A node gets no more jobs: its index, and the reason.
    Lost(usize, String),
    /// The work of a running job could not be moved to another node: the number of the job, the
    /// index of its node, and what happened to the job.
    NotMoved(u32, usize, String),
    /// The end of a turn: all events so far are reported. Contains the number of jobs that have not
    /// ended.
    Turn(usize),
}

/// The state of a farm run at its head. It gets events with their times in monotonic nanoseconds,
/// and is asked for orders in turns.
pub struct FarmHead<'a> {
    readiness: Readiness,
    clocks: Vec<NodeClock>,
    /// The tasks of each node that are sent at the end of the turn.
    tasks: Vec<Vec<Task>>,
    names: Vec<String>,
    slots: Option<u32>,
    /// Whether nodes start jobs without waiting for free processors.
    at_once: bool,
    /// Whether jobs have files to transfer.
    staged: bool,
    /// Has no nodes until the wait for nodes has ended.
    farm: Dispatcher,
    /// The jobs that are assigned to nodes, by index of the job.
    live: HashMap<usize, RunningJob>,
    /// The index of each job, by the job's number.
    places: HashMap<u32, usize>,
    task: &'a dyn Fn(&Job, u32, bool) -> Task,
    /// Whether the output of jobs is reported as it comes.
    streamed: bool,
    /// Moves running jobs; `None` if jobs stay where they were started.
    mover: Option<Mover>,
    time_limits: TimeLimits,
    /// The number of tasks that were sent.
    sent: u64,
    began_ns: u64,
    orders: Vec<FarmHeadOrder>,
}

impl<'a> FarmHead<'a> {
    /// Creates the state of a run on nodes, each with the reason why its agent cannot be reached;
    /// `None` for a node with an agent.
    pub fn new(work: FarmWork<'a>, gone: Vec<Option<String>>, now_ns: u64) -> Self {
        let FarmWork { jobs, names, rules, placement, openings, .. } = work;
        let slots = if rules.at_once { Some(u32::MAX) } else { work.slots };
        let count = gone.len();
        let mounts = openings.iter().map(Option::is_some);
        let readiness = Readiness::new(gone.into_iter().zip(mounts), now_ns);
        let mut orders = Vec::new();
        for (node, opening) in openings.into_iter().enumerate() {
            orders.extend((0..CLOCK_PROBES).map(|_| FarmHeadOrder::Probe(node)));
            let folder = work.folder.clone();
            let metered = work.migrate;
            let streamed = work.streamed;
            let open = FarmOrder::Open { slots, folder, metered, streamed };
            let both = std::iter::once(open).chain(opening.map(FarmOrder::Mount));
            orders.extend(both.map(|order| FarmHeadOrder::Send(node, order)));
        }
        let places = jobs.iter().enumerate().map(|(at, job)| (job.number, at)).collect();
        Self {
            readiness,
            clocks: vec![NodeClock::default(); count],
            tasks: vec![Vec::new(); count],
            names,
            slots: work.slots,
            at_once: rules.at_once,
            staged: rules.staged,
            farm: Dispatcher::new(jobs, Vec::new(), placement, rules),
            live: HashMap::new(),
            places,
            task: work.task,
            streamed: work.streamed,
            mover: work.migrate.then(Mover::default),
            time_limits: TimeLimits::new(now_ns),
            sent: 0,
            began_ns: work.began_ns,
            orders,
        }
    }

    /// Whether all jobs have ended, and their records were returned.
    pub fn is_over(&self) -> bool {
        self.readiness.is_settled() && self.farm.is_over()
    }

    /// Returns the state of each node.
    pub fn nodes(&self) -> &[FarmNode] {
        self.readiness.nodes()
    }

    /// Ends a turn: returns the orders that are due.
    pub fn turn(&mut self, now_ns: u64) -> Vec<FarmHeadOrder> {
        if self.readiness.settle(now_ns) {
            self.begin();
        }
        if self.readiness.is_settled() {
            self.enforce_time_limits(now_ns);
            for step in self.farm.steps(self.seconds(now_ns)) {
                self.take(step, now_ns);
            }
            self.move_jobs(now_ns);
            for (node, tasks) in self.tasks.iter_mut().enumerate() {
                let orders = orders_of(std::mem::take(tasks)).into_iter();
                self.orders.extend(orders.map(|order| FarmHeadOrder::Send(node, order)));
            }
            self.tell(FarmNews::Turn(self.farm.open()));
        }
        std::mem::take(&mut self.orders)
    }

    /// Handles a message of a node's agent.
    pub fn heard(&mut self, node: usize, message: FromAgent, now_ns: u64) {
        match message {
            FromAgent::Clock(asked_ns, received_ns, answered_ns) => {
                self.clocks[node].note(now_ns, asked_ns, received_ns, answered_ns);
            }
            FromAgent::Farm(event) => self.heard_jobs(node, *event, now_ns),
            _ => {}
        }
    }

    /// Notes that the agent of a node is lost. Its jobs are tried on other nodes.
    pub fn lost(&mut self, node: usize, reason: String, now_ns: u64) {
        if !self.readiness.lose(node, reason.clone()) || !self.readiness.is_settled() {
            return;
        }
        self.tell(FarmNews::Lost(node, reason));
        self.live.retain(|_, live| live.node != node);
        self.tasks[node].clear();
        self.farm.lost(node, self.seconds(now_ns));
    }

    /// Handles the long silence of a node, which counts once the wait for nodes is over.
    pub fn silent(&mut self, node: usize, reason: String, now_ns: u64) {
        if self.readiness.is_settled() {
            self.lost(node, reason, now_ns);
        }
    }

    /// Handles the result of a transfer: the total length of its files in bytes, or why it failed.
    pub fn moved(&mut self, transfer: &Transfer, moved: Result<u64, TransferFailure>, now_ns: u64) {
        let &Transfer { node, job, tries, way, .. } = transfer;
        let now = self.seconds(now_ns);
        let Some(live) = self.live.get_mut(&job) else { return };
        if (live.node, live.tries, live.step) != (node, tries, JobStep::Stage(way)) {
            return;
        }
        match (way, moved) {
            (Direction::Back, Ok(_)) if live.target.is_some() => {
                self.depart(job, MoveKind::Migrated);
            }
            (Direction::Back, Err(failure)) if live.target.is_some() => {
                let why = failure.into_reason();
                self.not_moved(job, format!("starts over on another node: {why}"));
                self.depart(job, MoveKind::Restart);
            }
            (_, Err(TransferFailure::Files(why))) => self.fail(job, why, now_ns),
            (Direction::There, Err(TransferFailure::Node(why))) => self.strand(job, why, now_ns),
            (Direction::Back, Err(TransferFailure::Node(_))) => {
                // The results are lost with the node, though its agent may come back.
                self.over(job, |_| Try::failed(Outcome::NodeLost), now_ns);
            }
            (Direction::There, Ok(bytes)) => {
                live.step = JobStep::Run;
                (live.tried.staged_in, live.tried.bytes_in) = (Some(now), bytes);
                let is_saved = self.farm.saved(job).is_some();
                let task = (self.task)(&self.farm.jobs()[job], tries, is_saved);
                self.send_task(node, job, task);
            }
            (Direction::Back, Ok(bytes)) => {
                (live.tried.staged_out, live.tried.bytes_out) = (Some(now), bytes);
                self.over(job, |live| live.tried, now_ns);
            }
        }
    }

    /// Returns the time in seconds since the beginning of the run.
    fn seconds(&self, now_ns: u64) -> f64 {
        now_ns.saturating_sub(self.began_ns) as f64 / 1e9
    }

    /// Gives the nodes to the dispatcher, after the wait for them.
    fn begin(&mut self) {
        let nodes = self.readiness.nodes();
        let relative = NodeFacts::speeds(&nodes.iter().map(|node| node.facts).collect::<Vec<_>>());
        let known = |bytes: &u64| *bytes > 0;
        let candidate = |((node, name), speed): ((&FarmNode, &String), f64)| Candidate {
            name: name.clone(),
            is_alive: node.gone.is_none(),
            cores: self.slots.or(node.facts.map(|facts| facts.cores)).unwrap_or(0),
            speed,
            memory: node.facts.map(|facts| facts.memory).filter(known),
            memory_free: node.facts.map(|facts| facts.memory_free).filter(known),
            ..Candidate::default()
        };
        self.farm.add_nodes(nodes.iter().zip(&self.names).zip(relative).map(candidate).collect());
        let lost = |(at, node): (usize, &FarmNode)| Some(FarmNews::Lost(at, node.gone.clone()?));
        let lost = nodes.iter().enumerate().filter_map(lost);
        self.orders.extend(lost.map(FarmHeadOrder::News));
    }

    fn order(&mut self, node: usize, order: FarmOrder) {
        self.orders.push(FarmHeadOrder::Send(node, order));
    }

    fn tell(&mut self, news: FarmNews) {
        self.orders.push(FarmHeadOrder::News(news));
    }

    fn take(&mut self, step: Step, now_ns: u64) {
        match step {
            Step::Give { node, job } => self.give(node, job, now_ns),
            Step::Recall { node, jobs } => {
                for job in &jobs {
                    self.live.entry(*job).and_modify(|live| live.is_recalled = true);
                }
                let jobs = jobs.into_iter().map(|job| self.farm.jobs()[job].number).collect();
                self.order(node, FarmOrder::Recall(jobs));
            }
            Step::Over(record) => self.tell(FarmNews::Over(record)),
        }
    }

    fn give(&mut self, node: usize, job: usize, now_ns: u64) {
        let wanted = &self.farm.jobs()[job];
        let tries = self.farm.tries(job);
        let saved = self.farm.saved(job);
        let task = (self.task)(wanted, tries, saved.is_some());
        let step = if task.own_folder { JobStep::Make } else { JobStep::Run };
        if self.streamed && saved.is_none() {
            self.orders.push(FarmHeadOrder::News(FarmNews::Begins(task.job)));
        }
        let live = RunningJob::new(node, tries, step, &task, saved.unwrap_or(0.0));
        self.live.insert(job, live);
        if size(&task) > COMMAND_MAX {
            let why = format!("its command is longer than {COMMAND_MAX} bytes");
            return self.fail(job, why, now_ns);
        }
        match step {
            JobStep::Make => {
                self.order(node, FarmOrder::Make(task.job, directories(wanted, &task.state)))
            }
            _ => self.send_task(node, job, task),
        }
    }

    /// Sends a job to be run at the end of the turn.
    fn send_task(&mut self, node: usize, job: usize, task: Task) {
        self.sent += 1;
        let sent = self.sent;
        self.live.entry(job).and_modify(|live| live.sent = Some(sent));
        self.tasks[node].push(task);
    }

    /// Has a node remove the files of a job, if it may have some.
    fn clear(&mut self, node: usize, job: usize) {
        if self.staged {
            self.order(node, FarmOrder::Clear(self.farm.jobs()[job].number));
        }
    }

    fn heard_jobs(&mut self, node: usize, event: FarmEvent, now_ns: u64) {
        let waits_or_runs = |number: u32| self.job_at(node, number, JobStep::Run);
        let leaves = |number: u32| self.job_at(node, number, JobStep::Leave);
        let running = |number: u32| waits_or_runs(number).or_else(|| leaves(number));
        match event {
            FarmEvent::Opened(facts) => self.readiness.opened(node, facts),
            FarmEvent::Mounted(wrong) => self.readiness.mounted(node, wrong),
            FarmEvent::Made(number, wrong) => {
                match (self.job_at(node, number, JobStep::Make), wrong) {
                    (Some(job), Some(why)) => self.fail(job, why, now_ns),
                    (Some(job), None) => self.transfer(job, Direction::There, now_ns),
                    (None, _) => {}
                }
            }
            FarmEvent::Output(number, output) => {
                let Some(job) = running(number) else { return };
                let live = self.live.get_mut(&job);
                // Each costs a file: a node that sends more than one would keep the head busy.
                if live.is_some_and(|live| !std::mem::replace(&mut live.has_output, true)) {
                    self.tell(FarmNews::Output(number, output));
                }
            }
            FarmEvent::Wrote(number, is_error, bytes) => {
                if self.streamed && running(number).is_some() {
                    self.tell(FarmNews::Wrote(number, is_error, bytes));
                }
            }
            FarmEvent::Returned(numbers) => {
                let jobs: Vec<usize> = numbers.into_iter().filter_map(waits_or_runs).collect();
                let is_kept = |job: &&usize| self.live.get(job).is_some_and(|it| !it.is_recalled);
                if let Some(&job) = jobs.iter().find(is_kept) {
                    // It would get the job again, and so on without end.
                    let number = self.farm.jobs()[job].number;
                    let why = format!("protocol error: it returned job {number} unasked");
                    return self.lost(node, why, now_ns);
                }
                jobs.iter().for_each(|job| drop(self.live.remove(job)));
                self.farm.returned(node, &jobs);
            }
            FarmEvent::Results(number, files) => {
                let Some(job) = running(number) else { return };
                let wanted = self.farm.jobs()[job].outputs.len();
                if let Some(live) = self.live.get_mut(&job) {
                    // One more than can be right is enough to tell that they are wrong.
                    let most = wanted.max(live.state.len()) + 1;
                    live.outputs.extend(files);
                    live.outputs.truncate(most);
                }
            }
            FarmEvent::Ended(ends) => {
                ends.into_iter().for_each(|end| self.ended(node, end, now_ns));
            }
            FarmEvent::Used { at_ns, jobs } => {
                // Measured only for moves.
                let Some(mover) = &mut self.mover else { return };
                mover.measured();
                for (number, used_ns) in jobs {
                    let live = self.places.get(&number).and_then(|job| self.live.get_mut(job));
                    if let Some(live) = live.filter(|live| live.node == node) {
                        live.cpu.note(at_ns, used_ns);
                    }
                }
            }
            FarmEvent::Left(end) => self.left(node, end, now_ns),
            FarmEvent::Stays(number, why) => {
                if let Some(live) = leaves(number).and_then(|job| self.live.get_mut(&job)) {
                    (live.step, live.target, live.stays) = (JobStep::Run, None, true);
                    self.tell(FarmNews::NotMoved(number, node, format!("stays there: {why}")));
                }
            }
        }
    }

    /// Returns the index of the job with this number, if it is in this step on the node.
    fn job_at(&self, node: usize, number: u32, step: JobStep) -> Option<usize> {
        let job = *self.places.get(&number)?;
        let live = self.live.get(&job)?;
        (live.node == node && live.step == step).then_some(job)
    }

    fn ended(&mut self, node: usize, end: TaskEnd, now_ns: u64) {
        let at = |step| self.job_at(node, end.job, step);
        let Some(job) = at(JobStep::Run).or_else(|| at(JobStep::Leave)) else { return };
        let is_done = end.outcome.is_done();
        let attempt = Try::ended(end, self.seconds_of(node, now_ns));
        let took = attempt.ended.zip(attempt.started).map_or(0.0, |(end, start)| end - start);
        if let (Some(mover), Some(cpu), true) = (&mut self.mover, attempt.cpu, is_done) {
            let cores = self.farm.jobs()[job].cores;
            let efficiency =
                cpu / took / f64::from(cores) / share(&self.readiness, self.slots, node);
            let cpu = cpu + self.farm.saved(job).unwrap_or(0.0);
            mover.finished(cores, Work { cpu, efficiency });
        }
        let Some(live) = self.live.get_mut(&job) else { return };
        // A job that has ended does not move any more.
        live.target = None;
        live.ended(attempt);
        if is_done && self.staged && !self.farm.jobs()[job].outputs.is_empty() {
            self.farm.freed(node, job, took);
            return self.transfer(job, Direction::Back, now_ns);
        }
        self.over(job, |live| live.tried, now_ns);
    }

    /// Returns the function that converts a time in nanoseconds of a node's clock to seconds since
    /// the beginning of the run. What a node tells at `now_ns` has happened by then.
    fn seconds_of(&self, node: usize, now_ns: u64) -> impl Fn(u64) -> f64 + use<> {
        let clock = self.clocks[node];
        let began_ns = self.began_ns;
        move |ns| clock.head_ns(ns).min(now_ns).saturating_sub(began_ns) as f64 / 1e9
    }

    /// Ends the jobs that their nodes should have ended long ago, since their time limit is over.
    /// Such a node gets no more jobs: it hangs, or ignores its orders.
    fn enforce_time_limits(&mut self, now_ns: u64) {
        let Some(passed_ns) = self.time_limits.passed_ns(now_ns) else { return };
        for job in TimeLimits::unanswered(&mut self.live, passed_ns) {
            self.give_up_answer(job, now_ns);
        }
        let slots = if self.at_once { Some(u32::MAX) } else { self.slots };
        let nodes = self.readiness.nodes();
        let room = |node: usize| slots.or(nodes[node].facts.map(|facts| facts.cores)).unwrap_or(0);
        for job in TimeLimits::overdue(&mut self.live, room, passed_ns) {
            let Some(node) = self.live.get(&job).map(|live| live.node) else { continue };
            let number = self.farm.jobs()[job].number;
            let ended = |live: RunningJob| Try { outcome: Outcome::Timeout, ..live.tried };
            self.over(job, ended, now_ns);
            let grace = TimeLimits::GRACE_NS / 1_000_000_000;
            let why = format!("it did not end job {number} within {grace} s of its time limit");
            self.lost(node, why, now_ns);
        }
    }

    /// Handles an order about a job that its node has not answered. Where directories could not be
    /// made, other jobs may run all the same, so the job goes to another node; one that does not
    /// leave is lost with its node.
    fn give_up_answer(&mut self, job: usize, now_ns: u64) {
        // The loss of its node may have ended it meanwhile.
        let Some(live) = self.live.get(&job) else { return };
        let node = live.node;
        let step = live.step;
        let number = self.farm.jobs()[job].number;
        let name = &self.names[node];
        match step {
            JobStep::Make => {
                let limit = TimeLimits::MAKE_NS / 1_000_000_000;
                let why = format!(
                    "cannot make the directories of job {number} on {name}: no answer of its agent \
                     within {limit} s"
                );
                self.strand(job, why, now_ns);
            }
            JobStep::Leave => {
                let limit = TimeLimits::LEAVE_NS / 1_000_000_000;
                let why = format!("it did not let job {number} leave within {limit} s");
                self.lost(node, why, now_ns);
            }
            JobStep::Stage(_) | JobStep::Run => {}
        }
    }

    /// Gives a job that was not started to another node, since this one does not answer.
    fn strand(&mut self, job: usize, why: String, now_ns: u64) {
        let Some(live) = self.live.remove(&job) else { return };
        self.clear(live.node, job);
        self.farm.stranded(live.node, job, why, self.seconds(now_ns));
    }

    /// Orders the jobs to leave that are to move now.
    fn move_jobs(&mut self, now_ns: u64) {
        let now = self.seconds(now_ns);
        let Some(mover) = &mut self.mover else { return };
        let share_of = |node| share(&self.readiness, self.slots, node);
        for (job, target) in mover.due(&self.live, &self.farm, share_of, now) {
            let Some(live) = self.live.get_mut(&job) else { continue };
            (live.step, live.target) = (JobStep::Leave, Some(target));
            live.unanswered_ns = 0;
            let node = live.node;
            let number = self.farm.jobs()[job].number;
            self.order(node, FarmOrder::Leave(number));
        }
    }

    /// Handles the end of a job that was ordered to leave its node: what it has saved follows.
    fn left(&mut self, node: usize, end: TaskEnd, now_ns: u64) {
        let Some(job) = self.job_at(node, end.job, JobStep::Leave) else { return };
        let attempt = Try::ended(end, self.seconds_of(node, now_ns));
        let Some(live) = self.live.get_mut(&job) else { return };
        live.ended(attempt);
        match (live.saves, live.outputs.len() == live.state.len()) {
            (true, true) if live.state.is_empty() => self.depart(job, MoveKind::Migrated),
            (true, true) => self.transfer(job, Direction::Back, now_ns),
            (true, false) => {
                let why = "starts over on another node: its agent cannot read its state files";
                self.not_moved(job, why.to_owned());
                self.depart(job, MoveKind::Restart);
            }
            (false, _) => self.depart(job, MoveKind::Restart),
        }
    }

    /// Gives a job that has left its node to another one.
    fn depart(&mut self, job: usize, kind: MoveKind) {
        let Some(live) = self.live.remove(&job) else { return };
        self.clear(live.node, job);
        let left = Move {
            tries: live.tries,
            from: self.names[live.node].clone(),
            to: None,
            at: live.tried.ended.unwrap_or(0.0),
            kind,
            started: live.tried.started.unwrap_or(0.0),
            cpu: live.tried.cpu.unwrap_or(0.0),
        };
        self.farm.left(live.node, job, live.target, left);
    }

    /// Reports that the work of a job cannot be moved.
    fn not_moved(&mut self, job: usize, what: String) {
        let node = self.live.get(&job).map(|live| live.node);
        let number = self.farm.jobs()[job].number;
        node.into_iter().for_each(|node| self.tell(FarmNews::NotMoved(number, node, what.clone())));
    }

    /// Begins the transfer of a job's files; those of a job that has left its node are its state
    /// files.
    fn transfer(&mut self, job: usize, way: Direction, now_ns: u64) {
        let now = self.seconds(now_ns);
        let Some(live) = self.live.get_mut(&job) else { return };
        live.step = JobStep::Stage(way);
        if way == Direction::There {
            live.tried.staging = Some(now);
        }
        let node = live.node;
        let tries = live.tries;
        let outputs = std::mem::take(&mut live.outputs);
        let wanted = &self.farm.jobs()[job];
        let number = wanted.number;
        let is_saved = self.farm.saved(job).is_some();
        let (names, state) = match way {
            Direction::There if is_saved => (wanted.inputs.clone(), live.state.clone()),
            Direction::There => (wanted.inputs.clone(), Vec::new()),
            Direction::Back if live.target.is_some() => (Vec::new(), live.state.clone()),
            Direction::Back => (wanted.outputs.clone(), Vec::new()),
        };
        let transfer = Transfer { node, job, number, tries, way, names, state, outputs };
        if way == Direction::Back && transfer.outputs.len() < transfer.count() {
            let why = transfer.failed("protocol error: its agent did not describe the file");
            return self.fail(job, why, now_ns);
        }
        self.orders.push(FarmHeadOrder::Transfer(transfer));
    }

    /// Ends a try that failed in a step other than the command.
    fn fail(&mut self, job: usize, why: String, now_ns: u64) {
        self.over(job, |live| live.failed(why), now_ns);
    }

    /// Ends a try with this result.
    fn over(&mut self, job: usize, tried: impl FnOnce(RunningJob) -> Try, now_ns: u64) {
        let Some(live) = self.live.remove(&job) else { return };
        let node = live.node;
        self.clear(node, job);
        self.farm.tried(node, job, tried(live), self.seconds(now_ns));
    }
}

/// Returns the part of a processor that a node gives each of its jobs.
fn share(readiness: &Readiness, slots: Option<u32>, node: usize) -> f64 {
    let facts = readiness.nodes()[node].facts;
    facts.map_or(1.0, |facts| facts.share_of(slots.unwrap_or(facts.cores)))
}

#[cfg(test)]
mod tests;

//! The head's driver of a copy: a loop over all control channels and the head's own lanes.

mod beginning;
mod ending;
mod job;
mod late;
mod near_end;
mod notes;
mod parts;
mod session;

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use garland_core::plan::NodeId;
use garland_core::trace::{Exchange, Stage};
use garland_protocol::{
    Absence, CopyId, DigestKey, FromAgent, Head, HeadEvent, HeadOrder, NodeAddress, Operations,
    Secret, ToAgent,
};
use garland_sys::event::Wake;
use garland_sys::signal::Interrupts;
use garland_sys::{clock, random};

pub use self::job::{Agent, CopyJob, Ends, Newcomer, Pipeline, Progress};
use self::near_end::near_end;
pub use self::session::CopySession;
use crate::agent_set::{AgentEvent, AgentSet};
use crate::outcome::{NodeOutcome, Outcome, Times};
use crate::queue::Queue;
use garland_dataplane::context::{CopyContext, Notice};
use garland_dataplane::recorder::{At, ClockProbes, Exchanges, Harvest};

/// The longest interval between two calls of `observe`.
const SHOW: Duration = Duration::from_nanos(SHOW_NS);
const SHOW_NS: u64 = 100_000_000;

/// An iteration of the loop that takes longer than this, in nanoseconds, means that the process was
/// suspended; that time does not count as silence of nodes.
const SLEEP_NS: u64 = 500_000_000;

/// Silence after which an agent is considered to hang while copies are closed, in nanoseconds;
/// heartbeats arrive every 100 ms.
const QUIET_NS: u64 = 800_000_000;

/// Runs a copy. `agents` contains the agent or error of each receiver, in the order of the plan.
/// Calls `observe` at intervals.
///
/// # Errors
/// When this host has no file descriptors or threads left, or its own destination cannot be opened.
pub fn run_copy(
    job: &CopyJob<'_>,
    agents: Vec<Result<Agent, String>>,
    interrupts: Option<&Interrupts>,
    observe: &mut dyn FnMut(&Progress<'_>),
) -> std::io::Result<Outcome> {
    Ok(drive(job, agents, interrupts, observe)?.end())
}

/// Drives a copy until all nodes have a verdict; it is not closed yet.
fn drive<'a>(
    job: &'a CopyJob<'a>,
    agents: Vec<Result<Agent, String>>,
    interrupts: Option<&Interrupts>,
    observe: &mut dyn FnMut(&Progress<'_>),
) -> std::io::Result<Driver<'a>> {
    let agents = agents.into_iter().zip(job.plan.receivers());
    let agents = agents.map(|(agent, (_, node))| {
        agent.map_err(|reason| Box::new(NodeOutcome::failed(&node.name, reason)))
    });
    let mut driver = Driver::new(job, agents.collect())?;
    driver.begin()?;
    while !driver.finished {
        if !driver.busy.is_empty() {
            driver = driver.queue_up(interrupts)?;
            continue;
        }
        driver.wait(interrupts)?;
        driver.turn()?;
        let waiting = driver.queue.as_ref().map(Queue::waited_for).unwrap_or_default();
        observe(&Progress { head: &driver.head, now_ns: clock::now_ns(), waiting });
    }
    Ok(driver)
}

/// The agent of a receiver, or the outcome of its node if that has ended already.
type PlannedAgent = Result<Agent, Box<NodeOutcome>>;

/// The result of committing the file on this machine.
type Stored = Result<(), String>;

/// The state of a node in an attempt.
#[derive(Default)]
struct CopyNode {
    /// The addresses of the node's agent.
    addresses: NodeAddress,
    /// The node's outcome, if the node ended before this attempt.
    before: Option<NodeOutcome>,
    /// The files of the tree that the node did not deliver.
    absence: Absence,
    /// Whether the order to begin was sent to the node.
    started: bool,
    /// Whether the node has received its first block.
    first: bool,
    /// The time at which the node had received every block.
    held_ns: Option<u64>,
    /// Whether the node has closed the copy.
    closed: bool,
    /// The time of the node's last message.
    heard_ns: u64,
}

struct Driver<'a> {
    job: &'a CopyJob<'a>,
    secret: Secret,
    /// The key for the reader of the source.
    digest_key: DigestKey,
    copy: CopyId,
    head: Head,
    agents: AgentSet,
    /// The nodes by id; the entry of the head has no addresses.
    nodes: Vec<CopyNode>,
    /// Nodes that joined while the copy was running.
    late: Vec<NodeId>,
    /// The names of nodes that are not in the plan.
    joined: Vec<String>,
    /// Agents that have no free memory for the copy.
    busy: Vec<NodeId>,
    /// The queue for memory of busy agents, while the copy waits for it.
    queue: Option<Queue>,
    context: Arc<CopyContext>,
    /// The operations in flight, if their number is limited.
    operations: Option<Operations>,
    /// Sources of a gather that delivered everything and confirmed that their file has not changed;
    /// they complete when the file on this machine is committed.
    delivered: Vec<(NodeId, FromAgent)>,
    /// The channel of the thread that commits the file on this machine.
    stored: (Sender<Stored>, Receiver<Stored>),
    notices: Receiver<Notice>,
    wake: Arc<Wake>,
    threads: Vec<JoinHandle<()>>,
    moments: Times,
    /// The trace: times of orders, clock probes, and the nodes' traces.
    exchanges: Exchanges,
    probes: ClockProbes,
    harvest: Harvest,
    /// The time of the head's last report on its own hops.
    reported_ns: u64,
    /// The start of the loop's last iteration.
    turned_ns: u64,
    finished: bool,
    interrupted: bool,
    /// Whether all threads of the copy on this machine have ended.
    is_clean: bool,
}

impl<'a> Driver<'a> {
    fn new(job: &'a CopyJob<'a>, agents: Vec<PlannedAgent>) -> std::io::Result<Self> {
        let (copy, secret) = (CopyId(random::bytes()), Secret(random::bytes()));
        let digest_key = DigestKey::Sign(Secret(random::bytes()));
        let wake = Arc::new(Wake::new()?);
        let (tell, notices) = channel();
        let operations = job.pipeline.cut.map(|cut| Operations::new(cut, job.plan.layout));
        let waker = Arc::clone(&wake);
        let context = near_end(job, copy, &secret, &digest_key, move |notice| {
            // Fails if the loop has ended.
            let _ = tell.send(notice);
            waker.raise();
        })?;
        operations.iter().for_each(|operations| context.serve_until(operations.bound()));
        let now = clock::now_ns();
        let mut connections = Vec::new();
        let mut nodes = vec![CopyNode { heard_ns: now, ..CopyNode::default() }];
        for agent in agents {
            let (connection, addresses, before) = match agent {
                Ok(agent) => (Some(agent.connection), agent.addresses, None),
                Err(outcome) => (None, Vec::new(), Some(*outcome)),
            };
            connections.push(connection);
            nodes.push(CopyNode { addresses, before, heard_ns: now, ..CopyNode::default() });
        }
        let addresses = nodes.iter().map(|node| node.addresses.clone()).collect();
        let mut head = Head::new(copy, job.plan, addresses, job.policy, now);
        for (id, node) in (0..).map(NodeId).zip(&nodes) {
            if let Some(outcome) = &node.before {
                outcome.replay(id, copy, &mut head);
            }
        }
        let count = nodes.len();
        Ok(Self {
            job,
            secret,
            digest_key,
            copy,
            head,
            nodes,
            late: Vec::new(),
            joined: Vec::new(),
            busy: Vec::new(),
            queue: None,
            agents: AgentSet::new(connections.into_iter()),
            context,
            operations,
            delivered: Vec::new(),
            stored: channel(),
            notices,
            wake,
            threads: Vec::new(),
            exchanges: Exchanges::new(count),
            probes: ClockProbes::new(count),
            harvest: Harvest::new(count),
            moments: Times::default(),
            reported_ns: 0,
            turned_ns: clock::now_ns(),
            finished: false,
            interrupted: false,
            is_clean: true,
        })
    }

    /// Waits for an event, or the next deadline.
    fn wait(&mut self, interrupts: Option<&Interrupts>) -> std::io::Result<()> {
        let timeout = self.head.deadline().map_or(SHOW, |at| clock::until(at).min(SHOW));
        let mut others: Vec<BorrowedFd<'_>> = vec![self.wake.as_fd()];
        others.extend(interrupts.map(AsFd::as_fd));
        let events = self.agents.wait(&others, timeout)?;
        if interrupts.is_some_and(Interrupts::have_come) {
            self.interrupted = true;
            self.head.handle(clock::now_ns(), HeadEvent::Interrupted);
        }
        for (id, event) in events {
            match event {
                AgentEvent::Message(message) => self.message(id, message),
                // The node has delivered everything: its loss does not matter.
                AgentEvent::Lost(_) if self.has_delivered(id) => {}
                AgentEvent::Lost(reason) => {
                    self.head.handle(clock::now_ns(), HeadEvent::Lost(id, reason));
                }
            }
        }
        Ok(())
    }

    fn turn(&mut self) -> std::io::Result<()> {
        self.wake.lower();
        let now = clock::now_ns();
        let slept = now.saturating_sub(std::mem::replace(&mut self.turned_ns, now));
        if slept > SLEEP_NS {
            self.context.config.trace.took(Stage::Pause, At::HERE, now - slept);
            self.head.handle(now, HeadEvent::Slept(slept));
        }
        self.context.sample();
        self.report_own(now);
        self.context.cut_silent_links();
        self.probe_clocks();
        while let Ok(notice) = self.notices.try_recv() {
            self.notice(notice);
        }
        self.settle_delivered();
        if let (Ends::Out { source, .. }, true) = (&self.job.ends, self.job.plan.layout.open) {
            source.release(self.head.held_by_all());
        }
        // Judge silence by the start of this iteration: messages that arrived since then are
        // unread, and a head that got no CPU time must not declare nodes dead.
        if self.head.deadline().is_some_and(|at| at <= now) {
            self.head.handle(now, HeadEvent::Tick);
        }
        if self.queue.is_some() {
            return self.advance();
        }
        self.add_late();
        self.execute_orders();
        self.note_moments();
        Ok(())
    }

    /// Reports the head's own hops to the state machine, at the same interval as nodes report
    /// theirs.
    fn report_own(&mut self, now: u64) {
        if now.saturating_sub(self.reported_ns) >= SHOW_NS {
            self.reported_ns = now;
            self.head.handle(now, HeadEvent::Own(self.context.report()));
        }
    }

    fn notice(&mut self, notice: Notice) {
        let now = clock::now_ns();
        let event = match notice {
            Notice::Read(root) => {
                // In an incremental copy nodes report the end of sending: see `message`.
                if self.job.known.is_none() {
                    self.moments.sent = Some(now);
                }
                self.read(root)
            }
            Notice::Complete(root) => {
                self.nodes.iter_mut().for_each(|node| node.held_ns = Some(now));
                self.check_received(root);
                return;
            }
            Notice::First => {
                return self.nodes.iter_mut().for_each(|node| node.first = true);
            }
            Notice::Bad(index) => HeadEvent::Bad(index),
            Notice::Written(_) => return,
            Notice::LinkLost(lane, epoch, _, reason) => HeadEvent::LinkLost(lane, epoch, reason),
            Notice::BadFrame(lane, epoch, _) => HeadEvent::BadFrame(lane, epoch),
            Notice::Failed(reason) => HeadEvent::SourceFailed(reason),
        };
        self.head.handle(now, event);
    }

    fn message(&mut self, id: NodeId, message: FromAgent) {
        let now = clock::now_ns();
        self.nodes[id.index()].heard_ns = now;
        let message = match message {
            FromAgent::Clock(asked, received, answered) => {
                return self.note_clock(id, [asked, received, answered]);
            }
            FromAgent::Trace(copy, parcel, more) if copy == self.copy => {
                return self.harvest.take(id, &parcel, more);
            }
            other => other,
        };
        self.note_answer(id, &message);
        match &message {
            FromAgent::First(_) => self.nodes[id.index()].first = true,
            FromAgent::Complete(..) if self.context.config.is_source => {
                self.nodes[id.index()].held_ns = Some(now);
            }
            // The time is that of the last node's message.
            FromAgent::Complete(..) => self.moments.sent = Some(now),
            FromAgent::Committed(copy, _)
                if *copy == self.copy && !self.context.config.is_source =>
            {
                return self.note_delivered(id, message);
            }
            FromAgent::Written(copy, index) if *copy == self.copy => {
                let operations = self.operations.as_mut();
                let bound = operations.and_then(|operations| operations.written(*index));
                bound.into_iter().for_each(|bound| self.context.serve_until(bound));
            }
            FromAgent::Absent(copy, absence) if *copy == self.copy => {
                self.nodes[id.index()].absence.clone_from(absence);
            }
            FromAgent::Closed(_) => self.nodes[id.index()].closed = true,
            FromAgent::Busy(copy, _) if *copy == self.copy && self.late.contains(&id) => {
                let reason =
                    "it joined late, and its agent has no free memory: other copies use it"
                        .to_owned();
                let failed = FromAgent::Failed(self.copy, reason);
                return self.head.handle(now, HeadEvent::From(id, failed));
            }
            FromAgent::Busy(copy, _) if *copy == self.copy => self.busy.push(id),
            FromAgent::Admitted(copy) if *copy == self.copy => {
                self.queue.iter_mut().for_each(|queue| queue.settle(id));
            }
            _ => {}
        }
        self.head.handle(now, HeadEvent::From(id, message));
    }

    /// Executes the orders of the state machine.
    fn execute_orders(&mut self) {
        while let Some(order) = self.head.poll() {
            match order {
                HeadOrder::Send(id, message) => {
                    if matches!(message, ToAgent::Prepare(..) | ToAgent::Commit(..)) {
                        self.exchanges.asked(id, Exchange::Commit, &self.context.config.trace);
                    }
                    self.agents.send(id, &message);
                }
                HeadOrder::Route(route) => self.context.route(route),
                HeadOrder::Finished => self.finished = true,
            }
        }
    }

    /// Sets the times of phases that have ended.
    fn note_moments(&mut self) {
        use garland_protocol::NodeState as At;
        let now = clock::now_ns();
        let states: Vec<_> = self.head.states().zip(&self.nodes).skip(1).collect();
        let over = |state: &At| matches!(state, At::Failed(_) | At::Dead(_));
        let times = &mut self.moments;
        if states.iter().all(|(state, _)| **state != At::Joining) {
            times.ready.get_or_insert(now);
        }
        if states.iter().all(|(state, node)| node.first || over(state)) {
            times.first.get_or_insert(now);
        }
        if states.iter().all(|(state, node)| node.held_ns.is_some() || over(state)) {
            times.held.get_or_insert(now);
        }
        if self.finished {
            times.committed.get_or_insert(now);
        }
    }
}

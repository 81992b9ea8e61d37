//! The head's driver: one loop over all control channels, and lanes of its own, which feed all others
//! or are fed by them.

mod beginning;
mod ending;
mod job;
mod late;
mod near_end;
mod notes;
mod parts;

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
use crate::agent_set::{AgentEvent, AgentSet};
use crate::outcome::{NodeOutcome, Outcome, Times};
use crate::queue::Queue;
use garland_dataplane::context::{CopyContext, Notice};
use garland_dataplane::recorder::{At, ClockProbes, Exchanges, Harvest};

/// How often progress is shown at least.
const SHOW: Duration = Duration::from_nanos(SHOW_NS);
const SHOW_NS: u64 = 100_000_000;

/// The loop comes round every [`SHOW`] at least; one that took longer than this didn't run.
const SLEEP_NS: u64 = 500_000_000;

/// An agent that hasn't said a word for so long while goodbyes are said, though it should every
/// 100 ms, hangs, and isn't waited for.
const QUIET_NS: u64 = 800_000_000;

/// Makes a copy. `agents` are the receivers' in the plan's order, or why there is none; `observe`
/// is called now and then.
///
/// # Errors
/// When this host has no descriptors or threads left, or what comes in can't be put where it should
/// go here.
pub fn run_copy(
    job: &CopyJob<'_>,
    agents: Vec<Result<Agent, String>>,
    interrupts: Option<&Interrupts>,
    observe: &mut dyn FnMut(&Progress<'_>),
) -> std::io::Result<Outcome> {
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
    Ok(driver.end())
}

/// An agent, or how its node has ended already.
type Seated = Result<Agent, Box<NodeOutcome>>;

/// How putting a file under its final name went.
type Stored = Result<(), String>;

struct Driver<'a> {
    job: &'a CopyJob<'a>,
    secret: Secret,
    /// For whoever reads the source.
    digest_key: DigestKey,
    copy: CopyId,
    head: Head,
    board: AgentSet,
    /// Where the receivers' agents listen.
    addresses: Vec<NodeAddress>,
    /// How receivers ended before this attempt.
    before: Vec<Option<NodeOutcome>>,
    /// Nodes that came when the copy was under way.
    late: Vec<NodeId>,
    /// The names of those behind the plan's.
    joined: Vec<String>,
    /// Agents that have no room for the copy now.
    busy: Vec<NodeId>,
    /// The copy hasn't begun: it waits for its places.
    queue: Option<Queue>,
    member: Arc<CopyContext>,
    /// What may be under way, if not all that there is memory for.
    operations: Option<Operations>,
    /// Nodes that have given all and proved it unchanged, and what they said: they are done when the
    /// file here is.
    given: Vec<(NodeId, FromAgent)>,
    /// What each node didn't give of its tree.
    absences: Vec<Absence>,
    /// How putting the file here under its final name went.
    stored: (Sender<Stored>, Receiver<Stored>),
    notices: Receiver<Notice>,
    wake: Arc<Wake>,
    threads: Vec<JoinHandle<()>>,
    started: Vec<bool>,
    firsts: Vec<bool>,
    held_ns: Vec<Option<u64>>,
    closed: Vec<bool>,
    /// When each said something last.
    heard_ns: Vec<u64>,
    moments: Times,
    /// What is noted: how long orders take, what time it is elsewhere, and the nodes' own traces.
    exchanges: Exchanges,
    probes: ClockProbes,
    harvest: Harvest,
    /// When the head last told of its own part.
    reported_ns: u64,
    /// When the loop came round last.
    turned_ns: u64,
    finished: bool,
    interrupted: bool,
    /// All threads of this machine's part have ended.
    is_clean: bool,
}

impl<'a> Driver<'a> {
    fn new(job: &'a CopyJob<'a>, agents: Vec<Seated>) -> std::io::Result<Self> {
        let (copy, secret) = (CopyId(random::bytes()), Secret(random::bytes()));
        let digest_key = DigestKey::Sign(Secret(random::bytes()));
        let wake = Arc::new(Wake::new()?);
        let (tell, notices) = channel();
        let operations = job.pipeline.cut.map(|cut| Operations::new(cut, job.plan.layout));
        let waker = Arc::clone(&wake);
        let member = near_end(job, copy, &secret, &digest_key, move |notice| {
            // The loop may have ended before a late thread.
            let _ = tell.send(notice);
            waker.raise();
        })?;
        operations.iter().for_each(|operations| member.serve_until(operations.bound()));
        let (mut connections, mut addresses, mut before) = (Vec::new(), Vec::new(), Vec::new());
        for agent in agents {
            let (connection, address, outcome) = match agent {
                Ok(agent) => (Some(agent.connection), agent.addresses, None),
                Err(outcome) => (None, Vec::new(), Some(*outcome)),
            };
            connections.push(connection);
            addresses.push(address);
            before.push(outcome);
        }
        let nodes = connections.len() + 1;
        let by_id = std::iter::once(Vec::new()).chain(addresses.iter().cloned()).collect();
        let mut head = Head::new(copy, job.plan, by_id, job.policy, clock::now_ns());
        for (id, outcome) in (1..).map(NodeId).zip(&before) {
            if let Some(outcome) = outcome {
                outcome.replay(id, copy, &mut head);
            }
        }
        Ok(Self {
            job,
            secret,
            digest_key,
            copy,
            head,
            addresses,
            before,
            late: Vec::new(),
            joined: Vec::new(),
            busy: Vec::new(),
            queue: None,
            board: AgentSet::new(connections.into_iter()),
            member,
            operations,
            given: Vec::new(),
            absences: vec![Absence::default(); nodes],
            stored: channel(),
            notices,
            wake,
            threads: Vec::new(),
            started: vec![false; nodes],
            firsts: vec![false; nodes],
            held_ns: vec![None; nodes],
            closed: vec![false; nodes],
            heard_ns: vec![clock::now_ns(); nodes],
            exchanges: Exchanges::new(nodes),
            probes: ClockProbes::new(nodes),
            harvest: Harvest::new(nodes),
            moments: Times::default(),
            reported_ns: 0,
            turned_ns: clock::now_ns(),
            finished: false,
            interrupted: false,
            is_clean: true,
        })
    }

    /// Waits until somebody has something to say, or it is time for something.
    fn wait(&mut self, interrupts: Option<&Interrupts>) -> std::io::Result<()> {
        let timeout = self.head.deadline().map_or(SHOW, |at| clock::until(at).min(SHOW));
        let mut others: Vec<BorrowedFd<'_>> = vec![self.wake.as_fd()];
        others.extend(interrupts.map(AsFd::as_fd));
        let calls = self.board.wait(&others, timeout)?;
        if interrupts.is_some_and(Interrupts::have_come) {
            self.interrupted = true;
            self.head.handle(clock::now_ns(), HeadEvent::Interrupted);
        }
        for (id, call) in calls {
            match call {
                AgentEvent::Message(message) => self.message(id, message),
                // What it had to give is here.
                AgentEvent::Lost(_) if self.has_given(id) => {}
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
            self.member.trace.took(Stage::Pause, At::HERE, now - slept);
            self.head.handle(now, HeadEvent::Slept(slept));
        }
        self.member.sample();
        self.report_own(now);
        self.member.cut_silent_links();
        self.ask_the_time();
        while let Ok(notice) = self.notices.try_recv() {
            self.notice(notice);
        }
        self.settle_given();
        if let (Ends::Out { source, .. }, true) = (&self.job.ends, self.job.plan.layout.open) {
            source.release(self.head.held_by_all());
        }
        // By the time at which this turn began: what came since hasn't been read, and a head that
        // lacks a processor must take nobody for silent whom it hasn't listened to.
        if self.head.deadline().is_some_and(|at| at <= now) {
            self.head.handle(now, HeadEvent::Tick);
        }
        if self.queue.is_some() {
            return self.advance();
        }
        self.take_in_late();
        self.obey();
        self.note_moments();
        Ok(())
    }

    /// Tells how its own hops go, as often as the nodes tell of theirs.
    fn report_own(&mut self, now: u64) {
        if now.saturating_sub(self.reported_ns) >= SHOW_NS {
            self.reported_ns = now;
            self.head.handle(now, HeadEvent::Own(self.member.report()));
        }
    }

    fn notice(&mut self, notice: Notice) {
        let now = clock::now_ns();
        let event = match notice {
            Notice::Read(root) => {
                // What was known before is sent when nodes hold what they lacked.
                if self.job.known.is_none() {
                    self.moments.sent = Some(now);
                }
                self.read(root)
            }
            Notice::Complete(root) => {
                self.held_ns.fill(Some(now));
                self.take_stock(root);
                return;
            }
            Notice::First => return self.firsts.fill(true),
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
        self.heard_ns[id.index()] = now;
        let message = match message {
            FromAgent::Clock(asked, came, answered) => {
                return self.time_told(id, [asked, came, answered]);
            }
            FromAgent::Trace(copy, parcel, more) if copy == self.copy => {
                return self.harvest.take(id, &parcel, more);
            }
            other => other,
        };
        self.note_answer(id, &message);
        match &message {
            FromAgent::First(_) => self.firsts[id.index()] = true,
            FromAgent::Complete(..) if self.member.is_source => {
                self.held_ns[id.index()] = Some(now);
            }
            // The last one's word counts.
            FromAgent::Complete(..) => self.moments.sent = Some(now),
            FromAgent::Committed(copy, _) if *copy == self.copy && !self.member.is_source => {
                return self.note_given(id, message);
            }
            FromAgent::Written(copy, index) if *copy == self.copy => {
                let operations = self.operations.as_mut();
                let bound = operations.and_then(|operations| operations.written(*index));
                bound.into_iter().for_each(|bound| self.member.serve_until(bound));
            }
            FromAgent::Absent(copy, absence) if *copy == self.copy => {
                self.absences[id.index()].clone_from(absence);
            }
            FromAgent::Closed(_) => self.closed[id.index()] = true,
            FromAgent::Busy(copy, _) if *copy == self.copy && self.late.contains(&id) => {
                let reason = "it came late, and its agent is busy with other copies".to_owned();
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

    fn obey(&mut self) {
        while let Some(order) = self.head.poll() {
            match order {
                HeadOrder::Send(id, message) => {
                    if matches!(message, ToAgent::Prepare(..) | ToAgent::Commit(..)) {
                        self.exchanges.asked(id, Exchange::Commit, &self.member.trace);
                    }
                    self.board.send(id, &message);
                }
                HeadOrder::Route(route) => self.member.route(route),
                HeadOrder::Finished => self.finished = true,
            }
        }
    }

    fn note_moments(&mut self) {
        use garland_protocol::NodeState as At;
        let now = clock::now_ns();
        let states: Vec<&At> = self.head.states().skip(1).collect();
        let over = |state: &At| matches!(state, At::Failed(_) | At::Dead(_));
        let times = &mut self.moments;
        if states.iter().all(|state| **state != At::Joining) {
            times.ready.get_or_insert(now);
        }
        if states.iter().zip(&self.firsts[1..]).all(|(state, first)| *first || over(state)) {
            times.first.get_or_insert(now);
        }
        if states.iter().zip(&self.held_ns[1..]).all(|(state, held)| held.is_some() || over(state))
        {
            times.held.get_or_insert(now);
        }
        if self.finished {
            times.committed.get_or_insert(now);
        }
    }
}

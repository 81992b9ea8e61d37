//! The head's driver of a copy: a loop over all control channels and the head's own lanes.

mod attempt;
mod beginning;
mod ending;
mod job;
mod notes;
mod parts;
mod session;
#[cfg(test)]
mod tests;

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use garland_core::plan::NodeId;
use garland_core::trace::{Exchange, Stage};
use garland_dataplane::context::Notice;
use garland_dataplane::recorder::At;
use garland_protocol::copy::{Head, HeadEvent, HeadOrder, NodeAddress};
use garland_protocol::operation::{AgentEvent, Turns};
use garland_protocol::{FromAgent, ToAgent};
use garland_sys::clock;
use garland_sys::signal::Interrupts;

use self::attempt::Attempt;
pub use self::job::{Agent, CopyJob, Ends, Latecomers, Newcomer, Pipeline, Progress};
pub use self::session::CopySession;
use crate::agent_set::AgentSet;
use crate::outcome::Outcome;

/// The longest interval between two calls of `observe`.
const SHOW_INTERVAL: Duration = Duration::from_nanos(SHOW_NS);
const SHOW_NS: u64 = 100_000_000;

/// Runs a copy. `agents` contains the agent or error of each receiver, in the order of the plan.
/// Calls `observe` at intervals. Returns the outcome, and the agents for another operation, or why
/// they cannot be used; nodes that joined are last.
///
/// # Errors
/// When this host has no file descriptors or threads left, or its own destination cannot be opened.
pub fn run_copy(
    job: &CopyJob<'_>,
    agents: Vec<Result<Agent, String>>,
    interrupts: Option<&Interrupts>,
    observe: &mut dyn FnMut(&Progress<'_>),
) -> std::io::Result<(Outcome, Vec<Result<Agent, String>>)> {
    let mut driver = drive(job, agents, interrupts, observe)?;
    let outcome = driver.end();
    let agents = driver.into_agents(&outcome);
    Ok((outcome, agents))
}

/// Drives a copy until all nodes have a verdict. The agents have not closed the copy then.
fn drive<'a>(
    job: &'a CopyJob<'a>,
    agents: Vec<Result<Agent, String>>,
    interrupts: Option<&Interrupts>,
    observe: &mut dyn FnMut(&Progress<'_>),
) -> std::io::Result<Driver<'a>> {
    let mut driver = Driver::new(job, agents)?;
    driver.execute_orders(interrupts)?;
    while !driver.finished {
        driver.wait(interrupts)?;
        driver.turn(interrupts)?;
        let waiting = driver.head.waited_for();
        observe(&Progress { head: &driver.head, now_ns: clock::now_ns(), waiting });
    }
    Ok(driver)
}

/// The channels, threads and files of a copy at its head. The state machine makes all decisions.
struct Driver<'a> {
    job: &'a CopyJob<'a>,
    head: Head,
    agents: AgentSet,
    /// The addresses of each agent in `agents`.
    addresses: Vec<NodeAddress>,
    attempt: Attempt,
    /// The time of the head's last report on its own hops, in monotonic nanoseconds.
    reported_ns: u64,
    turns: Turns,
    /// The digest of a source that was compared, before anything was sent, until no node lacks a
    /// block: only then the source is looked at for the last time.
    compared: Option<[u8; 32]>,
    finished: bool,
}

impl<'a> Driver<'a> {
    fn new(job: &'a CopyJob<'a>, agents: Vec<Result<Agent, String>>) -> std::io::Result<Self> {
        let attempt = Attempt::new(job, agents.len() + 1)?;
        let now = clock::now_ns();
        let mut missing = Vec::new();
        let agents =
            agents.into_iter().zip(job.plan.receivers()).map(|(agent, (id, _))| match agent {
                Ok(agent) => (Some(agent.connection), agent.addresses),
                Err(reason) => {
                    missing.push(HeadEvent::Unavailable(id, reason));
                    (None, Vec::new())
                }
            });
        let (connections, addresses): (Vec<_>, Vec<NodeAddress>) = agents.unzip();
        let all = std::iter::once(Vec::new()).chain(addresses.iter().cloned()).collect();
        let dead_after = Duration::from_nanos(job.policy.dead_after_ns);
        let mut head = Head::new(attempt.copy, job.plan, all, job.policy, now);
        job.reached.iter().for_each(|reached| head.feed_unreached(reached.clone()));
        let late = job.late.iter().flat_map(|late| &late.awaited);
        missing.extend(late.map(|id| HeadEvent::Awaited(*id)));
        missing.into_iter().for_each(|event| head.handle(now, event));
        head.handle(now, HeadEvent::Begin);
        Ok(Self {
            job,
            head,
            agents: AgentSet::new(connections.into_iter()).with_patience(dead_after),
            addresses,
            attempt,
            reported_ns: 0,
            turns: Turns::new(now),
            compared: None,
            finished: false,
        })
    }

    /// Waits for an event, or the next deadline.
    fn wait(&mut self, interrupts: Option<&Interrupts>) -> std::io::Result<()> {
        let timeout =
            self.head.deadline().map_or(SHOW_INTERVAL, |at| clock::until(at).min(SHOW_INTERVAL));
        let mut others: Vec<BorrowedFd<'_>> = vec![self.attempt.wake.as_fd()];
        others.extend(interrupts.map(AsFd::as_fd));
        let events = self.agents.wait(&others, timeout)?;
        if interrupts.is_some_and(Interrupts::have_come) {
            self.head.handle(clock::now_ns(), HeadEvent::Interrupted);
        }
        for (id, event) in events {
            match event {
                AgentEvent::Message(message) => self.message(id, message),
                AgentEvent::Lost(reason) => {
                    self.head.handle(clock::now_ns(), HeadEvent::Lost(id, reason));
                }
            }
        }
        Ok(())
    }

    fn turn(&mut self, interrupts: Option<&Interrupts>) -> std::io::Result<()> {
        self.attempt.wake.lower();
        let now = clock::now_ns();
        let context = &self.attempt.context;
        if let Some(slept) = self.turns.turn(now) {
            context.config.trace.took(Stage::Pause, At::HERE, now - slept);
            self.head.handle(now, HeadEvent::Slept(slept));
        }
        context.sample();
        if now.saturating_sub(self.reported_ns) >= SHOW_NS {
            self.reported_ns = now;
            self.head.handle(now, HeadEvent::Own(context.report()));
        }
        context.lanes.cut_silent();
        self.probe_clocks();
        while let Some(notice) = self.attempt.notice() {
            self.notice(notice);
        }
        if let Some(root) = self.compared.take() {
            self.notice(Notice::Read(root));
        }
        if let Some(stored) = self.attempt.stored() {
            self.head.handle(clock::now_ns(), HeadEvent::Stored(stored));
        }
        if let (Ends::Out { source, .. }, true) = (&self.job.ends, self.job.plan.layout.open) {
            source.release(self.head.held_by_all());
        }
        // Judge silence by the start of this iteration: messages that arrived since then are
        // unread, and a head that got no CPU time must not declare nodes dead.
        self.tick(now);
        self.add_late();
        self.execute_orders(interrupts)
    }

    /// Whether the source was compared and is watched for changes until all is sent.
    fn is_watched(&self) -> bool {
        match &self.job.ends {
            Ends::Out { source, .. } => self.job.known.is_some() && source.stamps().is_some(),
            Ends::In { .. } => false,
        }
    }

    /// Sends the state machine a `Tick` if its deadline has passed.
    fn tick(&mut self, now: u64) {
        if self.head.deadline().is_some_and(|at| at <= now) {
            self.head.handle(now, HeadEvent::Tick);
        }
    }

    fn notice(&mut self, notice: Notice) {
        let now = clock::now_ns();
        let event = match notice {
            // In an incremental copy the digest is known before anything is sent. Files of a tree
            // are judged one by one.
            Notice::Read(root) if self.is_watched() && !self.head.is_nothing_lacking() => {
                self.compared = Some(root);
                return;
            }
            Notice::Read(root) if self.read_again(root) => return,
            Notice::Read(root) => {
                if self.job.known.is_none() {
                    self.head.handle(now, HeadEvent::Sent);
                }
                self.read(root)
            }
            Notice::Complete(root) => self.received(root),
            Notice::First => HeadEvent::FirstReceived,
            Notice::Bad(index) => HeadEvent::Bad(index),
            Notice::Written(_) => return,
            Notice::LinkLost(lane, epoch, _, reason) => HeadEvent::LinkLost(lane, epoch, reason),
            Notice::BadFrame(lane, epoch, _) => HeadEvent::BadFrame(lane, epoch),
            Notice::Outdated(lane, epochs, reason) => HeadEvent::Outdated(lane, epochs, reason),
            Notice::Failed(reason) => HeadEvent::SourceFailed(reason),
        };
        self.head.handle(now, event);
    }

    fn message(&mut self, id: NodeId, message: FromAgent) {
        let event = match message {
            FromAgent::Clock(asked, received, answered) => {
                self.note_clock(id, asked, received, answered);
                HeadEvent::Heard(id)
            }
            FromAgent::Trace(copy, parcel, more) if copy == self.attempt.copy => {
                self.attempt.harvest.take(id, &parcel, more);
                HeadEvent::Heard(id)
            }
            FromAgent::Written(copy, index) if copy == self.attempt.copy => {
                self.attempt.written(index);
                HeadEvent::Heard(id)
            }
            message => {
                self.note_answer(id, &message);
                HeadEvent::From(id, message)
            }
        };
        self.head.handle(clock::now_ns(), event);
    }

    /// Executes the orders of the state machine.
    fn execute_orders(&mut self, interrupts: Option<&Interrupts>) -> std::io::Result<()> {
        while let Some(order) = self.head.poll() {
            match order {
                HeadOrder::Start => self.start()?,
                HeadOrder::Begin(id) => self.begin(id),
                HeadOrder::Queue(id) => self.queue(id),
                HeadOrder::BeginAgain => self.begin_again(interrupts)?,
                HeadOrder::Send(id, ToAgent::Route(copy, route)) => {
                    let route = self.attempt.complete(route);
                    self.agents.send(id, &ToAgent::Route(copy, route));
                }
                HeadOrder::Send(id, message) => {
                    if matches!(message, ToAgent::Prepare(..) | ToAgent::Commit(..)) {
                        self.attempt.asked(id, Exchange::Commit);
                    }
                    self.agents.send(id, &message);
                }
                HeadOrder::Attach(id) => self.attach(id),
                HeadOrder::Route(route) => {
                    self.attempt.context.route(&self.attempt.complete(route));
                }
                HeadOrder::Commit => self.attempt.commit(self.job),
                HeadOrder::Finished => self.finished = true,
            }
        }
        Ok(())
    }
}

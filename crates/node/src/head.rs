//! The head's driver: one loop over all control channels, and lanes of its own that feed.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use garland_core::plan::{HEAD, NodeId, Plan};
use garland_core::proto::{
    Begin, Copy, Destination, FromAgent, Head, HeadEvent, HeadOrder, Injection, NodeAddress,
    Policy, Secret, Sink, ToAgent, Verdict,
};
use garland_core::trace::{Exchange, Stage, Trace};
use garland_sys::event::Wake;
use garland_sys::mptcp::Transport;
use garland_sys::signal::Interrupts;
use garland_sys::{clock, random};

use crate::connection::Connection;
use crate::feeding;
use crate::member::{Member, Membership, Notice};
use crate::outcome::{NodeOutcome, Outcome, Times};
use crate::queue::{Queue, Step};
use crate::recorder::{At, Budget, ClockProbes, Collector, Exchanges, Harvest};
use crate::source::Source;
use crate::stall::Faults;
use crate::store;
use crate::switchboard::{Call, Switchboard};

/// How often progress is shown at least.
const SHOW: Duration = Duration::from_millis(100);

/// The loop comes round every [`SHOW`] at least; one that took longer than this didn't run.
const SLEEP_NS: u64 = 500_000_000;

/// How long agents may take to clean up when a copy is over.
const GOODBYE: Duration = Duration::from_secs(5);

/// An agent that hasn't said a word for so long while goodbyes are said, though it should every
/// 100 ms, hangs, and isn't waited for.
const QUIET_NS: u64 = 800_000_000;

/// How long traces are waited for when a copy is over, and when the user gave up.
const TRACES: Duration = Duration::from_secs(2);
const TRACES_HURRY: Duration = Duration::from_millis(300);

/// A node's agent, ready to take orders.
pub struct Agent {
    /// Its control channel.
    pub connection: Connection,
    /// Where neighbours reach it, one address a rail.
    pub addresses: Vec<SocketAddr>,
}

/// One copy to be made.
pub struct CopyJob<'a> {
    /// What is to happen.
    pub plan: &'a Plan,
    /// The source.
    pub source: Arc<Source>,
    /// Where the bytes go on every node.
    pub destination: Destination,
    /// Whether blocks are sealed.
    pub sealed: bool,
    /// Congestion controls to ask for, best first.
    pub congestion: Vec<String>,
    /// What data links speak. An agent takes MPTCP only if it was started with it.
    pub transport: Transport,
    /// What the head may decide.
    pub policy: Policy,
    /// How it is traced; not at all without.
    pub tracing: Option<Tracing>,
    /// Known faults, and the nodes that are to show them.
    pub injections: Vec<(NodeId, Injection)>,
}

/// How a copy is traced.
#[derive(Clone, Copy, Debug)]
pub struct Tracing {
    /// When the command began, in nanoseconds of the monotonic clock.
    pub started_ns: u64,
    /// Whether the nodes are a lab's.
    pub emulated: bool,
}

/// How far a copy is.
pub struct Progress<'a> {
    /// The copy.
    pub head: &'a Head,
    /// Monotonic nanoseconds.
    pub now_ns: u64,
    /// The nodes whose agents are busy with other copies, while this one waits for them.
    pub waiting: Vec<NodeId>,
}

/// Makes a copy. `agents` are the receivers' in the plan's order, or why there is none; `observe`
/// is called now and then.
///
/// # Errors
/// When this host has no descriptors or threads left.
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

impl CopyJob<'_> {
    fn injections_at(&self, id: NodeId) -> Vec<Injection> {
        let here = self.injections.iter().filter(|(at, _)| *at == id);
        here.map(|(_, injection)| *injection).collect()
    }
}

/// An agent, or how its node has ended already.
type Seated = Result<Agent, Box<NodeOutcome>>;

struct Driver<'a> {
    job: &'a CopyJob<'a>,
    secret: Secret,
    copy: Copy,
    head: Head,
    board: Switchboard,
    /// Where the receivers' agents listen.
    addresses: Vec<NodeAddress>,
    /// How receivers ended before this attempt.
    before: Vec<Option<NodeOutcome>>,
    /// Agents that have no room for the copy now.
    busy: Vec<NodeId>,
    /// The copy hasn't begun: it waits for its places.
    queue: Option<Queue>,
    member: Arc<Member>,
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
    /// When the loop came round last.
    turned_ns: u64,
    finished: bool,
    interrupted: bool,
}

impl<'a> Driver<'a> {
    fn new(job: &'a CopyJob<'a>, agents: Vec<Seated>) -> std::io::Result<Self> {
        let (copy, secret) = (Copy(random::bytes()), Secret(random::bytes()));
        let began = job.tracing.map_or(0, |tracing| tracing.started_ns);
        let device = job.source.device();
        let trace = Collector::new(Budget::of_head(job), copy, HEAD.0, began, device);
        let wake = Arc::new(Wake::new()?);
        let (tell, notices) = channel();
        let waker = Arc::clone(&wake);
        let member = Arc::new(Member::new(Membership {
            copy,
            me: HEAD,
            secret: secret.clone(),
            sealed: job.sealed,
            sink: Sink::source(job.plan.layout),
            lane_count: job.plan.lanes.len(),
            store: Box::new(store::NoStore),
            congestion: job.congestion.clone(),
            transport: job.transport,
            // Its links end with its command.
            parking: None,
            trace,
            faults: Faults::new(&job.injections_at(HEAD)),
            awake: Arc::default(),
            notices: Box::new(move |notice| {
                // The loop may have ended before a late thread.
                let _ = tell.send(notice);
                waker.raise();
            }),
        }));
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
            copy,
            head,
            addresses,
            before,
            busy: Vec::new(),
            queue: None,
            board: Switchboard::new(connections.into_iter()),
            member,
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
            turned_ns: clock::now_ns(),
            finished: false,
            interrupted: false,
        })
    }

    /// Tells every node of the copy, and of its hops as they stand after those who never came.
    fn begin(&mut self) -> std::io::Result<()> {
        let lanes = self.job.plan.lanes.iter().map(|lane| lane.blocks);
        self.threads = feeding::start_lanes(&self.member, &self.job.source, lanes)?;
        self.pass_over_orders();
        let job = self.job;
        let records = Budget::of_node(job);
        if let Some(tracing) = job.tracing {
            // Waiting for busy agents is no part of it.
            let end_ns = self.moments.waited.map_or_else(clock::now_ns, |(since, _)| since);
            self.member.trace.note(At::HERE.span(Stage::SetUp, tracing.started_ns, end_ns));
        }
        for id in self.board.ids() {
            let begin = Begin {
                copy: self.copy,
                secret: self.secret.clone(),
                sealed: job.sealed,
                layout: job.plan.layout,
                lanes: job.plan.lanes.iter().map(|lane| lane.blocks).collect(),
                me: id,
                destination: job.destination.clone(),
                routes: self.head.routes(id),
                congestion: job.congestion.clone(),
                mptcp: job.transport == Transport::Mptcp,
                trace: records,
                injections: job.injections_at(id),
            };
            self.started[id.index()] = self.board.has(id);
            self.exchanges.asked(id, Exchange::Begin, &self.member.trace);
            self.board.send(id, &ToAgent::Begin(Box::new(begin)));
        }
        self.head.routes(HEAD).into_iter().for_each(|route| self.member.route(route));
        self.member.sample_now();
        self.begin_burst();
        // With nobody left the copy is over before it began.
        self.head.handle(clock::now_ns(), HeadEvent::Tick);
        self.obey();
        self.note_moments();
        Ok(())
    }

    /// Before the copy has begun nobody needs to hear of changes: its beginning tells all.
    fn pass_over_orders(&mut self) {
        while let Some(order) = self.head.poll() {
            self.finished |= matches!(order, HeadOrder::Finished);
        }
    }

    /// Gives back every place that it has got, and waits for all of them in turn: the copy begins
    /// anew, but for the nodes that have ended.
    fn queue_up(mut self, interrupts: Option<&Interrupts>) -> std::io::Result<Self> {
        let since = self.moments.waiting.unwrap_or_else(clock::now_ns);
        self.say_goodbye(interrupts);
        if self.interrupted {
            self.finished = true;
            return Ok(self);
        }
        for id in self.board.ids().filter(|id| self.is_owing_goodbye(*id)).collect::<Vec<_>>() {
            let event = if self.is_silent(id) {
                HeadEvent::Lost(id, format!("no word from it for {} ms", QUIET_NS / 1_000_000))
            } else {
                let reason = "its agent didn't give its place back".to_owned();
                HeadEvent::From(id, FromAgent::Failed(self.copy, reason))
            };
            self.head.handle(clock::now_ns(), event);
        }
        let ended: Vec<_> = self.job.plan.receivers().map(|(id, _)| self.outcome_of(id)).collect();
        let places = self.board.ids().filter(|id| ended[id.index() - 1].is_none());
        let key = |id| Some((self.board.connection(id)?.key(), id));
        let queue = Queue::new(places.filter_map(key).collect(), self.busy);
        let agents = self.board.into_connections().zip(self.addresses).zip(ended);
        let seated = agents.zip(self.job.plan.receivers());
        let seated = seated.map(|(((connection, addresses), ended), (_, node))| {
            let gone = || Box::new(NodeOutcome::failed(&node.name, "its agent is gone".to_owned()));
            match ended {
                Some(outcome) => Err(Box::new(outcome)),
                None => Ok(Agent { connection: connection.ok_or_else(gone)?, addresses }),
            }
        });
        let mut next = Self::new(self.job, seated.collect())?;
        next.queue = Some(queue);
        next.moments.waiting = Some(since);
        Ok(next)
    }

    /// Asks for the next place, or begins once there is one everywhere.
    fn advance(&mut self) -> std::io::Result<()> {
        self.pass_over_orders();
        let Some(queue) = &mut self.queue else { return Ok(()) };
        for id in self.board.ids().filter(|&id| self.head.verdict(id).is_some()) {
            queue.settle(id);
        }
        match queue.step() {
            Step::Wait => {}
            Step::Ask(id) => {
                let plan = self.job.plan;
                let bytes = Member::memory(plan.layout, plan.lanes.len());
                let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
                self.exchanges.asked(id, Exchange::Queue, &self.member.trace);
                self.board.send(id, &ToAgent::Queue(self.copy, bytes));
            }
            Step::Through => {
                self.queue = None;
                let since = self.moments.waiting.take();
                self.moments.waited = since.map(|since| (since, clock::now_ns()));
                if !self.finished {
                    self.begin()?;
                }
            }
        }
        Ok(())
    }

    /// Waits until somebody has something to say, or it is time for something.
    fn wait(&mut self, interrupts: Option<&Interrupts>) -> std::io::Result<()> {
        let timeout = self.head.deadline().map_or(SHOW, |at| clock::until(at).min(SHOW));
        let mut others: Vec<BorrowedFd<'_>> = vec![self.wake.as_fd()];
        others.extend(interrupts.map(AsFd::as_fd));
        let calls = self.board.wait(&others, timeout)?;
        if interrupts.is_some_and(Interrupts::pending) {
            self.interrupted = true;
            self.head.handle(clock::now_ns(), HeadEvent::Interrupted);
        }
        for (id, call) in calls {
            match call {
                Call::Message(message) => self.message(id, message),
                Call::Lost(reason) => {
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
        self.ask_the_time();
        while let Ok(notice) = self.notices.try_recv() {
            self.notice(notice);
        }
        let now = clock::now_ns();
        if self.head.deadline().is_some_and(|at| at <= now) {
            self.head.handle(now, HeadEvent::Tick);
        }
        if self.queue.is_some() {
            return self.advance();
        }
        self.obey();
        self.note_moments();
        Ok(())
    }

    fn notice(&mut self, notice: Notice) {
        let now = clock::now_ns();
        let event = match notice {
            Notice::Read(root) => {
                self.moments.sent = Some(now);
                if self.job.source.is_unchanged() {
                    HeadEvent::SourceRead(root)
                } else {
                    HeadEvent::SourceFailed("the source changed while it was copied".to_owned())
                }
            }
            Notice::LinkLost(lane, epoch, _, reason) => HeadEvent::LinkLost(lane, epoch, reason),
            Notice::BadFrame(lane, epoch, _) => HeadEvent::BadFrame(lane, epoch),
            Notice::Failed(reason) => HeadEvent::SourceFailed(reason),
            Notice::First | Notice::Bad(_) | Notice::Complete(_) => return,
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
            FromAgent::Complete(..) => self.held_ns[id.index()] = Some(now),
            FromAgent::Closed(_) => self.closed[id.index()] = true,
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
                    if matches!(message, ToAgent::Commit(..)) {
                        self.exchanges.asked(id, Exchange::Commit, &self.member.trace);
                    }
                    self.board.send(id, &message);
                }
                HeadOrder::Route(route) => self.member.route(route),
                HeadOrder::Finished => self.finished = true,
            }
        }
    }

    /// Notes how long the order took whose answer this is, if it is one.
    fn note_answer(&mut self, id: NodeId, message: &FromAgent) {
        let exchange = match message {
            FromAgent::Ready(copy) if *copy == self.copy => Exchange::Begin,
            FromAgent::Committed(copy, _) if *copy == self.copy => Exchange::Commit,
            FromAgent::Closed(copy) if *copy == self.copy => Exchange::Close,
            FromAgent::Admitted(copy) if *copy == self.copy => Exchange::Queue,
            _ => return,
        };
        self.exchanges.answered(id, exchange, &self.member.trace);
    }

    /// Asks everyone for the time, again and again for a moment.
    fn begin_burst(&mut self) {
        if self.member.trace.is_on() {
            self.probes.begin_burst();
            self.board.ids().for_each(|id| self.board.send(id, &ToAgent::Clock(clock::now_ns())));
        }
    }

    /// Asks everyone for the time when that was long ago.
    fn ask_the_time(&mut self) {
        if self.probes.is_due() {
            self.board.ids().for_each(|id| self.board.send(id, &ToAgent::Clock(clock::now_ns())));
        }
    }

    fn time_told(&mut self, id: NodeId, [asked, came, answered]: [u64; 3]) {
        let Some(connection) = self.board.connection(id) else { return };
        if self.probes.answered(id, [asked, came, answered, connection.read_ns()]) {
            self.board.send(id, &ToAgent::Clock(clock::now_ns()));
        }
    }

    fn note_moments(&mut self) {
        use garland_core::proto::NodeState as At;
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

    /// Ends the copy at every agent, and waits until they have cleaned up.
    fn say_goodbye(&mut self, interrupts: Option<&Interrupts>) {
        let copy = self.copy;
        for id in self.board.ids() {
            self.exchanges.asked(id, Exchange::Close, &self.member.trace);
            self.board.send(id, &ToAgent::Close(copy));
        }
        self.member.sample_now();
        self.member.close();
        let began = clock::now_ns();
        // What was silent before is asked once more: this process itself may have stood still.
        self.heard_ns.iter_mut().for_each(|heard| *heard = began);
        let deadline = began + u64::try_from(GOODBYE.as_nanos()).unwrap_or(u64::MAX);
        while self.board.ids().any(|id| self.is_awaiting_goodbye(id)) && clock::now_ns() < deadline
        {
            if self.wait(interrupts).is_err() {
                break;
            }
            self.wake.lower();
        }
        for thread in self.threads.drain(..) {
            // Its panic has been printed; there is nothing more to say about it here.
            let _ = thread.join();
        }
    }

    /// Waits for the traces of the nodes that have said goodbye: they are on their way, and no
    /// copy is held up by one for long.
    fn await_traces(&mut self) {
        let patience = if self.interrupted { TRACES_HURRY } else { TRACES };
        let deadline = clock::now_ns() + u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX);
        let owes = |own: &Self, id: NodeId| {
            own.board.has(id) && own.closed[id.index()] && own.harvest.is_awaiting(id)
        };
        while self.member.trace.is_on() && clock::now_ns() < deadline {
            if !self.board.ids().any(|id| owes(self, id)) || self.wait(None).is_err() {
                return;
            }
            self.wake.lower();
        }
    }

    /// The head's own trace and those of the nodes.
    fn traces(&mut self) -> Vec<Trace> {
        let Some(Tracing { emulated, .. }) = self.job.tracing else { return Vec::new() };
        let mut own = self.member.trace.finish();
        let probes = std::mem::replace(&mut self.probes, ClockProbes::new(0));
        own.records.extend(probes.into_records());
        own.put_in_order();
        let harvest = std::mem::replace(&mut self.harvest, Harvest::new(0));
        let mut traces = vec![own];
        traces.extend(harvest.into_traces(self.copy));
        for trace in &mut traces {
            let planned = self.job.plan.nodes.get(usize::from(trace.origin.index));
            trace.origin.node = planned.map_or_else(String::new, |node| node.name.clone());
            trace.origin.emulated = emulated;
        }
        traces
    }

    /// Says goodbye and puts the outcome together.
    fn end(mut self) -> Outcome {
        self.begin_burst();
        self.say_goodbye(None);
        self.await_traces();
        let traces = self.traces();
        let nodes = self.job.plan.receivers().map(|(id, node)| {
            let early = || "the copy ended before it".to_owned();
            self.outcome_of(id).unwrap_or_else(|| NodeOutcome::failed(&node.name, early()))
        });
        Outcome {
            nodes: nodes.collect(),
            moments: self.moments.settle(clock::now_ns()),
            faults: self.head.faults(),
            bad_frames: self.head.bad_frames().to_vec(),
            interrupted: self.interrupted,
            traces,
        }
    }

    /// How a node has ended, now or before this attempt; `None` when it hasn't.
    fn outcome_of(&self, id: NodeId) -> Option<NodeOutcome> {
        if let Some(Some(outcome)) = self.before.get(id.index() - 1) {
            return Some(outcome.clone());
        }
        Some(NodeOutcome {
            name: self.job.plan.nodes[id.index()].name.clone(),
            verdict: self.head.verdict(id)?,
            report: self.head.report(id).clone(),
            detached: self.head.is_detached(id),
            held_ns: self.held_ns[id.index()],
            silent: self.is_silent(id),
        })
    }

    fn is_awaiting_goodbye(&self, id: NodeId) -> bool {
        self.is_owing_goodbye(id) && !self.is_silent(id)
    }

    fn is_owing_goodbye(&self, id: NodeId) -> bool {
        self.board.has(id) && self.started[id.index()] && !self.closed[id.index()]
    }

    fn is_silent(&self, id: NodeId) -> bool {
        let quiet = clock::now_ns().saturating_sub(self.heard_ns[id.index()]) > QUIET_NS;
        let hangs = quiet && self.board.has(id) && !self.closed[id.index()];
        hangs || matches!(self.head.verdict(id), Some(Verdict::Dead(_)))
    }
}

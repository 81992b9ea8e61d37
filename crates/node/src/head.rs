//! The head's driver: one loop over all control channels, and lanes of its own that feed.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use garland_core::plan::{HEAD, NodeId, Plan};
use garland_core::proto::{
    BadFrame, Begin, Copy, Destination, Fault, FromAgent, Head, HeadEvent, HeadOrder, NodeAddress,
    Policy, Report, Secret, Sink, ToAgent, Verdict,
};
use garland_sys::event::Wake;
use garland_sys::mptcp::Transport;
use garland_sys::signal::Interrupts;
use garland_sys::{clock, random};

use crate::conduit::Path;
use crate::connection::Connection;
use crate::lane::{Lane, LaneParts};
use crate::member::{LaneHandle, Member, Membership, Notice};
use crate::source::{Source, SourceFeeder};
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
    /// What the head's own links speak; every agent was told for its own when it was started.
    pub transport: Transport,
    /// What the head may decide.
    pub policy: Policy,
}

/// How far a copy is.
pub struct Progress<'a> {
    /// The copy.
    pub head: &'a Head,
    /// Monotonic nanoseconds.
    pub now_ns: u64,
}

/// When what happened, in monotonic nanoseconds. What never happened has the time of the next thing
/// that did.
#[derive(Clone, Copy, Debug)]
pub struct Moments {
    /// Every node's destination is open, or the node is given up.
    pub ready: u64,
    /// The first block has reached every node.
    pub first: u64,
    /// The head has sent the last block.
    pub sent: u64,
    /// Every node holds every block.
    pub held: u64,
    /// Every node's file has its final name.
    pub committed: u64,
    /// Every agent has cleaned up.
    pub closed: u64,
}

/// How one node ended.
#[derive(Clone, Debug)]
pub struct NodeOutcome {
    /// Its name.
    pub name: String,
    /// How it ended.
    pub verdict: Verdict,
    /// What it reported last.
    pub report: Report,
    /// Its disk was too slow for the others, and it was fed afterwards.
    pub detached: bool,
    /// When it held every block, in monotonic nanoseconds.
    pub held_ns: Option<u64>,
    /// It has died or hangs: what it hangs on isn't worth waiting for.
    pub silent: bool,
}

/// How a copy ended.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The receivers, in the plan's order.
    pub nodes: Vec<NodeOutcome>,
    /// When what happened.
    pub moments: Moments,
    /// Changed blocks and the hop where each was found.
    pub faults: Vec<Fault>,
    /// The hops where frames came in changed.
    pub bad_frames: Vec<BadFrame>,
    /// The user gave up.
    pub interrupted: bool,
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
    let mut driver = Driver::new(job, agents)?;
    while !driver.finished {
        driver.wait(interrupts)?;
        driver.turn();
        observe(&Progress { head: &driver.head, now_ns: clock::now_ns() });
    }
    Ok(driver.end(job.plan))
}

struct Driver {
    copy: Copy,
    head: Head,
    board: Switchboard,
    member: Arc<Member>,
    source: Arc<Source>,
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
    /// When the loop came round last.
    turned_ns: u64,
    finished: bool,
    interrupted: bool,
}

#[derive(Default)]
struct Times {
    ready: Option<u64>,
    first: Option<u64>,
    sent: Option<u64>,
    held: Option<u64>,
    committed: Option<u64>,
}

impl Driver {
    fn new(job: &CopyJob<'_>, agents: Vec<Result<Agent, String>>) -> std::io::Result<Self> {
        let (copy, secret) = (Copy(random::bytes()), Secret(random::bytes()));
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
            notices: Box::new(move |notice| {
                // The loop may have ended before a late thread.
                let _ = tell.send(notice);
                waker.raise();
            }),
        }));
        let mut connections = Vec::new();
        let mut addresses: Vec<NodeAddress> = vec![Vec::new()];
        let mut failures = Vec::new();
        for (id, agent) in (1..).map(NodeId).zip(agents) {
            match agent {
                Ok(agent) => {
                    connections.push(Some(agent.connection));
                    addresses.push(agent.addresses);
                }
                Err(reason) => {
                    connections.push(None);
                    addresses.push(Vec::new());
                    failures.push((id, reason));
                }
            }
        }
        let nodes = connections.len() + 1;
        let mut head = Head::new(copy, job.plan, addresses, job.policy, clock::now_ns());
        for (id, reason) in failures {
            head.handle(clock::now_ns(), HeadEvent::From(id, FromAgent::Failed(copy, reason)));
        }
        let mut driver = Self {
            copy,
            head,
            board: Switchboard::new(connections.into_iter()),
            member,
            source: Arc::clone(&job.source),
            notices,
            wake,
            threads: Vec::new(),
            started: vec![false; nodes],
            firsts: vec![false; nodes],
            held_ns: vec![None; nodes],
            closed: vec![false; nodes],
            heard_ns: vec![clock::now_ns(); nodes],
            moments: Times::default(),
            turned_ns: clock::now_ns(),
            finished: false,
            interrupted: false,
        };
        driver.start_lanes(job.plan)?;
        driver.begin(job, &secret);
        driver.obey();
        driver.note_moments();
        Ok(driver)
    }

    fn start_lanes(&mut self, plan: &Plan) -> std::io::Result<()> {
        let mut handles = Vec::new();
        let mut lanes = Vec::new();
        for (number, planned) in (0..).zip(&plan.lanes) {
            let (handle, letters) = LaneHandle::new()?;
            handles.push(Arc::clone(&handle));
            lanes.push((number, planned.blocks, handle, letters));
        }
        // Set before any thread runs, and only here.
        let _ = self.member.lanes.set(handles);
        for (number, blocks, handle, letters) in lanes {
            let (member, source) = (Arc::clone(&self.member), Arc::clone(&self.source));
            self.threads.push(std::thread::spawn(move || {
                let feeder = SourceFeeder::start(Arc::clone(&member), source, number, blocks);
                let feeder = Box::new(feeder);
                let path = Path::Copy;
                let parts =
                    LaneParts { number, blocks, member, handle, feeder, writer: None, path };
                Lane::new(parts).run(&letters);
            }));
        }
        Ok(())
    }

    /// Tells every node of the copy, and of its hops as they stand after those who never came.
    fn begin(&mut self, job: &CopyJob<'_>, secret: &Secret) {
        while let Some(order) = self.head.poll() {
            self.finished |= matches!(order, HeadOrder::Finished);
        }
        for id in self.board.ids() {
            let begin = Begin {
                copy: self.copy,
                secret: secret.clone(),
                sealed: job.sealed,
                layout: job.plan.layout,
                lanes: job.plan.lanes.iter().map(|lane| lane.blocks).collect(),
                me: id,
                destination: job.destination.clone(),
                routes: self.head.routes(id),
                congestion: job.congestion.clone(),
            };
            self.started[id.index()] = self.board.has(id);
            self.board.send(id, &ToAgent::Begin(Box::new(begin)));
        }
        self.head.routes(HEAD).into_iter().for_each(|route| self.member.route(route));
        // With nobody left the copy is over before it began.
        self.head.handle(clock::now_ns(), HeadEvent::Tick);
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

    fn turn(&mut self) {
        self.wake.lower();
        let now = clock::now_ns();
        let slept = now.saturating_sub(std::mem::replace(&mut self.turned_ns, now));
        if slept > SLEEP_NS {
            self.head.handle(now, HeadEvent::Slept(slept));
        }
        while let Ok(notice) = self.notices.try_recv() {
            self.notice(notice);
        }
        let now = clock::now_ns();
        if self.head.deadline().is_some_and(|at| at <= now) {
            self.head.handle(now, HeadEvent::Tick);
        }
        self.obey();
        self.note_moments();
    }

    fn notice(&mut self, notice: Notice) {
        let now = clock::now_ns();
        let event = match notice {
            Notice::Read(root) => {
                self.moments.sent = Some(now);
                if self.source.is_unchanged() {
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
        match &message {
            FromAgent::First(_) => self.firsts[id.index()] = true,
            FromAgent::Complete(..) => self.held_ns[id.index()] = Some(now),
            FromAgent::Closed(_) => self.closed[id.index()] = true,
            _ => {}
        }
        self.head.handle(now, HeadEvent::From(id, message));
    }

    fn obey(&mut self) {
        while let Some(order) = self.head.poll() {
            match order {
                HeadOrder::Send(id, message) => self.board.send(id, &message),
                HeadOrder::Route(route) => self.member.route(route),
                HeadOrder::Finished => self.finished = true,
            }
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

    /// Says goodbye, waits until the agents have cleaned up, and puts the outcome together.
    fn end(mut self, plan: &Plan) -> Outcome {
        let copy = self.copy;
        self.board.ids().for_each(|id| self.board.send(id, &ToAgent::Close(copy)));
        self.member.close();
        let began = clock::now_ns();
        // What was silent before is asked once more: this process itself may have stood still.
        self.heard_ns.iter_mut().for_each(|heard| *heard = began);
        let deadline = began + u64::try_from(GOODBYE.as_nanos()).unwrap_or(u64::MAX);
        while self.board.ids().any(|id| self.is_awaiting_goodbye(id)) && clock::now_ns() < deadline
        {
            if self.wait(None).is_err() {
                break;
            }
            self.wake.lower();
        }
        for thread in self.threads.drain(..) {
            // Its panic has been printed; there is nothing more to say about it here.
            let _ = thread.join();
        }
        let nodes = plan.receivers().map(|(id, node)| NodeOutcome {
            name: node.name.clone(),
            verdict: self
                .head
                .verdict(id)
                .unwrap_or_else(|| Verdict::Failed("the copy ended before it".to_owned())),
            report: self.head.report(id).clone(),
            detached: self.head.is_detached(id),
            held_ns: self.held_ns[id.index()],
            silent: self.is_silent(id),
        });
        Outcome {
            nodes: nodes.collect(),
            moments: self.moments.settle(clock::now_ns()),
            faults: self.head.faults(),
            bad_frames: self.head.bad_frames().to_vec(),
            interrupted: self.interrupted,
        }
    }

    fn is_awaiting_goodbye(&self, id: NodeId) -> bool {
        let talks = self.board.has(id) && self.started[id.index()] && !self.closed[id.index()];
        talks && !self.is_silent(id)
    }

    fn is_silent(&self, id: NodeId) -> bool {
        let quiet = clock::now_ns().saturating_sub(self.heard_ns[id.index()]) > QUIET_NS;
        let hangs = quiet && self.board.has(id) && !self.closed[id.index()];
        hangs || matches!(self.head.verdict(id), Some(Verdict::Dead(_)))
    }
}

impl Times {
    /// Puts the moments in order: what never happened falls together with the next that did.
    fn settle(&self, closed: u64) -> Moments {
        let committed = self.committed.unwrap_or(closed).min(closed);
        let held = self.held.unwrap_or(committed).min(committed);
        let sent = self.sent.unwrap_or(held).min(held);
        let first = self.first.unwrap_or(sent).min(sent);
        let ready = self.ready.unwrap_or(first).min(first);
        Moments { ready, first, sent, held, committed, closed }
    }
}

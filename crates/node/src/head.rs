//! The head's driver: one loop over all control channels, and lanes of its own, which feed all others
//! or are fed by them.

use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use garland_core::plan::{HEAD, Manifest, NodeId, Plan, Stripes};
use garland_core::proto::{
    Begin, Copy, Cut, Destination, End, FromAgent, Head, HeadEvent, HeadOrder, NodeAddress,
    Operations, Origin, Policy, Secret, Sink, ToAgent, Verdict,
};
use garland_sys::confine::Root;
use garland_sys::event::Wake;
use garland_sys::mptcp::Transport;
use garland_sys::signal::Interrupts;
use garland_sys::{clock, random};

use crate::conduit::Path;
use crate::connection::Connection;
use crate::lanes;
use crate::member::{Member, Membership, Notice};
use crate::outcome::{NodeOutcome, Outcome, Times};
use crate::queue::{Queue, Step};
use crate::source::Source;
use crate::store::{self, NoStore, Store};
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
    /// Where the bytes come from and where they go.
    pub ends: Ends,
    /// How the nodes' files are stripes of one; none where each has all of it.
    pub stripes: Option<Stripes>,
    /// What may be under way at a time.
    pub pipeline: Pipeline,
    /// Whether blocks are sealed.
    pub sealed: bool,
    /// Congestion controls to ask for, best first.
    pub congestion: Vec<String>,
    /// What data links speak. An agent takes MPTCP only if it was started with it.
    pub transport: Transport,
    /// What the head may decide.
    pub policy: Policy,
}

/// The two ends of a copy.
pub enum Ends {
    /// From this machine to every node.
    Out {
        /// What is copied.
        source: Arc<Source>,
        /// Where it goes on every node.
        destination: Destination,
        /// What lies beside every stripe, but for the digests; nothing beside whole files.
        manifest: Option<Manifest>,
    },
    /// From every node to this machine.
    In {
        /// What each node gives, in the plan's order.
        origins: Vec<Origin>,
        /// Where it goes here.
        destination: Destination,
        /// The digests that the nodes' parts must have, in their order; empty where nobody knows.
        digests: Vec<[u8; 32]>,
    },
}

/// What may be under way at a time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pipeline {
    /// Blocks that each lane may have in memory, at each end; by their size where that isn't said.
    pub buffers: Option<u16>,
    /// The operations that the file is cut into; one window over all of it where there are none.
    pub cut: Option<Cut>,
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
    /// What may be under way, if not all that there is memory for.
    operations: Option<Operations>,
    /// Nodes that have given all and proved it unchanged, and what they said: they are done when the
    /// file here is.
    given: Vec<(NodeId, FromAgent)>,
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
    /// When the loop came round last.
    turned_ns: u64,
    finished: bool,
    interrupted: bool,
}

impl<'a> Driver<'a> {
    fn new(job: &'a CopyJob<'a>, agents: Vec<Seated>) -> std::io::Result<Self> {
        let (copy, secret) = (Copy(random::bytes()), Secret(random::bytes()));
        let wake = Arc::new(Wake::new()?);
        let (tell, notices) = channel();
        let operations = job.pipeline.cut.map(|cut| Operations::new(cut, job.plan.layout));
        let waker = Arc::clone(&wake);
        let member = near_end(job, copy, &secret, move |notice| {
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
            copy,
            head,
            addresses,
            before,
            busy: Vec::new(),
            queue: None,
            board: Switchboard::new(connections.into_iter()),
            member,
            operations,
            given: Vec::new(),
            stored: channel(),
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
        })
    }

    fn start_lanes(&mut self) -> std::io::Result<()> {
        let blocks: Vec<_> = self.job.plan.lanes.iter().map(|lane| lane.blocks).collect();
        let source = match &self.job.ends {
            Ends::Out { source, .. } => Some(source),
            Ends::In { .. } => None,
        };
        self.threads = lanes::start(&self.member, &blocks, |_| true, source, Path::Copy)?;
        Ok(())
    }

    /// Tells every node of the copy, and of its hops as they stand after those who never came.
    fn begin(&mut self) -> std::io::Result<()> {
        self.start_lanes()?;
        self.pass_over_orders();
        for id in self.board.ids() {
            let begin = self.begin_of(id);
            self.started[id.index()] = self.board.has(id);
            self.board.send(id, &ToAgent::Begin(Box::new(begin)));
        }
        self.head.routes(HEAD).into_iter().for_each(|route| self.member.route(route));
        // With nobody left the copy is over before it began.
        self.head.handle(clock::now_ns(), HeadEvent::Tick);
        self.obey();
        self.note_moments();
        Ok(())
    }

    fn begin_of(&self, id: NodeId) -> Begin {
        let job = self.job;
        let place = id.index() - 1;
        let end = match &job.ends {
            Ends::Out { destination, .. } => End::Sink(destination.clone()),
            Ends::In { origins, .. } => End::Source(origins[place].clone()),
        };
        let number = u16::try_from(place).unwrap_or(u16::MAX);
        Begin {
            copy: self.copy,
            secret: self.secret.clone(),
            sealed: job.sealed,
            layout: job.plan.layout,
            lanes: job.plan.lanes.iter().map(|lane| lane.blocks).collect(),
            me: id,
            end,
            stripe: job.stripes.map(|stripes| stripes.stripe(number)),
            buffers: job.pipeline.buffers.unwrap_or(0),
            acknowledge: job.pipeline.cut.is_some(),
            routes: self.head.routes(id),
            congestion: job.congestion.clone(),
            mptcp: job.transport == Transport::Mptcp,
        }
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
                let lanes = plan.lanes_of(id);
                let bytes = Member::memory(plan.layout, lanes, self.job.pipeline.buffers);
                let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
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
        if interrupts.is_some_and(Interrupts::have_come) {
            self.interrupted = true;
            self.head.handle(clock::now_ns(), HeadEvent::Interrupted);
        }
        for (id, call) in calls {
            match call {
                Call::Message(message) => self.message(id, message),
                // What it had to give is here.
                Call::Lost(_) if self.has_given(id) => {}
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
            self.head.handle(now, HeadEvent::Slept(slept));
        }
        while let Ok(notice) = self.notices.try_recv() {
            self.notice(notice);
        }
        self.settle_given();
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
            FromAgent::Closed(_) => self.closed[id.index()] = true,
            FromAgent::Busy(copy, _) if *copy == self.copy => self.busy.push(id),
            FromAgent::Admitted(copy) if *copy == self.copy => {
                self.queue.iter_mut().for_each(|queue| queue.settle(id));
            }
            _ => {}
        }
        self.head.handle(now, HeadEvent::From(id, message));
    }

    /// The whole source has been read, and this is its digest: what every node must hold, or of
    /// stripes, what each must; and what lies beside these.
    fn read(&mut self, root: [u8; 32]) -> HeadEvent {
        let Ends::Out { source, manifest, .. } = &self.job.ends else {
            return HeadEvent::SourceRead(root);
        };
        if !source.is_unchanged() {
            return HeadEvent::SourceFailed("the source changed while it was copied".to_owned());
        }
        let Some(manifest) = manifest else { return HeadEvent::SourceRead(root) };
        let roots = self.roots_of_parts(root);
        let mut manifest = manifest.clone();
        for (server, root) in manifest.servers.iter_mut().zip(&roots) {
            server.digest = *root;
        }
        for id in self.board.ids() {
            manifest.number = u16::try_from(id.index() - 1).unwrap_or(u16::MAX);
            let text = manifest.to_string().into_bytes();
            self.board.send(id, &ToAgent::Attach(self.copy, text));
        }
        HeadEvent::PartsKnown(roots)
    }

    /// Everything is here: is it what was written, and what the nodes say they gave?
    fn take_stock(&mut self, root: [u8; 32]) {
        let now = clock::now_ns();
        let roots = self.roots_of_parts(root);
        if let Ends::In { digests, .. } = &self.job.ends {
            let ids = self.board.ids().collect::<Vec<_>>();
            let other = ids.into_iter().zip(roots.iter().zip(digests));
            for (id, _) in other.filter(|(_, (root, digest))| root != digest) {
                let reason = "its stripe isn't what was written there: the manifest has another \
                              digest";
                let failed = FromAgent::Failed(self.copy, reason.to_owned());
                self.head.handle(now, HeadEvent::From(id, failed));
            }
        }
        self.head.handle(now, HeadEvent::PartsKnown(roots));
    }

    /// What each node has or must have, in the plan's order, where all of it has the digest `root`.
    fn roots_of_parts(&self, root: [u8; 32]) -> Vec<[u8; 32]> {
        let plan = self.job.plan;
        if self.job.stripes.is_none() {
            return vec![root; plan.nodes.len() - 1];
        }
        let sink = self.member.sink();
        plan.lanes.iter().map(|lane| sink.root_of(lane.blocks).unwrap_or_default()).collect()
    }

    fn has_given(&self, id: NodeId) -> bool {
        self.given.iter().any(|(given, _)| *given == id)
    }

    /// A node has given all. When every node has, the file here gets its final name, from a thread
    /// of its own: a slow disk must not keep the nodes' words waiting.
    fn note_given(&mut self, id: NodeId, message: FromAgent) {
        if self.has_given(id) {
            return;
        }
        self.given.push((id, message));
        if self.given.len() + 1 < self.job.plan.nodes.len() {
            return;
        }
        let (member, wake) = (Arc::clone(&self.member), Arc::clone(&self.wake));
        let tell = self.stored.0.clone();
        self.threads.push(std::thread::spawn(move || {
            // The copy may be over: then it is told to nobody.
            let _ = tell.send(member.store.commit().map_err(|error| error.to_string()));
            wake.raise();
        }));
    }

    /// Keeps nodes that have given all from counting as silent, until the file here has its name.
    fn settle_given(&mut self) {
        let now = clock::now_ns();
        match self.stored.1.try_recv() {
            Ok(Ok(())) => {
                for (id, message) in std::mem::take(&mut self.given) {
                    self.head.handle(now, HeadEvent::From(id, message));
                }
            }
            Ok(Err(reason)) => {
                self.given.clear();
                let reason = format!("on this machine: {reason}");
                self.head.handle(now, HeadEvent::SourceFailed(reason));
            }
            Err(_) => {
                for (id, _) in &self.given {
                    self.head.handle(now, HeadEvent::From(*id, FromAgent::Heartbeat(None)));
                }
            }
        }
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

    /// Ends the copy at every agent, and waits until they have cleaned up.
    fn say_goodbye(&mut self, interrupts: Option<&Interrupts>) {
        let copy = self.copy;
        self.board.ids().for_each(|id| self.board.send(id, &ToAgent::Close(copy)));
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

    /// Says goodbye and puts the outcome together.
    fn end(mut self) -> Outcome {
        self.say_goodbye(None);
        self.member.store.abandon();
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
            depths: self.member.stages.depths(),
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

/// This machine's part: it holds all at the start, or has a place for what it gets.
fn near_end(
    job: &CopyJob<'_>,
    copy: Copy,
    secret: &Secret,
    tell: impl Fn(Notice) + Send + Sync + 'static,
) -> std::io::Result<Arc<Member>> {
    let layout = job.plan.layout;
    let (sink, store): (_, Box<dyn Store>) = match &job.ends {
        Ends::Out { .. } => (Sink::source(layout), Box::new(NoStore)),
        Ends::In { destination, .. } => {
            let tag: String = copy.0[..6].iter().map(|byte| format!("{byte:02x}")).collect();
            let store =
                store::open(destination, &Root::Free, layout, None, &tag, None, &Arc::default());
            let store = store.map_err(std::io::Error::other)?;
            (Sink::new(layout, store.is_holder()), store)
        }
    };
    Ok(Arc::new(Member::new(Membership {
        copy,
        me: HEAD,
        secret: secret.clone(),
        sealed: job.sealed,
        is_source: matches!(job.ends, Ends::Out { .. }),
        buffers: job.pipeline.buffers,
        acknowledge: false,
        sink,
        lane_count: job.plan.lanes.len(),
        store,
        congestion: job.congestion.clone(),
        transport: job.transport,
        // Its links end with its command.
        parking: None,
        awake: Arc::default(),
        notices: Box::new(tell),
    })))
}

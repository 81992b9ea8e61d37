//! The agent: a process on every node that takes part in copies and runs commands, for the
//! controllers whose keys it was started with and nobody else.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use garland_core::proto::{Begin, Copy, FromAgent, KeyPair, Keys, PublicKey, Secret, ToAgent};
use garland_sys::confine::Root;
use garland_sys::mptcp::Transport;
use garland_sys::{clock, tcp};
use thiserror::Error;

use crate::awake::Awake;
use crate::balance::Depot;
use crate::budget::{Budget, Share};
use crate::chain;
use crate::conduit::Path as RelayPath;
use crate::disk;
use crate::exec;
use crate::giving::Tickets;
use crate::listener;
use crate::log::log;
use crate::look;
use crate::member::Member;
use crate::pace::Pace;
use crate::parking::Parking;
use crate::part::{Part, Refusal};
use crate::probe::{self, Invitation};
use crate::seat::Seat;
use crate::session::Session;
use crate::survey::Surveyor;
use crate::usage::Usage;

/// How often an agent says that it is alive.
const HEARTBEAT: Duration = Duration::from_millis(100);

/// How long an agent waits for its first controller.
const LONELY: Duration = Duration::from_secs(60);

/// How an agent is started.
#[derive(Clone, Debug)]
pub struct AgentConfig {
    /// The folder that no path leads out of; the whole file system when there is none.
    pub root: Option<PathBuf>,
    /// The public keys of those who may command.
    pub controllers: Vec<PublicKey>,
    /// The port to listen on; 0 for any.
    pub port: u16,
    /// The key pair to be known by; a fresh one when there is none.
    pub keys: Option<KeyPair>,
    /// How long to stay without anything to do. Without it the agent ends with its first
    /// controller, or when its standard input ends.
    pub stay: Option<Duration>,
    /// How bytes go through this node.
    pub path: RelayPath,
    /// Bytes per second of the node's disk, where an emulated one is slower than the machine's.
    pub disk: Option<u64>,
    /// What it takes for links; each copy says what links are opened by.
    pub transport: Transport,
}

/// Why an agent can't start.
#[derive(Debug, Error)]
pub enum AgentError {
    /// Its folder can't be opened.
    #[error("opening the agent's root {0}: {1}")]
    Root(String, io::Error),
    /// Its port can't be had.
    #[error("listening on port {0}: {1}")]
    Listen(u16, io::Error),
    /// It can't watch the links that it is to keep.
    #[error("watching standing links: {0}")]
    Parking(io::Error),
    /// Its ready line can't be said.
    #[error("telling the launcher that the agent is ready: {0}")]
    Ready(io::Error),
}

/// What an agent says on its standard output once it can be connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadyLine {
    /// The port it listens on.
    pub port: u16,
    /// Its public key.
    pub key: PublicKey,
    /// Its release.
    pub release: String,
    /// The file on its host that it writes its complaints to, if it stays; written in UTF-8.
    pub log: Option<PathBuf>,
}

impl ReadyLine {
    const WORD: &str = "garland-agent";

    /// Reads a line of an agent's output; `None` when it is something else.
    #[must_use]
    pub fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        if words.next()? != Self::WORD {
            return None;
        }
        let release = words.next()?.to_owned();
        let port = words.next()?.parse().ok()?;
        let hex = words.next()?;
        let mut key = [0; 32];
        if hex.len() != 64 || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        for (at, byte) in key.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).ok()?;
        }
        // The rest of the line: a path may have spaces.
        let rest = line.trim_end().split_once(hex).map_or("", |(_, rest)| rest.trim_start());
        let log = Some(rest).filter(|path| path.starts_with('/')).map(PathBuf::from);
        Some(Self { port, key, release, log })
    }
}

impl std::fmt::Display for ReadyLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {} ", Self::WORD, self.release, self.port)?;
        self.key.iter().try_for_each(|byte| write!(f, "{byte:02x}"))?;
        self.log.iter().try_for_each(|log| write!(f, " {}", log.display()))
    }
}

/// A running agent.
pub struct Agent {
    config: AgentConfig,
    keys: KeyPair,
    root: Root,
    disk: Option<Arc<Pace>>,
    usage: Arc<Usage>,
    awake: Arc<Awake>,
    started_ns: u64,
    /// When there was something to do last.
    active_ns: AtomicU64,
    sessions: AtomicUsize,
    expected: Mutex<HashMap<Copy, Expected>>,
    joined: Condvar,
    strangers: AtomicUsize,
    budget: Arc<Budget>,
    tickets: Tickets,
    disk_gate: disk::Gate,
    /// Links that outlive their copy, if the agent does.
    parking: Option<Arc<Parking>>,
}

/// What a neighbour that greets with a secret is welcome for.
#[derive(Clone)]
pub enum Expected {
    /// A part in a copy.
    Member(Arc<Member>),
    /// A link that stands until a copy needs it.
    Link(Secret, Arc<Keys>),
    /// A meeting, to measure what lies between.
    Guest(Arc<Invitation>),
}

/// Runs an agent until it has nothing more to do; says its ready line first.
///
/// # Errors
/// When its root, its port or its output can't be had.
pub fn run_agent(config: AgentConfig) -> Result<(), AgentError> {
    let root = match &config.root {
        None => Root::Free,
        Some(path) => Root::confined(path)
            .map_err(|error| AgentError::Root(path.display().to_string(), error))?,
    };
    let listener = tcp::listen(config.port, config.transport)
        .map_err(|error| AgentError::Listen(config.port, error))?;
    let port = listener.local_addr().map_err(|error| AgentError::Listen(config.port, error))?;
    let keys = config.keys.clone().unwrap_or_else(KeyPair::generate);
    let now = clock::now_ns();
    let parking = config.stay.map(Parking::new).transpose().map_err(AgentError::Parking)?;
    let disk = config.disk.map(|rate| Arc::new(Pace::new(rate)));
    let agent = Arc::new(Agent {
        config,
        disk,
        usage: Arc::default(),
        awake: Arc::default(),
        keys,
        root,
        started_ns: now,
        active_ns: AtomicU64::new(now),
        sessions: AtomicUsize::new(0),
        expected: Mutex::new(HashMap::new()),
        joined: Condvar::new(),
        strangers: AtomicUsize::new(0),
        budget: Arc::default(),
        tickets: Tickets::default(),
        disk_gate: disk::Gate::default(),
        parking: parking.map(Arc::new),
    });
    let line = ReadyLine {
        port: port.port(),
        key: agent.keys.public,
        release: env!("CARGO_PKG_VERSION").to_owned(),
        log: None,
    };
    let mut output = io::stdout().lock();
    writeln!(output, "{line}").and_then(|()| output.flush()).map_err(AgentError::Ready)?;
    drop(output);
    if agent.config.stay.is_none() {
        let agent = Arc::clone(&agent);
        std::thread::spawn(move || agent.end_with_launcher());
    }
    let idle = Arc::clone(&agent);
    if agent.parking.is_some() {
        let agent = Arc::clone(&agent);
        std::thread::spawn(move || listener::attend_parked(&agent));
    }
    std::thread::spawn(move || listener::listen(&agent, &listener));
    idle.watch_idleness();
    Ok(())
}

impl Agent {
    /// The key pair that this agent is known by.
    pub fn keys(&self) -> &KeyPair {
        &self.keys
    }

    /// The public keys of those who may command.
    pub fn controllers(&self) -> &[PublicKey] {
        &self.config.controllers
    }

    /// Where paths begin.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// The memory that its copies share.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Links that outlive their copy; `None` for an agent that ends with its first controller.
    pub fn parking(&self) -> Option<&Arc<Parking>> {
        self.parking.as_ref()
    }

    /// Who may have its program.
    pub fn tickets(&self) -> &Tickets {
        &self.tickets
    }

    /// One disk test at a time.
    pub fn disk_gate(&self) -> &disk::Gate {
        &self.disk_gate
    }

    /// How bytes go through this node.
    pub fn path(&self) -> RelayPath {
        self.config.path
    }

    /// The node's disk, where an emulated one is slower than the machine's.
    pub fn disk(&self) -> Option<&Arc<Pace>> {
        self.disk.as_ref()
    }

    /// How long tests of balance have been at its disk.
    pub fn usage(&self) -> &Arc<Usage> {
        &self.usage
    }

    /// How long its copies' threads were awake.
    pub fn awake(&self) -> &Arc<Awake> {
        &self.awake
    }

    /// What it takes for links, and opens those by that stand.
    pub fn transport(&self) -> Transport {
        self.config.transport
    }

    /// The folder that commands run in.
    pub fn folder(&self) -> Option<&std::path::Path> {
        self.config.root.as_deref()
    }

    /// Notes a peer that was turned away, at most a few lines a run.
    pub fn log_stranger(&self, peer: SocketAddr, reason: &str) {
        const LINES: usize = 100;
        let before = self.strangers.fetch_add(1, Ordering::Relaxed);
        if before < LINES {
            log(&format!("turned away {peer}: {reason}"));
        } else if before == LINES {
            log("more peers were turned away; they are no longer listed");
        }
    }

    /// What a neighbour that names `copy` is welcome for; waits up to `patience` for it to begin.
    pub fn await_expected(&self, copy: Copy, patience: Duration) -> Option<Expected> {
        let expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        let absent = |expected: &mut HashMap<Copy, _>| !expected.contains_key(&copy);
        let (expected, _) = self
            .joined
            .wait_timeout_while(expected, patience, absent)
            .unwrap_or_else(PoisonError::into_inner);
        expected.get(&copy).cloned()
    }

    /// Lets neighbours come that know the secret of `copy`.
    pub fn expect(&self, copy: Copy, what: Expected) {
        let mut expected = self.expected.lock().unwrap_or_else(PoisonError::into_inner);
        expected.insert(copy, what);
        self.joined.notify_all();
    }

    /// Lets them come no more.
    pub fn leave(&self, copy: Copy) {
        self.expected.lock().unwrap_or_else(PoisonError::into_inner).remove(&copy);
    }

    /// Serves one controller until it is gone, and cleans up after it.
    pub fn serve(self: &Arc<Self>, session: &Arc<Session>) {
        self.sessions.fetch_add(1, Ordering::AcqRel);
        let age_ns = clock::now_ns() - self.started_ns;
        session.send(&FromAgent::Welcome { pid: std::process::id(), age_ns, links: self.links() });
        let parts: Parts = Arc::default();
        let heart = Heart::start(Arc::clone(session), Arc::clone(&parts));
        let mut seat = None;
        let mut commands = Vec::new();
        let mut stands = Vec::new();
        let mut surveyor = Surveyor::new(session);
        let mut meetings = Vec::new();
        let mut disk_tests = Vec::new();
        let mut depot = Depot::new(self, session);
        let shutdown = loop {
            match session.receive() {
                Ok(ToAgent::Ping) => {}
                Ok(ToAgent::Exec(command)) => {
                    commands.push(exec::start(self, Arc::clone(session), command));
                }
                Ok(ToAgent::Stand(order, secret, neighbours)) => {
                    stands.push(order);
                    let failed = chain::stand(self, order, &secret, &neighbours);
                    session.send(&FromAgent::Stands(order, failed));
                }
                Ok(ToAgent::Look(order)) => look::start(self, session, order),
                Ok(ToAgent::Attach(copy, text)) => of(&parts, copy, |part| part.attach(text)),
                Ok(ToAgent::Disk(order)) => disk_tests.push(disk::start(self, session, order)),
                Ok(ToAgent::Balance(order)) => depot.obey(order),
                Ok(ToAgent::ServeBinary(tickets, seconds)) => {
                    self.tickets.add(session, tickets, seconds);
                }
                Ok(ToAgent::Survey(order)) => surveyor.obey(order),
                Ok(ToAgent::Probe(meeting)) => {
                    probe::Running::begin(self, session, *meeting, &mut meetings);
                }
                Ok(ToAgent::EndProbe(id)) => probe::Running::end_one(&mut meetings, id),
                Ok(ToAgent::Shutdown) => break true,
                Ok(ToAgent::Queue(copy, bytes)) => seat = Some(self.queue(session, copy, bytes)),
                Ok(ToAgent::Begin(begin)) => {
                    let share = seat.take().and_then(Seat::share);
                    self.begin(session, &parts, *begin, share);
                }
                Ok(ToAgent::Close(copy)) => {
                    seat = None;
                    self.close(&parts, copy);
                    session.send(&FromAgent::Closed(copy));
                }
                Ok(ToAgent::Route(copy, route)) => {
                    of(&parts, copy, |part| part.member().route(route));
                }
                Ok(ToAgent::Detach(copy)) => of(&parts, copy, Part::detach),
                Ok(ToAgent::Commit(copy, root)) => {
                    of(&parts, copy, |part| part.commit(session, root));
                }
                Err(_) => break false,
            }
        };
        heart.stop();
        drop((surveyor, depot));
        drop(seat);
        stands.into_iter().for_each(|order| self.leave(order));
        commands.into_iter().for_each(exec::Running::end);
        meetings.into_iter().for_each(probe::Running::end);
        self.end_all(&parts);
        self.active_ns.store(clock::now_ns(), Ordering::Release);
        self.sessions.fetch_sub(1, Ordering::AcqRel);
        if shutdown || self.config.stay.is_none() {
            std::process::exit(0);
        }
    }

    /// The head is gone: nothing of its copies stays but what is committed.
    fn end_all(&self, parts: &Parts) {
        for part in std::mem::take(&mut *lock(parts)) {
            log(&format!("the head is gone: what isn't committed of {} is removed", part.name()));
            part.end(self);
        }
    }

    /// How many links stand here.
    fn links(&self) -> u32 {
        let links = self.parking.as_ref().map_or(0, |parking| parking.count());
        u32::try_from(links).unwrap_or(u32::MAX)
    }

    fn queue(&self, session: &Arc<Session>, copy: Copy, bytes: u64) -> Seat {
        let session = Arc::clone(session);
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        Seat::take(&self.budget, bytes, move || session.send(&FromAgent::Admitted(copy)))
    }

    fn begin(&self, session: &Arc<Session>, parts: &Parts, begin: Begin, share: Option<Share>) {
        let copy = begin.copy;
        session.send(&match Part::begin(self, session, begin, share) {
            Ok(part) => {
                lock(parts).push(part);
                FromAgent::Ready(copy)
            }
            Err(Refusal::Busy(busy)) => FromAgent::Busy(copy, busy.copies),
            Err(Refusal::Failed(reason)) => FromAgent::Failed(copy, reason),
        });
    }

    fn close(&self, parts: &Parts, copy: Copy) {
        let part = {
            let mut parts = lock(parts);
            let at = parts.iter().position(|part| part.member().copy == copy);
            at.map(|at| parts.swap_remove(at))
        };
        part.into_iter().for_each(|part| part.end(self));
    }

    /// A launcher that dies takes its agent with it: its end of the agent's input closes.
    fn end_with_launcher(&self) {
        let mut ignored = [0; 256];
        let mut input = io::stdin().lock();
        while !matches!(input.read(&mut ignored), Ok(0) | Err(_)) {}
        // A session notices by itself that its head is gone, and cleans up first.
        if self.sessions.load(Ordering::Acquire) == 0 {
            std::process::exit(0);
        }
    }

    fn watch_idleness(&self) {
        const LOOK: Duration = Duration::from_millis(500);
        let patience = self.config.stay.unwrap_or(LONELY);
        loop {
            std::thread::sleep(LOOK.min(patience));
            let idle = clock::now_ns().saturating_sub(self.active_ns.load(Ordering::Acquire));
            let busy = self.sessions.load(Ordering::Acquire) > 0;
            if !busy && u128::from(idle) >= patience.as_nanos() {
                log(&format!("nothing to do for {} s: the agent ends", patience.as_secs()));
                return;
            }
        }
    }
}

type Parts = Arc<Mutex<Vec<Part>>>;

fn lock(parts: &Parts) -> std::sync::MutexGuard<'_, Vec<Part>> {
    parts.lock().unwrap_or_else(PoisonError::into_inner)
}

fn of(parts: &Parts, copy: Copy, act: impl FnOnce(&Part)) {
    if let Some(part) = lock(parts).iter().find(|part| part.member().copy == copy) {
        act(part);
    }
}

/// The thread that says every so often that the node is alive.
struct Heart {
    stop: std::sync::mpsc::Sender<()>,
    beat: std::thread::JoinHandle<()>,
}

impl Heart {
    fn start(session: Arc<Session>, parts: Parts) -> Self {
        let (stop, stopped) = std::sync::mpsc::channel();
        let beat = std::thread::spawn(move || {
            while stopped.recv_timeout(HEARTBEAT) == Err(std::sync::mpsc::RecvTimeoutError::Timeout)
            {
                // Only the member is kept: a part's end must not wait for a heartbeat.
                let member = lock(&parts).first().map(|part| Arc::clone(part.member()));
                session.send(&FromAgent::Heartbeat(member.map(|member| member.report())));
            }
        });
        Self { stop, beat }
    }

    fn stop(self) {
        drop(self.stop);
        // Its panic has been printed; there is nothing more to say about it here.
        let _ = self.beat.join();
    }
}

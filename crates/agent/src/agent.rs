//! The agent: a process on every node that takes part in copies and runs commands, for the
//! controllers whose keys it was started with and nobody else.

mod config;
mod copies;
mod expected;
mod heart;
mod serving;

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use garland_protocol::{CopyId, KeyPair, PublicKey, ReadyLine};
use garland_sys::confine::Root;
use garland_sys::mptcp::Transport;
use garland_sys::{clock, limits, tcp, threads};

pub use self::config::{AgentConfig, AgentError};
pub use self::copies::Begun;
pub use self::expected::Expected;
use crate::disk;
use crate::giving::GivingRights;
use crate::listener;
use crate::view::Activity;
use garland_dataplane::awake::Awake;
use garland_dataplane::block_index::Records;
use garland_dataplane::budget::Budget;
use garland_dataplane::log::log;
use garland_dataplane::pace::Pace;
use garland_dataplane::usage::Usage;
use garland_sys::error::reason;
use garland_transport::link_pool::LinkPool;

/// How long an agent waits for its first controller.
const LONELY: Duration = Duration::from_secs(60);

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
    /// What it is at, for those who look.
    doings: Arc<Activity>,
    expected: Mutex<HashMap<CopyId, Expected>>,
    joined: Condvar,
    strangers: AtomicUsize,
    budget: Arc<Budget>,
    tickets: GivingRights,
    disk_gate: disk::Gate,
    /// Links that outlive their copy, if the agent does.
    parking: Option<Arc<LinkPool>>,
}

/// Runs an agent until it has nothing more to do; says its ready line first.
///
/// # Errors
/// When its root, its port or its output can't be had.
pub fn run_agent(config: AgentConfig) -> Result<(), AgentError> {
    if let Err(error) = limits::raise_open_files() {
        log(&format!("raising the limit of open files: {}", reason(&error)));
    }
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
    let parking = config.stay.map(LinkPool::new).transpose().map_err(AgentError::Parking)?;
    let disk = config.disk.map(|rate| Arc::new(Pace::new(rate)));
    let agent = Arc::new(Agent {
        doings: Arc::new(Activity::new(config.root.as_deref())),
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
        tickets: GivingRights::default(),
        disk_gate: disk::Gate::default(),
        parking: parking.map(Arc::new),
    });
    let line = ReadyLine {
        port: port.port(),
        key: agent.keys.public,
        release: env!("CARGO_PKG_VERSION").to_owned(),
        log: None,
    };
    agent.start_threads(listener).map_err(AgentError::Thread)?;
    let mut output = io::stdout().lock();
    writeln!(output, "{line}").and_then(|()| output.flush()).map_err(AgentError::Ready)?;
    drop(output);
    agent.watch_idleness();
    Ok(())
}

impl Agent {
    /// Starts what goes on as long as the agent is there.
    fn start_threads(self: &Arc<Self>, listener: TcpListener) -> io::Result<()> {
        if self.config.stay.is_none() {
            let agent = Arc::clone(self);
            threads::spawn("launcher", move || agent.end_with_launcher())?;
        }
        if self.parking.is_some() {
            let agent = Arc::clone(self);
            threads::spawn("parking", move || listener::attend_parked(&agent))?;
        }
        let agent = Arc::clone(self);
        threads::spawn("listener", move || listener::listen(&agent, &listener))?;
        Ok(())
    }

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
    pub fn parking(&self) -> Option<&Arc<LinkPool>> {
        self.parking.as_ref()
    }

    /// Who may have its program.
    pub fn tickets(&self) -> &GivingRights {
        &self.tickets
    }

    /// One disk test at a time.
    pub fn disk_gate(&self) -> &disk::Gate {
        &self.disk_gate
    }

    /// The node's disk, where an emulated one is slower than the machine's.
    pub fn disk(&self) -> Option<&Arc<Pace>> {
        self.disk.as_ref()
    }

    /// How long tests of balance have been at its disk.
    pub fn usage(&self) -> &Arc<Usage> {
        &self.usage
    }

    /// What it is at, for those who look.
    pub fn doings(&self) -> &Arc<Activity> {
        &self.doings
    }

    /// What it knows of files that it has written.
    pub fn records(&self) -> &Records {
        &self.config.records
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

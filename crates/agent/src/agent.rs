//! The agent: a process on every node that takes part in copies and runs commands. It serves only
//! controllers whose keys it was started with.

mod config;
mod copies;
mod heart;
mod serving;

use std::io::{self, Read};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use garland_protocol::{KeyPair, PublicKey};
use garland_sys::clock;
use garland_sys::confine::Root;
use garland_sys::mptcp::Transport;

pub use self::config::{AgentConfig, AgentError};
use crate::disk::Gate;
use crate::expected::Expectations;
use crate::giving::GivingRights;
use crate::view::Activity;
use garland_dataplane::awake::Awake;
use garland_dataplane::block_index::Records;
use garland_dataplane::budget::Budget;
use garland_dataplane::log::log;
use garland_dataplane::pace::Pace;
use garland_dataplane::usage::Usage;
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
    /// The time at which the last session ended, in monotonic nanoseconds.
    active_ns: AtomicU64,
    sessions: AtomicUsize,
    /// The copies and jobs in progress.
    activity: Arc<Activity>,
    expected: Expectations,
    strangers: AtomicUsize,
    budget: Arc<Budget>,
    tickets: GivingRights,
    disk_gate: Gate,
    /// The parked links, which outlive their copy; `None` if the agent exits with its controller.
    link_pool: Option<Arc<LinkPool>>,
}

impl Agent {
    /// Creates an agent without sessions.
    ///
    /// # Errors
    /// When its root cannot be opened, or its standing links cannot be watched.
    pub fn new(config: AgentConfig) -> Result<Self, AgentError> {
        let root = match &config.root {
            None => Root::Free,
            Some(path) => Root::confined(path)
                .map_err(|error| AgentError::Root(path.display().to_string(), error))?,
        };
        let link_pool = config.stay.map(LinkPool::new).transpose().map_err(AgentError::Parking)?;
        let now = clock::now_ns();
        Ok(Self {
            activity: Arc::new(Activity::new(config.root.as_deref())),
            disk: config.disk.map(|rate| Arc::new(Pace::new(rate))),
            usage: Arc::default(),
            awake: Arc::default(),
            keys: config.keys.clone().unwrap_or_else(KeyPair::generate),
            root,
            started_ns: now,
            active_ns: AtomicU64::new(now),
            sessions: AtomicUsize::new(0),
            expected: Expectations::default(),
            strangers: AtomicUsize::new(0),
            budget: Arc::default(),
            tickets: GivingRights::default(),
            disk_gate: Gate::default(),
            link_pool: link_pool.map(Arc::new),
            config,
        })
    }

    /// Returns the connections that the port accepts from other nodes.
    pub fn expected(&self) -> &Expectations {
        &self.expected
    }

    /// Returns the key pair of the agent.
    pub fn keys(&self) -> &KeyPair {
        &self.keys
    }

    /// Returns the public keys of the controllers.
    pub fn controllers(&self) -> &[PublicKey] {
        &self.config.controllers
    }

    /// Returns the directory that contains all paths of the agent.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Returns the memory budget that its copies share.
    pub fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Returns the parked links, which outlive their copy; `None` if the agent exits with its
    /// controller.
    pub fn link_pool(&self) -> Option<&Arc<LinkPool>> {
        self.link_pool.as_ref()
    }

    /// Returns the tickets for fetching the agent's program.
    pub fn tickets(&self) -> &GivingRights {
        &self.tickets
    }

    /// Returns the gate that admits one disk test at a time.
    pub fn disk_gate(&self) -> &Gate {
        &self.disk_gate
    }

    /// Returns the node's emulated disk, if it has one.
    pub fn disk(&self) -> Option<&Arc<Pace>> {
        self.disk.as_ref()
    }

    /// Returns the counter of the time for which balance tests used the disk.
    pub fn usage(&self) -> &Arc<Usage> {
        &self.usage
    }

    /// Returns the copies and jobs in progress.
    pub fn activity(&self) -> &Arc<Activity> {
        &self.activity
    }

    /// Returns the block indexes of files that the agent has written.
    pub fn records(&self) -> &Records {
        &self.config.records
    }

    /// Returns the counter of the time for which the threads of its copies were awake.
    pub fn awake(&self) -> &Arc<Awake> {
        &self.awake
    }

    /// Returns the transport of its port and of the standing links that it opens.
    pub fn transport(&self) -> Transport {
        self.config.transport
    }

    /// Returns the working directory of commands.
    pub fn folder(&self) -> Option<&std::path::Path> {
        self.config.root.as_deref()
    }

    /// Logs a refused connection. The number of such lines is bounded.
    pub fn log_stranger(&self, peer: SocketAddr, reason: &str) {
        const LINES: usize = 100;
        let before = self.strangers.fetch_add(1, Ordering::Relaxed);
        if before < LINES {
            log(&format!("refused a connection from {peer}: {reason}"));
        } else if before == LINES {
            log("further refused connections are not logged");
        }
    }

    /// Waits until the standard input ends, which means that the launcher has died, and exits if no
    /// session is open.
    pub fn end_with_launcher(&self) {
        let mut ignored = [0; 256];
        let mut input = io::stdin().lock();
        while !matches!(input.read(&mut ignored), Ok(0) | Err(_)) {}
        // An open session detects that its head is gone, cleans up, and exits.
        if self.sessions.load(Ordering::Acquire) == 0 {
            std::process::exit(0);
        }
    }

    /// Waits until the agent has had no session for as long as it is configured to stay.
    pub fn watch_idleness(&self) {
        const POLL: Duration = Duration::from_millis(500);
        let patience = self.config.stay.unwrap_or(LONELY);
        loop {
            std::thread::sleep(POLL.min(patience));
            let idle = clock::now_ns().saturating_sub(self.active_ns.load(Ordering::Acquire));
            let busy = self.sessions.load(Ordering::Acquire) > 0;
            if !busy && u128::from(idle) >= patience.as_nanos() {
                log(&format!("exiting after {} s without a session", patience.as_secs()));
                return;
            }
        }
    }
}

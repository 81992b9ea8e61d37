//! The agent: a process on every node. It takes part in copies, runs commands, and serves only
//! controllers whose public keys it received when it was started.

mod config;
mod copies;
mod heart;
mod members;
mod serving;

use std::collections::HashMap;
use std::io::Read;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use garland_core::printable;
use garland_dataplane::Awake;
use garland_dataplane::Usage;
use garland_dataplane::budget::Budget;
use garland_dataplane::pace::Pace;
use garland_protocol::wire::{KeyPair, PublicKey, SessionId};
use garland_protocol::{Grant, Role};
use garland_sys::clock;
use garland_sys::confine::Root;
use garland_sys::inherited;
use garland_sys::sync::Mutex;
use garland_sys::syslog::Syslog;
use garland_transport::Greeters;
use garland_transport::link_pool::LinkPool;

pub use self::config::{AgentConfig, AgentError};
use crate::audit::Audit;
use crate::expected::Expectations;
use crate::files::JobFolders;
use crate::giving::GivingRights;
use crate::known_members::KnownMembers;
use crate::log::log;
use crate::names::{Fetchers, Holdings, NameStore};
use crate::session::Session;
use crate::threads_of_keys::KeyShares;
use crate::view::Activity;

/// The time without a session after which an agent exits, unless another time is configured.
const IDLE_MAX: Duration = Duration::from_secs(60);

/// How long the sessions of an agent that is too old may take to end.
const LAST_SESSIONS_TIMEOUT: Duration = Duration::from_secs(3600);

/// The open sessions, by the key of the other side and the session's identity.
pub type OpenSessions = HashMap<(PublicKey, SessionId), Arc<Session>>;

/// Returns whether one of the sessions is that of a controller. Those of nodes may last as long as
/// these like, and keep no agent from ending.
pub fn serves_controller(open: &OpenSessions) -> bool {
    open.values().any(|session| session.grant().role == Role::Controller)
}

/// A running agent: its configuration, and the state that all its sessions share.
pub struct Agent {
    /// The configuration with which the agent was started.
    pub config: AgentConfig,
    /// The key pair with which the agent authenticates to controllers.
    pub keys: KeyPair,
    /// The directory below which the agent resolves all paths.
    pub root: Root,
    /// The rate limit of the node's emulated disk; `None` if no disk is emulated.
    pub disk: Option<Arc<Pace>>,
    /// The time during which copies of this agent used the disk.
    pub usage: Arc<Usage>,
    /// The longest time that a single thread of the agent's copies ran or waited for a CPU, since
    /// the start of the current balance round.
    pub awake: Arc<Awake>,
    /// The copies and jobs in progress, for reports of the node's activity.
    pub activity: Arc<Activity>,
    /// The loop that greets the peers at the agent's port.
    pub greeters: Greeters,
    /// The operations for which the agent's port accepts connections from other nodes.
    pub expected: Arc<Expectations>,
    /// The open sessions.
    pub open: Mutex<OpenSessions>,
    /// The threads that work for each key.
    pub shares: KeyShares,
    /// The bytes that members have not acknowledged, of all their sessions.
    pub unacknowledged: Arc<AtomicUsize>,
    /// The memory that the agent's copies share.
    pub budget: Arc<Budget>,
    /// The tickets that allow nodes to fetch the agent's program.
    pub tickets: GivingRights,
    /// Locked while a disk test runs: two tests would disturb each other.
    pub disk_gate: Mutex<()>,
    /// The parked connections, kept for later copies; `None` if the agent exits with its
    /// controller.
    pub link_pool: Option<Arc<LinkPool>>,
    /// The nodes that fetch contents whose names this agent keeps.
    pub fetchers: Mutex<Fetchers>,
    /// The members of the cluster.
    pub members: KnownMembers,
    /// The names that the agent keeps; `None` without a state directory.
    pub names: Option<NameStore>,
    /// The contents that the agent serves.
    pub holdings: Arc<Holdings>,
    /// The directories that a farm's nodes reach.
    pub job_folders: Arc<JobFolders>,
    /// The lines in the node's log.
    pub audit: Audit,
    started_ns: u64,
    /// The time at which the agent was started, the last session of a controller ended, or a node
    /// used it last, in monotonic nanoseconds.
    pub active_ns: Arc<AtomicU64>,
    sessions: AtomicUsize,
    strangers: AtomicUsize,
}

impl Agent {
    /// Creates an agent without sessions.
    ///
    /// # Errors
    /// When the root directory cannot be opened, or connections cannot be watched.
    pub fn new(config: AgentConfig) -> Result<Self, AgentError> {
        let root = match &config.root {
            None => Root::Free,
            Some(path) => Root::confined(path)
                .map_err(|error| AgentError::Root(printable::path(path), error))?,
        };
        let link_pool = config.stay.map(LinkPool::new).transpose().map_err(AgentError::Watch)?;
        let greeters = Greeters::new().map_err(AgentError::Watch)?;
        let now = clock::now_ns();
        Ok(Self {
            activity: Arc::new(Activity::new(config.root.as_deref())),
            disk: Pace::limited_to(config.disk),
            usage: Arc::default(),
            awake: Arc::default(),
            keys: config.keys.clone().unwrap_or_else(KeyPair::generate),
            root,
            started_ns: now,
            active_ns: Arc::new(AtomicU64::new(now)),
            sessions: AtomicUsize::new(0),
            open: Mutex::default(),
            shares: KeyShares::default(),
            unacknowledged: Arc::default(),
            expected: Expectations::new(greeters.wake()),
            strangers: AtomicUsize::new(0),
            budget: Arc::default(),
            tickets: GivingRights::new(greeters.wake()),
            greeters,
            disk_gate: Mutex::default(),
            link_pool: link_pool.map(Arc::new),
            fetchers: Mutex::default(),
            members: KnownMembers::default(),
            names: config.names.clone().map(NameStore::open),
            holdings: Arc::new(Holdings::open(
                config.names.as_ref().map(|names| names.with_extension("held")),
            )),
            job_folders: Arc::new(JobFolders::new(&config.farm)),
            audit: Audit::new(config.syslog.then(Syslog::new)),
            config,
        })
    }

    /// Returns what the owner of `key` may do; `None` if the agent does not know it.
    pub fn grant(&self, key: &PublicKey) -> Option<Grant> {
        if self.config.controllers.contains(key) {
            return Some(Grant::controller());
        }
        let farm_node = self.config.farm.nodes.iter().find(|node| node.key == *key);
        farm_node.map(|node| Grant::farm_node(&node.name)).or_else(|| self.members.grant(key))
    }

    /// Returns whether the owner of `key` may do at present what `grant` says, and nothing else:
    /// the key may have been changed since.
    pub fn still_grants(&self, key: &PublicKey, grant: &Grant) -> bool {
        self.grant(key).as_ref() == Some(grant)
    }

    /// Logs a refused connection, unless the agent has logged 100 of them already.
    pub fn log_stranger(&self, peer: SocketAddr, reason: &str) {
        const LINES: usize = 100;
        self.audit.refused(peer, reason);
        let before = self.strangers.fetch_add(1, Ordering::Relaxed);
        if before < LINES {
            log(&format!("refused a connection from {peer}: {reason}"));
        } else if before == LINES {
            log("further refused connections are not logged");
        }
    }

    /// Waits until the standard input ends, which means that the launcher has died. Then exits the
    /// process if no session is open.
    pub fn end_with_launcher(&self) {
        let mut ignored = [0; 256];
        if let Ok(mut stdin) = inherited::input() {
            while !matches!(stdin.read(&mut ignored), Ok(0) | Err(_)) {}
        }
        // An open session detects that its head is gone, cleans up, and exits.
        if self.sessions.load(Ordering::Acquire) == 0 {
            std::process::exit(0);
        }
    }

    /// Returns whether the agent has reached its maximum age: it takes no new session.
    pub fn is_too_old(&self) -> bool {
        self.config.max_life.is_some_and(|max_life| self.age() >= max_life)
    }

    /// Returns the time since the agent was started.
    pub fn age(&self) -> Duration {
        Duration::from_nanos(clock::now_ns().saturating_sub(self.started_ns))
    }

    /// Returns when the agent has had no session for the configured time, or for 60 seconds if none
    /// is configured or nobody has used it yet: the command that started it may have been killed
    /// before it knew of it. Also returns when it is too old and its sessions have ended, or have
    /// had an hour for that.
    pub fn watch_idleness(&self) {
        const POLL_INTERVAL: Duration = Duration::from_millis(500);
        let stay = self.config.stay.unwrap_or(IDLE_MAX);
        loop {
            garland_sys::threads::sleep(POLL_INTERVAL.min(stay));
            if self.is_too_old() {
                // No session begins once one was refused for the age: the lock orders them.
                let has_ended = !serves_controller(&self.open.lock());
                let is_late = self
                    .config
                    .max_life
                    .is_some_and(|max| self.age() >= max + LAST_SESSIONS_TIMEOUT);
                if has_ended || is_late {
                    log(&format!("exiting at the age of {} s", self.age().as_secs()));
                    return;
                }
            }
            let active_ns = self.active_ns.load(Ordering::Acquire);
            let is_unused = active_ns == self.started_ns;
            let patience = if is_unused { stay.min(IDLE_MAX) } else { stay };
            let idle = clock::now_ns().saturating_sub(active_ns);
            let busy = self.sessions.load(Ordering::Acquire) > 0;
            if !busy && u128::from(idle) >= patience.as_nanos() {
                log(&format!("exiting after {} s without a session", patience.as_secs()));
                return;
            }
        }
    }
}

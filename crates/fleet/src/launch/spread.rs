//! Distributes the program to nodes that lack it. The head sends it to a few nodes, and nodes that
//! have the program serve it to others. So the number of nodes with the program at least doubles in
//! the time of one upload from the head.

use std::collections::HashMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use garland_control::Agent;
use garland_protocol::ToAgent;
use garland_protocol::wire::Secret;
use garland_sys::sync::{Condvar, Mutex};
use garland_sys::{clock, random};

use super::cancellation::Cancellation;
use super::error::LaunchError;

/// The maximum number of concurrent uploads by the head while other nodes can wait for a node that
/// serves the program.
const UPLOADS: usize = 2;

/// The maximum number of concurrent uploads by the head if nodes cannot fetch the program from
/// other nodes.
const UPLOADS_ALONE: usize = 8;

/// The maximum number of nodes that one node serves at the same time.
const SERVED_AT_ONCE: usize = 2;

/// The maximum number of nodes that one node serves in total. After that, others serve the program.
const TICKETS: usize = 16;

/// The time for which a node serves the program, in seconds.
const SERVING_S: u16 = 300;

/// After this number of failed fetches without a successful one, the head sends the program to all
/// nodes: a firewall probably blocks connections between nodes.
const FAILED_FETCHES_LIMIT: usize = 3;

/// How long others wait for a node that was sent the program to serve them. A firewall may keep the
/// head from its agent, which takes seconds to find out.
const SERVING_TIMEOUT: Duration = Duration::from_millis(500);

/// A transfer that takes longer than this no longer counts as running: its node may hang.
const TRANSFER_TIMEOUT: Duration = Duration::from_secs(30);

/// The source from which a node gets the program.
#[derive(Clone, Debug)]
pub enum ProgramSource {
    /// The head, over the ssh connection.
    Head,
    /// Another node.
    Node {
        /// The name of that node.
        name: String,
        /// The address of the node's agent.
        at: SocketAddr,
        /// The ticket that the agent requires.
        ticket: Secret,
    },
}

/// The distribution of the program by one command. All starts of the command share it.
pub struct Spread {
    state: Mutex<State>,
    changed: Condvar,
    log: PathBuf,
}

#[derive(Default)]
struct State {
    servers: Vec<ProgramServer>,
    /// For each node that is being started, by name: where it gets the program.
    transfers: HashMap<String, Transfer>,
    /// Number of successful fetches from nodes.
    fetched: usize,
    /// Number of failed fetches from nodes.
    failed: usize,
    /// Whether the head reaches an agent by logins only. Other nodes hardly reach it, then.
    is_behind_firewalls: bool,
}

/// The transfer of the program to a node.
struct Transfer {
    from: ProgramSource,
    /// When the source was chosen, in monotonic nanoseconds.
    began_ns: u64,
    /// When the node ran the program, in monotonic nanoseconds; none while it does not.
    ran_ns: Option<u64>,
}

/// A node that serves the program.
struct ProgramServer {
    name: String,
    at: SocketAddr,
    tickets: Vec<Secret>,
    until_ns: u64,
}

impl Spread {
    /// Begins a distribution. The source of each node is written to the file `log`, if possible.
    pub fn new(log: &Path) -> Self {
        Self { state: Mutex::default(), changed: Condvar::new(), log: log.to_owned() }
    }

    /// Returns the timeout for fetching `bytes` bytes over a slow link which two nodes share.
    pub fn patience(bytes: u64) -> Duration {
        const SLOWEST: u64 = 1 << 20;
        Duration::from_secs(5 + bytes.div_ceil(SLOWEST))
    }

    /// Waits until a source is available for `node`, and returns it. If `why_not` is a reason why
    /// the source cannot be another node, the source is the head.
    ///
    /// # Errors
    /// When the start is cancelled.
    pub fn turn(
        &self,
        node: &str,
        why_not: Option<&str>,
        cancellation: &Cancellation,
    ) -> Result<ProgramSource, LaunchError> {
        let mut state = self.state.lock();
        state.transfers.remove(node);
        let from = loop {
            if let Some(from) = state.choose(why_not.is_some(), clock::now_ns()) {
                break from;
            }
            cancellation.check()?;
            // Check again at intervals, since transfers expire.
            let _ = self.changed.wait_for(&mut state, Cancellation::POLL_INTERVAL);
        };
        let transfer = Transfer { from: from.clone(), began_ns: clock::now_ns(), ran_ns: None };
        state.transfers.insert(node.to_owned(), transfer);
        drop(state);
        match (&from, why_not) {
            (ProgramSource::Node { name, .. }, _) => self.note(&format!("{node}: from {name}")),
            (ProgramSource::Head, None) => self.note(&format!("{node}: from the head")),
            (ProgramSource::Head, Some(why)) => {
                self.note(&format!("{node}: from the head, since {why}"));
            }
        }
        Ok(from)
    }

    /// Reports that `node` runs the program. It is not known yet whether it can serve others.
    pub fn runs(&self, node: &str) {
        if let Some(transfer) = self.state.lock().transfers.get_mut(node) {
            transfer.ran_ns = Some(clock::now_ns());
        }
    }

    /// Reports that `node` could not fetch the program. The node's source is not used again.
    /// Returns an error message with the name of the source and the reason `why`.
    pub fn unserved(&self, node: &str, why: &str) -> String {
        let mut state = self.state.lock();
        let from = state.transfers.remove(node).map(|transfer| transfer.from);
        let Some(ProgramSource::Node { name, .. }) = from else { return why.to_owned() };
        state.failed += 1;
        state.servers.retain(|server| server.name != name);
        self.changed.notify_all();
        format!("it could not be fetched from {name}: {why}")
    }

    /// Reports that the start of `node` has ended. If there is an `agent`, it serves the program to
    /// other nodes from now on, unless this machine reaches it by logins only.
    pub fn settle(&self, node: &str, agent: Option<&mut Agent>) {
        let is_behind_firewall = agent.as_ref().is_some_and(|agent| agent.is_behind_login());
        let agent = agent.filter(|_| !is_behind_firewall);
        let server = agent.and_then(|agent| ProgramServer::start(node, agent));
        let mut state = self.state.lock();
        state.is_behind_firewalls |= is_behind_firewall;
        let from = state.transfers.remove(node).map(|transfer| transfer.from);
        if let Some(ProgramSource::Node { .. }) = from {
            state.fetched += usize::from(server.is_some());
        }
        state.servers.extend(server);
        self.changed.notify_all();
    }

    fn note(&self, line: &str) {
        // The log is optional: ignore errors.
        let log = OpenOptions::new().append(true).create(true).mode(0o600).open(&self.log);
        let _ = log.and_then(|mut log| log.write_all(format!("{line}\n").as_bytes()));
    }
}

impl State {
    /// Chooses the source of the next node. It is the head if `alone`, or if nodes do not seem to
    /// reach each other. Returns none if the node has to wait.
    fn choose(&mut self, alone: bool, now_ns: u64) -> Option<ProgramSource> {
        self.servers.retain(|server| server.until_ns > now_ns && !server.tickets.is_empty());
        let hung_ns = u64::try_from(TRANSFER_TIMEOUT.as_nanos()).unwrap_or(u64::MAX);
        let serves_ns = u64::try_from(SERVING_TIMEOUT.as_nanos()).unwrap_or(u64::MAX);
        let is_running = |transfer: &&Transfer| {
            now_ns.saturating_sub(transfer.began_ns) < hung_ns
                && transfer.ran_ns.is_none_or(|ran_ns| now_ns.saturating_sub(ran_ns) < serves_ns)
        };
        let transfers = self.transfers.values().filter(is_running);
        let mut uploads = 0;
        let mut busy: HashMap<&str, usize> = HashMap::new();
        for transfer in transfers {
            match &transfer.from {
                ProgramSource::Head => uploads += 1,
                ProgramSource::Node { name, .. } => *busy.entry(name).or_default() += 1,
            }
        }
        let none_fetches = self.failed >= FAILED_FETCHES_LIMIT && self.fetched == 0;
        let none_serves = self.is_behind_firewalls && self.servers.is_empty();
        if alone || none_fetches || none_serves {
            return (uploads < UPLOADS_ALONE).then_some(ProgramSource::Head);
        }
        let busy = |server: &ProgramServer| busy.get(server.name.as_str()).copied().unwrap_or(0);
        let counts: Vec<usize> = self.servers.iter().map(busy).collect();
        match counts.iter().enumerate().min_by_key(|(_, count)| **count) {
            None => (uploads < UPLOADS).then_some(ProgramSource::Head),
            Some((_, &count)) if count >= SERVED_AT_ONCE => None,
            Some((at, _)) => {
                let server = &mut self.servers[at];
                let ticket = server.tickets.pop()?;
                Some(ProgramSource::Node { name: server.name.clone(), at: server.at, ticket })
            }
        }
    }
}

impl ProgramServer {
    /// Orders the agent of `node` to serve its program to nodes that have a ticket. Returns none if
    /// the agent cannot be reached.
    fn start(node: &str, agent: &mut Agent) -> Option<Self> {
        let at = *agent.addresses.first()?;
        let tickets: Vec<Secret> = (0..TICKETS).map(|_| Secret(random::bytes())).collect();
        let order = ToAgent::ServeBinary(tickets.clone(), SERVING_S);
        // A broken channel is reported by its next use.
        agent.connection.send(&order).ok()?;
        let until_ns = clock::now_ns() + u64::from(SERVING_S) * 1_000_000_000;
        Some(Self { name: node.to_owned(), at, tickets, until_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(name: &str, tickets: usize) -> ProgramServer {
        let at = SocketAddr::from(([10, 0, 0, 1], 4000));
        let tickets = (0..tickets).map(|_| Secret([1; 32])).collect();
        ProgramServer { name: name.to_owned(), at, tickets, until_ns: u64::MAX }
    }

    /// Chooses a source for `node`. Returns its name, or none if the node has to wait.
    fn turn(state: &mut State, node: &str, now_ns: u64) -> Option<String> {
        let from = state.choose(false, now_ns)?;
        let transfer = Transfer { from: from.clone(), began_ns: now_ns, ran_ns: None };
        state.transfers.insert(node.to_owned(), transfer);
        Some(match from {
            ProgramSource::Head => "head".to_owned(),
            ProgramSource::Node { name, .. } => name,
        })
    }

    #[test]
    fn the_head_serves_two_nodes_and_these_serve_the_others() {
        let mut state = State::default();
        let who = |state: &mut State, node: &str| turn(state, node, 0);
        assert_eq!(who(&mut state, "n1").as_deref(), Some("head"));
        assert_eq!(who(&mut state, "n2").as_deref(), Some("head"));
        assert_eq!(who(&mut state, "n3"), None, "n1 and n2 will have it");
        state.transfers.remove("n1");
        state.servers.push(server("n1", 9));
        assert_eq!(who(&mut state, "n3").as_deref(), Some("n1"));
        assert_eq!(who(&mut state, "n4").as_deref(), Some("n1"));
        assert_eq!(who(&mut state, "n5"), None, "n1 is busy, and the head leaves it to nodes");
        state.servers.push(server("n2", 1));
        assert_eq!(who(&mut state, "n5").as_deref(), Some("n2"));
        state.transfers.remove("n4");
        assert_eq!(who(&mut state, "n6").as_deref(), Some("n1"), "n2 has no ticket left");
    }

    #[test]
    fn a_node_that_runs_and_does_not_serve_soon_is_not_waited_for() {
        let mut state = State::default();
        assert!(turn(&mut state, "n1", 0).is_some() && turn(&mut state, "n2", 0).is_some());
        state.transfers.get_mut("n1").expect("it began").ran_ns = Some(10);
        assert_eq!(turn(&mut state, "n3", 11), None, "n1 may serve in a moment");
        let later = u64::try_from(SERVING_TIMEOUT.as_nanos()).expect("it fits") + 10;
        assert_eq!(turn(&mut state, "n3", later).as_deref(), Some("head"));
        assert_eq!(turn(&mut state, "n4", later), None, "n2 and n3 are being sent it");
    }

    #[test]
    fn the_head_serves_all_nodes_behind_a_firewall() {
        let mut state = State { is_behind_firewalls: true, ..State::default() };
        let sources: Vec<_> =
            (0..=UPLOADS_ALONE).map(|n| turn(&mut state, &n.to_string(), 0)).collect();
        let served = sources.iter().filter(|from| from.as_deref() == Some("head"));
        assert_eq!(served.count(), UPLOADS_ALONE, "{sources:?}");
        state.servers.push(server("open", 2));
        assert_eq!(turn(&mut state, "n9", 0).as_deref(), Some("open"), "not all are behind it");
    }

    #[test]
    fn a_node_that_hangs_does_not_block_others_for_ever() {
        let mut state = State::default();
        assert!(turn(&mut state, "n1", 0).is_some() && turn(&mut state, "n2", 0).is_some());
        assert_eq!(turn(&mut state, "n3", 1), None);
        let later = u64::try_from(TRANSFER_TIMEOUT.as_nanos()).expect("it fits");
        assert_eq!(turn(&mut state, "n3", later).as_deref(), Some("head"));
    }

    #[test]
    fn the_head_serves_all_nodes_if_nodes_cannot_reach_each_other() {
        let spread = Spread::new(Path::new("/dev/null"));
        for node in ["n4", "n5", "n6"] {
            let mut state = spread.state.lock();
            state.servers.push(server(node, 2));
            assert_eq!(turn(&mut state, "n7", 0).as_deref(), Some(node));
            drop(state);
            let why = spread.unserved("n7", "0 of 9 bytes came");
            assert_eq!(why, format!("it could not be fetched from {node}: 0 of 9 bytes came"));
        }
        let mut state = spread.state.lock();
        state.servers.push(server("n8", 2));
        assert_eq!(turn(&mut state, "n7", 0).as_deref(), Some("head"));
    }
}

//! Connects a command to the agents of its nodes; starts agents on nodes without a standing agent.

mod beginning;
mod closed_ports;
mod late;
mod late_logins;
mod notes;
mod replacing;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use garland_control::Agent;
use garland_core::cluster::listen::Ports;
use garland_core::cluster::{Cluster, Launcher, Node};
use garland_core::printable;
use garland_lab::Lab;
use garland_protocol::copy::ClockFault;
use garland_protocol::wire::KeyPair;
use garland_state::places::Places;
use garland_state::run::Run;
use garland_sys::limits;
use garland_sys::signal::Interrupts;
use garland_sys::{clock, process};
use garland_terminal::failure::Failure;
use garland_terminal::starting;
use garland_transport::detour;

use self::closed_ports::ClosedPorts;
pub use self::late::LateStarts;
pub use self::late_logins::LateLogins;
use self::notes::Notes;
use crate::args::Launch;
use crate::at_once::{Slot, in_slots};
use crate::claims::Claims;
use crate::ending;
use crate::inventory::{self, Inventory};
use crate::launch::launchers::{self, Launchers};
use crate::launch::{
    Answers, Cancellation, INTERRUPTED_END_TIMEOUT, LaunchError, LaunchResult, LaunchedChild,
    Orders, REAP_TIMEOUT, Serves, Trace, after, cannot, lab, local, log_name,
};
use crate::processes::Processes;
use crate::reach::{self, Unreached};
use crate::standing::{
    CONNECT_AFTER_LOGIN_TIMEOUT, CONNECT_TIMEOUT, RecordDir, Settings, Standing,
};

/// The parameters for starting agents.
pub struct FleetBuilder<'a> {
    /// The nodes of the command.
    pub nodes: &'a [Node],
    /// Resolves the node lists of join requests; none if no nodes may join.
    pub inventory: Option<&'a Inventory>,
    /// The cluster of the cluster file, which says how nodes are reached; none without a file.
    pub cluster: Option<&'a Cluster>,
    /// The path of the cluster file; empty without one.
    pub cluster_path: &'a Path,
    /// The state directory.
    pub places: &'a Places,
    /// The user's options for starting agents.
    pub launch: &'a Launch,
    /// The directory of the agents' logs.
    pub logs: PathBuf,
    /// The lab that the nodes belong to, which this process has entered; none for real nodes.
    pub lab: Option<&'a Lab>,
    /// The number of idle seconds after which agents end; none if they end with this command.
    pub stay: Option<u64>,
    /// The age in seconds at which standing agents end; none for any.
    pub max_life: Option<u64>,
    /// The user's interrupts; none if an interrupt ends the process.
    pub interrupts: Option<Arc<Interrupts>>,
    /// Whether to print no progress on the terminal.
    pub quiet: bool,
    /// Whether the command examines the network itself. If so, this process connects to a lab's
    /// agents without using the emulated links, and starts the agent of this machine without ssh,
    /// if this machine is one of the nodes.
    pub out_of_band: bool,
    /// The clock faults to inject, each with the name of its node.
    pub clocks: &'a [(String, ClockFault)],
    /// Whether the command begins without nodes that do not answer their logins as the others do,
    /// and serves them when they do: [`FleetBuilder::copy`] and [`FleetBuilder::on_late`].
    pub goes_ahead: bool,
    /// Whether nodes write the bytes of a copy to this process's standard output.
    pub passes_output: bool,
    /// The root directory that all local agents of the command share; none if each has its own.
    pub here: Option<PathBuf>,
    /// What nodes have said of their agents so far.
    pub claims: Claims,
}

/// The parameters for all nodes of one call of [`FleetBuilder::start_all`].
struct Starter<'a> {
    keys: &'a KeyPair,
    orders: &'a Orders,
    launchers: &'a Launchers<'a>,
    records: &'a RecordDir,
    notes: &'a Notes,
    closed: &'a ClosedPorts<'a>,
}

/// The terms of one call of [`FleetBuilder::start_each`].
struct Terms<'a> {
    /// Leased until the agents have records, by which those of this key are found.
    keys: &'a KeyPair,
    cancellation: &'a Cancellation,
    answers: Arc<Answers>,
    records: &'a RecordDir,
    /// Counts the nodes that have an agent or have failed.
    ready: &'a AtomicUsize,
    notes: &'a Notes,
}

/// An agent and the process that keeps it alive, or the reason why the node has no agent. There is
/// no process for a standing agent, or if agents share one.
type Started = Result<(Agent, Option<LaunchedChild>), LaunchError>;

/// The agents of all nodes, in the nodes' order.
pub struct Fleet {
    /// The agent of each node, or the reason why the node has none, as text for results.
    pub agents: Vec<Result<Agent, String>>,
    /// The processes that keep the agents alive.
    pub children: Children,
}

/// The processes that keep agents alive: one element per node, in the nodes' order (none for a
/// standing agent), followed by elements for shared processes and for nodes that joined. Dropping
/// this ends the agents.
#[derive(Default)]
pub struct Children {
    processes: Vec<Option<LaunchedChild>>,
    late: LateLogins,
}

impl Children {
    /// Returns whether agents were started, and are not all standing ones.
    pub fn have_any(&self) -> bool {
        self.processes.iter().any(Option::is_some)
    }

    /// Ends all agents, and waits up to `patience` for all of them together. `is_silent` gets the
    /// index of an element; if it returns true, the process is killed at once.
    pub fn end(mut self, patience: Duration, is_silent: impl Fn(usize) -> bool) {
        drop(self.take_late());
        let deadline_ns = after(patience);
        let mut others = Vec::new();
        let mut hung = Vec::new();
        for (at, child) in self.processes.drain(..).enumerate() {
            let Some(mut child) = child else { continue };
            child.close_input();
            if is_silent(at) {
                child.kill();
                hung.push(child);
            } else {
                others.push(child);
            }
        }
        others.iter_mut().for_each(|child| child.end(deadline_ns));
        // All killed processes are reaped by the same deadline.
        let deadline_ns = after(REAP_TIMEOUT);
        others.into_iter().chain(hung).for_each(|mut child| child.reap(deadline_ns));
    }
}

impl<'a> FleetBuilder<'a> {
    /// Creates the builder for a command. The agents end with the command, and log to the directory
    /// of `run`. For nodes of a lab, `lab` is required, and this process must have entered it.
    pub fn new(
        nodes: &'a [Node],
        inventory: &'a Inventory,
        places: &'a Places,
        launch: &'a Launch,
        run: &Run,
        lab: Option<&'a Lab>,
    ) -> Self {
        Self {
            nodes,
            inventory: None,
            cluster: inventory.cluster(),
            cluster_path: inventory.path(),
            places,
            launch,
            logs: run.folder().to_owned(),
            lab,
            stay: None,
            max_life: None,
            interrupts: None,
            quiet: false,
            out_of_band: false,
            clocks: &[],
            goes_ahead: false,
            passes_output: false,
            here: None,
            claims: Claims::default(),
        }
    }
}

impl FleetBuilder<'_> {
    /// Starts an agent on every node that has no standing agent, and connects to all agents.
    pub fn assemble(&self) -> Result<Fleet, Failure> {
        // If this fails, only fewer nodes are possible; calls that run out of descriptors report
        // it.
        let _ = limits::raise_open_files();
        if let Some(lab) = self.lab.filter(|_| self.stay.is_none()) {
            lab::keep_topology(lab, &self.logs)?;
        }
        let cancellation = Cancellation::by(self.interrupts.clone());
        let records = RecordDir::open(self.places, self.lab.map(Lab::name))?;
        let notes = Notes::default();
        let answers = Arc::new(Answers::new(self.nodes.len(), self.goes_ahead));
        let lease = self.places.lease_controller_keys(|| cancellation.is_cancelled())?;
        let started = starting::watch(self.quiet, self.nodes.len(), |ready| {
            let terms = Terms {
                keys: &lease.keys,
                cancellation: &cancellation,
                answers: Arc::clone(&answers),
                records: &records,
                ready,
                notes: &notes,
            };
            self.start_all(self.nodes, &terms)
        });
        notes.print();
        let (results, shared) = started;
        let (agents, mut children): (Vec<_>, Vec<_>) = results
            .into_iter()
            .map(|result| match result {
                Ok((agent, child)) => (Ok(agent), child),
                Err(error) => (Err(self.reason(&error.to_string())), None),
            })
            .unzip();
        children.extend(shared.into_iter().map(Some));
        let late = LateLogins::new(self.nodes, answers.take_silent(), lease);
        let children = Children { processes: children, late };
        let mut fleet = Fleet { agents, children };
        if cancellation.is_cancelled() {
            // The agents end when their channels close.
            drop(fleet.agents);
            fleet.children.end(INTERRUPTED_END_TIMEOUT, |_| false);
            return Err(Failure::interrupted("starting agents"));
        }
        self.reject_loopbacks(&mut fleet, &records);
        Ok(fleet)
    }

    /// Starts or finds the agents of `nodes`. Returns the agents, and the processes that they
    /// share.
    fn start_all(&self, nodes: &[Node], terms: &Terms<'_>) -> (Vec<Started>, Vec<LaunchedChild>) {
        let (mut results, shared) = self.start_each(nodes, terms, |_, started| started);
        self.reject_rivals(nodes, &mut results, terms.records);
        (results, shared)
    }

    /// Starts or finds the agents of `nodes`, and gives each to `settled` as soon as it is there,
    /// in several threads. Returns what that returned, in the order of `nodes`, and the processes
    /// that the agents share.
    fn start_each<R: Send>(
        &self,
        nodes: &[Node],
        terms: &Terms<'_>,
        settled: impl Fn(&Node, Started) -> R + Sync,
    ) -> (Vec<R>, Vec<LaunchedChild>) {
        let Terms { keys, cancellation, records, ready, notes, .. } = *terms;
        let orders = Orders {
            serves: Serves::Controller(keys.public),
            mptcp: self.launch.takes_mptcp(self.lab),
            listening: self.launch.listening(),
            stay: self.stay,
            max_life: self.max_life,
            cancellation: cancellation.clone(),
            answers: Arc::clone(&terms.answers),
            passes_output: self.passes_output,
            ..Orders::default()
        };
        let launcher = self.launcher_with(nodes);
        let launchers = Launchers::new(nodes, self.cluster, launcher, &self.logs);
        let closed = ClosedPorts::read(self.places);
        let starter = Starter {
            keys,
            orders: &orders,
            launchers: &launchers,
            records,
            notes,
            closed: &closed,
        };
        let results = in_slots(nodes, launchers.fanout(), |node, slot| {
            let mut result = self.find_or_start(node, slot, &starter);
            if self.is_real(node) {
                launchers.settle(node, result.as_mut().ok().map(|(agent, _)| agent));
            }
            terms.answers.settle(&node.name, result.is_ok());
            ready.fetch_add(1, Ordering::Relaxed);
            settled(node, result)
        });
        closed.keep();
        (results, launchers.into_children())
    }

    /// Returns the launcher of a command in which `nodes` take part, too: some of its own, or nodes
    /// that join.
    fn launcher_with(&self, nodes: &[Node]) -> Launcher {
        let allocation = std::env::var("SLURM_JOB_NODELIST").ok();
        let all = self.nodes.iter().chain(nodes);
        launchers::choose(all, self.cluster, self.launch.launcher, allocation.as_deref())
    }

    /// Returns why a node has no agent, with the path of the cluster file where advice names that.
    fn reason(&self, error: &str) -> String {
        inventory::with_path(error, self.cluster_path)
    }

    /// Returns whether a node is a real machine, not a lab's node or a process of this machine.
    fn is_real(&self, node: &Node) -> bool {
        self.lab.is_none() && !self.is_local(node)
    }

    /// Returns whether the node's agent is a process of this machine, below a directory of this
    /// command's.
    fn is_local(&self, node: &Node) -> bool {
        self.here.is_some() || inventory::is_local(&node.name)
    }

    /// Rejects the agents of nodes whose names resolve to a loopback address on this machine, if
    /// other nodes take part: the other nodes could not connect to such an address.
    fn reject_loopbacks(&self, fleet: &mut Fleet, records: &RecordDir) {
        if !self.are_elsewhere(&fleet.agents) {
            return;
        }
        fleet.children.late.beside_others.store(true, Ordering::Relaxed);
        for (node, slot) in self.nodes.iter().zip(&mut fleet.agents) {
            let Ok(agent) = slot else { continue };
            if let Some(reason) = self.reject_loopback(node, agent, records) {
                *slot = Err(reason);
            }
        }
    }

    /// Returns whether one of `agents`, in the order of the nodes, is at an address of another
    /// machine.
    fn are_elsewhere(&self, agents: &[Result<Agent, String>]) -> bool {
        let mut agents = self.nodes.iter().zip(agents);
        agents.any(|(node, agent)| agent.as_ref().is_ok_and(|agent| self.is_elsewhere(node, agent)))
    }

    /// Returns whether a node's agent is at an address of another machine.
    fn is_elsewhere(&self, node: &Node, agent: &Agent) -> bool {
        let is_loopback = agent.addresses.iter().any(|at| at.ip().is_loopback());
        !self.out_of_band && self.is_real(node) && !is_loopback
    }

    /// Returns why the agent of a node whose name resolves to a loopback address cannot take part
    /// beside agents of other machines; `None` if it can. It gets no record.
    fn reject_loopback(&self, node: &Node, agent: &Agent, records: &RecordDir) -> Option<String> {
        let own = agent.addresses.iter().find(|at| at.ip().is_loopback()).map(SocketAddr::ip);
        let address = own.filter(|_| !self.out_of_band && self.is_real(node))?;
        // Remove the record of a standing agent, or the next command would find it again. If it
        // does not end, the record stays. Other agents end when their channels close.
        if let Ok(Some(standing)) = Standing::find(records, &node.name)
            && standing.key == agent.connection.key()
            && let Ok(keys) = self.places.controller_keys()
            && ending::end_by(&keys, &standing, &self.processes()).is_ok()
        {
            standing.forget(records);
        }
        Some(self.reason(&reach::own_address(address)))
    }

    fn find_or_start(&self, node: &Node, slot: Slot, starter: &Starter<'_>) -> Started {
        let Starter { keys, orders, launchers, records, .. } = *starter;
        orders.cancellation.check()?;
        let clock = self.clocks.iter().find(|(name, _)| *name == node.name);
        let clock = clock.map(|(_, fault)| *fault);
        // Those of an agent that stays.
        let mut settings = self.stay.map(|idle| self.settings(node, idle, orders)).transpose()?;
        let found = Standing::find(records, &node.name)?;
        // An agent that takes no new session ends with the last of those it has.
        found.iter().filter(|standing| standing.is_over()).for_each(|over| over.forget(records));
        if let Some(mut standing) = found.filter(|standing| !standing.is_over()) {
            standing.cancellation = self.interrupt();
            if clock.is_some() {
                let why = "its clock cannot be changed: it has a standing agent; run `garland down` first";
                return Err(why.into());
            }
            match self.reach(node, &standing, |at| at.connect(keys)) {
                Ok(agent) => {
                    self.check_root(node, &standing)?;
                    if !listens_at(&standing, orders.listening.port) {
                        starter.notes.add(node, "note", KEEPS_PORT.to_owned());
                    }
                    self.claims.know(&standing);
                    return Ok((agent, None));
                }
                Err(error) => match self.make_way(node, &standing, &error, starter) {
                    Ok(kept) => {
                        if kept.is_some() {
                            self.check_root(node, &standing)?;
                        }
                        standing.forget(records);
                        settings = kept.or(settings);
                    }
                    // The agent may be stopped or busy: do not start a second standing agent.
                    Err(reason) if self.stay.is_some() => return Err(LaunchError::Refused(reason)),
                    // Start another agent, which ends with this command.
                    Err(_) => {}
                },
            }
        }
        let stay = settings.as_ref().map(|settings| settings.idle);
        let mptcp = settings.as_ref().map_or(orders.mptcp, |settings| settings.mptcp);
        let max_life = settings.as_ref().and_then(|settings| settings.max_life);
        let root = settings.as_ref().and_then(|settings| settings.root.clone());
        let kept = settings.as_ref().map(|settings| settings.listening.clone());
        let listening =
            kept.map_or_else(|| orders.listening.clone(), |kept| orders.listening.or(&kept));
        let stays = settings.is_some();
        let record = Standing::new(node, self.lab, keys.public, settings.unwrap_or_default());
        let record = record.map_err(cannot("read the identity of this process", ""))?;
        let tag = record.tag().filter(|_| stays).map(str::to_owned);
        let trace = Trace::default();
        let orders =
            Orders { clock, stay, mptcp, listening, max_life, tag, trace, slot, ..orders.clone() };
        if stays {
            return self.start_standing(node, &orders, root, record, starter);
        }
        let launched = self.start(node, &orders, root, launchers)?;
        let mut record = record.ready(&launched);
        self.claim(&record, records)?;
        let agent = self.connect(node, &mut record, starter)?;
        Ok((agent, launched.child))
    }

    /// Connects to the agent of a node that has just been started. What the node has said of it
    /// counts only if the agent proves its key there.
    fn connect(
        &self,
        node: &Node,
        record: &mut Standing,
        starter: &Starter<'_>,
    ) -> Result<Agent, LaunchError> {
        let began_ns = clock::wall_ns();
        let known = Some(starter.closed).filter(|_| self.is_real(node));
        let known = known.and_then(|closed| closed.known(record));
        let was_known = known.is_some();
        let timeout = match starter.launchers.login(node) {
            Some(_) => CONNECT_AFTER_LOGIN_TIMEOUT,
            None => CONNECT_TIMEOUT,
        };
        let directly = match known {
            Some(error) => Err(error),
            None => self.reach(node, record, |at| at.connect_directly(starter.keys, timeout)),
        };
        let connected = match directly {
            Ok((agent, address)) => {
                self.claims.prove(&node.name, address);
                return Ok(agent);
            }
            // The detour that another node has there is not given to this one.
            Err(error)
                if self.claims.is_contested(&node.name)
                    && record.sockets().iter().any(detour::is_taken) =>
            {
                Err(LaunchError::Refused(error.after_login()))
            }
            Err(error) => {
                if error.may_be_a_firewall() && self.is_real(node) {
                    starter.closed.note(record, began_ns);
                }
                let connected = self.connect_by_login(node, record, starter, &error);
                // An earlier command has said it.
                if connected.is_ok() && !was_known {
                    let about = match starter.orders.listening.port.is_some() {
                        true => reach::ABOUT_LOGINS_AND_PORT,
                        false => reach::ABOUT_LOGINS,
                    };
                    starter.notes.add(node, "by ssh", about.to_owned());
                }
                connected
            }
        };
        connected.inspect_err(|_| self.claims.withdraw(&node.name))
    }

    /// Connects to the agent of a node that cannot be connected to directly, because of `error`.
    /// Where its port cannot be reached, the node can be logged in to: `record` then has the login
    /// by which the agent was reached.
    fn connect_by_login(
        &self,
        node: &Node,
        record: &mut Standing,
        starter: &Starter<'_>,
        error: &Unreached,
    ) -> Result<Agent, LaunchError> {
        let Starter { keys, orders, launchers, .. } = *starter;
        if !self.is_real(node) {
            return Err(LaunchError::Refused(error.to_string()));
        }
        let login = launchers.login(node).filter(|_| error.may_be_a_firewall());
        let Some(login) = login else { return Err(LaunchError::Refused(error.after_login())) };
        orders.cancellation.check()?;
        record.cancellation = self.interrupt();
        match record.connect_by(login, keys) {
            Ok(agent) => Ok(agent),
            Err(by_login) => {
                let text = format!("{}; through ssh: {by_login}", error.after_login());
                Err(LaunchError::Refused(text))
            }
        }
    }

    /// Returns what ends logins to agents at an interrupt, also those that come late in a copy:
    /// their links live as long as the command.
    fn interrupt(&self) -> Cancellation {
        Cancellation::by(self.interrupts.clone())
    }

    /// Returns what tells whether the processes of standing agents run.
    fn processes(&self) -> Processes<'_> {
        Processes::new(self.cluster, self.places)
    }

    /// Calls `reach` with the record by which this process reaches the agent of a node.
    fn reach<T: Send>(
        &self,
        node: &Node,
        standing: &Standing,
        reach: impl FnOnce(&Standing) -> Result<T, Unreached> + Send,
    ) -> Result<T, Unreached> {
        match self.lab {
            Some(lab) if self.out_of_band => lab::out_of_band(lab, &node.name, standing, reach),
            _ => reach(standing),
        }
    }

    /// Returns whether a node is this machine and its agent is started without ssh.
    fn is_own(&self, node: &Node) -> bool {
        self.out_of_band && self.is_real(node) && node.name == process::host_name()
    }

    /// Starts the agent of a node; a local one below `root`, or below its own directory.
    fn start(
        &self,
        node: &Node,
        orders: &Orders,
        root: Option<PathBuf>,
        launchers: &Launchers<'_>,
    ) -> LaunchResult {
        // A run's directory may be removed while a standing agent lives.
        let folder = match orders.stay {
            Some(_) => self.places.folder("agents")?,
            None => self.logs.clone(),
        };
        let log = folder.join(log_name(&node.name));
        // A standing agent of this machine is one of ssh, which others reach, too.
        if self.is_local(node) || orders.stay.is_none() && self.is_own(node) {
            let root = root.map_or_else(|| self.root(node), Ok)?;
            return local::launch(&node.name, &root, orders, &log);
        }
        if let Some(lab) = self.lab {
            return lab::launch(lab, &node.name, orders, &log);
        }
        launchers.start(node, orders, &log)
    }

    /// Returns the root directory of a local agent.
    fn root(&self, node: &Node) -> Result<PathBuf, LaunchError> {
        Ok(match (&self.here, &self.launch.local_root) {
            (Some(shared), _) => shared.clone(),
            (None, Some(roots)) => std::path::absolute(roots)
                .map_err(cannot(format!("find the directory {}", printable::path(roots)), ""))?
                .join(&node.name),
            (None, None) => self.places.folder("local")?.join(&node.name),
        })
    }

    /// Fails if the user asks for another root directory than that of the standing agent of a local
    /// node: what is copied or deleted would be elsewhere.
    fn check_root(&self, node: &Node, standing: &Standing) -> Result<(), LaunchError> {
        if self.here.is_some() || self.launch.local_root.is_none() {
            return Ok(());
        }
        let (Some(its), true) = (&standing.settings.root, inventory::is_local(&node.name)) else {
            return Ok(());
        };
        // One of them may be reached through a link.
        let place = |root: &Path| root.canonicalize().unwrap_or_else(|_| root.to_owned());
        let asked = self.root(node)?;
        if place(&asked) == place(its) {
            return Ok(());
        }
        let its = printable::path(its);
        Err(LaunchError::Refused(format!(
            "its standing agent has the root directory {its}, not that of --local-root: run \
             `garland down {}` first, or omit the option",
            node.name
        )))
    }

    /// Returns the settings of a standing agent that this command starts.
    fn settings(&self, node: &Node, idle: u64, orders: &Orders) -> Result<Settings, LaunchError> {
        let root = inventory::is_local(&node.name).then(|| self.root(node)).transpose()?;
        let listening = orders.listening.clone();
        let mptcp = orders.mptcp;
        let max_life = orders.max_life;
        Ok(Settings { idle, mptcp, root, listening, max_life })
    }
}

/// What is said of a standing agent where the user has named another port.
const KEEPS_PORT: &str =
    "its standing agent stays at its port, not at the one that was named; garland down ends it";

/// Returns whether a standing agent listens at one of `ports`, if the user has named any.
fn listens_at(standing: &Standing, ports: Option<Ports>) -> bool {
    let is_named = |ports: Ports| {
        standing.sockets().iter().all(|at| ports.is_any() || ports.numbers().contains(&at.port()))
    };
    ports.is_none_or(is_named)
}

//! Adds nodes to a running copy: those that have not answered their logins when it began, missing
//! agents, whose start is tried again, and other nodes at a user's request.

use std::os::fd::AsFd;
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use garland_control::{Agent, CopyJob, Latecomers, Newcomer, Outcome, Progress, run_copy};
use garland_core::cluster::Node;
use garland_core::plan::NodeId;
use garland_sys::channel::{Sender, channel};
use garland_sys::event::{self, Wake};
use garland_sys::sync::Mutex;
use garland_sys::{clock, threads};
use garland_terminal::failure::{Failure, OrFailure};

use super::late_logins::LateLogins;
use super::notes::Notes;
use super::{Children, Fleet, FleetBuilder, Started, Terms};
use crate::inventory::LAB_PREFIX;
use crate::join_listener::{Answer, JoinListener};
use crate::launch::{Answers, Cancellation, LaunchError, LaunchedChild, after};
use crate::standing::RecordDir;

/// The pause before the first retry of missing nodes; each later pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(2);

/// The process that keeps a late agent alive, and the index of the agent's node in the fleet; no
/// index for a node that joined, or for a shared process.
type LateChild = (Option<usize>, LaunchedChild);

/// The processes that keep late agents alive.
#[derive(Default)]
pub struct LateStarts(Vec<LateChild>);

impl Fleet {
    /// Returns the indexes of the nodes without an agent.
    fn missing(&self) -> Vec<usize> {
        let agents = self.agents.iter().enumerate();
        agents.filter(|(_, agent)| agent.is_err()).map(|(place, _)| place).collect()
    }
}

impl Children {
    /// Takes the logins on the nodes that are late.
    pub fn take_late(&mut self) -> LateLogins {
        std::mem::take(&mut self.late)
    }

    /// Adds the processes that keep late agents alive.
    pub fn add_late(&mut self, late: LateStarts) {
        for (place, child) in late.0 {
            match place.and_then(|place| self.processes.get_mut(place)) {
                Some(slot) => *slot = Some(child),
                None => self.processes.push(Some(child)),
            }
        }
    }
}

impl FleetBuilder<'_> {
    /// Runs a copy on a fleet. During the copy, retries the start of missing agents, and lets other
    /// nodes join if there is a `listener`. Returns the outcome, and the fleet for another
    /// operation.
    ///
    /// # Errors
    /// When the copy cannot begin, or the state directory cannot be read.
    pub fn copy(
        &self,
        job: CopyJob<'_>,
        fleet: Fleet,
        listener: Option<&mut JoinListener>,
        observe: &mut dyn FnMut(&Progress<'_>),
    ) -> Result<(Outcome, Fleet), Failure> {
        let mut missing = if job.takes_latecomers() { fleet.missing() } else { Vec::new() };
        let Fleet { agents, mut children } = fleet;
        let late = children.take_late();
        let beside_others = Arc::clone(&late.beside_others);
        beside_others.fetch_or(self.are_elsewhere(&agents), Ordering::Relaxed);
        missing.retain(|place| !late.places.contains(place));
        let awaited: Vec<NodeId> = late.places.iter().copied().map(id_at).collect();
        let (sender, newcomers) = channel();
        let late_sender = sender.clone();
        let job = CopyJob { late: Some(Latecomers { newcomers, awaited }), ..job };
        let over = Arc::new(AtomicBool::new(false));
        let ended = Wake::new().or_nothing("cannot run the copy")?;
        let cancellation = Cancellation::by(self.interrupts.clone()).or_when(&over);
        let retries = Retries {
            places: Mutex::new(missing),
            are_all: AtomicBool::new(late.places.is_empty()),
        };
        let late_nodes = LateNodes {
            builder: self,
            beside_others,
            newcomers: sender,
            cancellation: cancellation.clone(),
            ended: &ended,
            joined: Vec::new(),
            children: Vec::new(),
        };
        let (copied, late, silent) = std::thread::scope(|scope| {
            let silent = || self.await_silent(late, &cancellation, &late_sender, &retries);
            let silent = threads::spawn_in(scope, "silent", silent);
            let silent = silent.or_nothing("cannot start the thread for late nodes")?;
            let thread = threads::spawn_in(scope, "late", || late_nodes.run(&retries, listener));
            let copied =
                thread.or_nothing("cannot start the thread for late nodes").map(|thread| {
                    let copied = run_copy(&job, agents, self.interrupts.as_deref(), observe);
                    over.store(true, Ordering::Relaxed);
                    ended.raise();
                    let late =
                        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                    (copied, late)
                });
            over.store(true, Ordering::Relaxed);
            let silent = silent.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            copied.map(|(copied, late)| (copied, late, silent))
        })?;
        children.add_late(LateStarts(late));
        children.add_late(silent);
        let (outcome, agents) = copied.or_nothing("cannot run the copy")?;
        Ok((outcome, Fleet { agents, children }))
    }

    /// Waits for the nodes of `late`. Gives the agent of each, or the reason why it has none, with
    /// the node's index to `settled` as soon as it is there, in several threads. As long as that
    /// takes, the key cannot be replaced.
    pub fn on_late(
        &self,
        late: LateLogins,
        cancellation: &Cancellation,
        settled: impl Fn(usize, Result<Agent, String>) + Sync,
    ) -> LateStarts {
        let LateLogins { places, silent, lease, beside_others } = late;
        let Some(lease) = lease else { return LateStarts::default() };
        let nodes: Vec<Node> = places.iter().map(|&at| self.nodes[at].clone()).collect();
        let records = match RecordDir::open(self.places, self.lab.map(garland_lab::Lab::name)) {
            Ok(records) => records,
            Err(failure) => {
                let reason = || failure.message().to_owned();
                places.iter().for_each(|&place| settled(place, Err(reason())));
                return LateStarts::default();
            }
        };
        let notes = Notes::default();
        let terms = Terms {
            keys: &lease.keys,
            cancellation,
            answers: Arc::new(Answers::resume(silent)),
            records: &records,
            ready: &AtomicUsize::new(0),
            notes: &notes,
        };
        let children = Mutex::new(Vec::new());
        let (_, shared) = self.start_each(&nodes, &terms, |node, mut started| {
            self.reject_rivals(slice::from_ref(node), slice::from_mut(&mut started), &records);
            self.reject_late_loopback(node, &mut started, &beside_others, &records);
            let place = self.nodes.iter().position(|other| other.name == node.name);
            let agent =
                started.map_err(|error| self.reason(&error.to_string())).map(|(agent, child)| {
                    children.lock().extend(child.map(|child| (place, child)));
                    agent
                });
            settled(place.unwrap_or_default(), agent)
        });
        notes.print();
        let shared = shared.into_iter().map(|child| (None, child));
        let children = std::mem::take(&mut *children.lock());
        LateStarts(children.into_iter().chain(shared).collect())
    }

    /// Rejects the agent of a late node whose name resolves to a loopback address, if agents at
    /// addresses of other machines take part.
    fn reject_late_loopback(
        &self,
        node: &Node,
        started: &mut Started,
        beside_others: &AtomicBool,
        records: &RecordDir,
    ) {
        let Ok((agent, _)) = started else { return };
        let is_elsewhere = self.is_elsewhere(node, agent);
        let are_others = beside_others.fetch_or(is_elsewhere, Ordering::Relaxed);
        let reason = are_others.then(|| self.reject_loopback(node, agent, records));
        if let Some(reason) = reason.flatten() {
            *started = Err(LaunchError::Refused(reason));
        }
    }

    /// Waits for the nodes of `late`, and passes the agent of each, or the reason why it has none,
    /// to the copy. The start of those without one is to be tried again.
    fn await_silent(
        &self,
        late: LateLogins,
        cancellation: &Cancellation,
        newcomers: &Sender<Newcomer>,
        retries: &Retries,
    ) -> LateStarts {
        let settled = |place: usize, agent: Result<Agent, String>| {
            if agent.is_err() {
                if cancellation.is_cancelled() {
                    // The copy waits no longer, and says why. Ctrl-C on a terminal also ends the
                    // ssh of a login, which then gives that as its reason.
                    return;
                }
                retries.places.lock().push(place);
            }
            // Fails if the copy is over.
            let _ = newcomers.send(Newcomer::Late(id_at(place), agent));
        };
        let started = self.on_late(late, cancellation, settled);
        retries.are_all.store(true, Ordering::Relaxed);
        started
    }
}

/// Returns the node of a plan that has this index in a fleet.
fn id_at(place: usize) -> NodeId {
    NodeId(u32::try_from(place + 1).unwrap_or(u32::MAX))
}

/// The nodes whose start is to be tried again.
struct Retries {
    /// Their indexes.
    places: Mutex<Vec<usize>>,
    /// Whether no more are added.
    are_all: AtomicBool,
}

/// Starts agents on late nodes while a copy is running.
struct LateNodes<'a> {
    builder: &'a FleetBuilder<'a>,
    /// Whether agents at addresses of other machines take part.
    beside_others: Arc<AtomicBool>,
    /// The channel on which the copy receives the agents.
    newcomers: Sender<Newcomer>,
    cancellation: Cancellation,
    /// Raised when the copy is over.
    ended: &'a Wake,
    /// The names of the nodes of earlier join requests.
    joined: Vec<String>,
    children: Vec<LateChild>,
}

impl LateNodes<'_> {
    /// Tries again to start the agents of the nodes of `retries`, and lets other nodes join, until
    /// the copy is over. Returns the processes of the agents.
    fn run(mut self, retries: &Retries, mut listener: Option<&mut JoinListener>) -> Vec<LateChild> {
        let mut pause = FIRST_PAUSE;
        let mut next_ns = after(pause);
        let mut missing = Vec::new();
        loop {
            let are_all = retries.are_all.load(Ordering::Relaxed);
            missing.append(&mut retries.places.lock());
            let has_retries = !missing.is_empty() || !are_all;
            if self.cancellation.is_cancelled() || listener.is_none() && !has_retries {
                return self.children;
            }
            let limit = has_retries.then(|| clock::until(next_ns));
            self.wait(listener.as_deref_mut(), limit);
            for request in listener.iter_mut().flat_map(|listener| listener.requests()) {
                match self.admitted(&request.list) {
                    Ok(nodes) => {
                        let names = nodes.iter().map(|node| node.name.clone()).collect();
                        request.answer(&Answer::Joining(names));
                        self.join(nodes);
                    }
                    Err(failure) => {
                        request.answer(&Answer::Refused(failure.message().to_owned()));
                    }
                }
            }
            if clock::until(next_ns).is_zero() {
                if !missing.is_empty() {
                    missing = self.try_again(missing);
                    pause *= 2;
                }
                next_ns = after(pause);
            }
        }
    }

    /// Waits until the copy is over, a join request may have arrived, or `limit` has passed.
    fn wait(&self, listener: Option<&mut JoinListener>, limit: Option<Duration>) {
        match listener {
            Some(listener) => listener.wait(self.ended.as_fd(), limit),
            None if event::wait_readable(&[self.ended.as_fd()], limit).is_ok() => {}
            // poll(2) failed for lack of memory.
            None => threads::sleep(limit.unwrap_or(FIRST_PAUSE).min(FIRST_PAUSE)),
        }
    }

    /// Tries again to start the agents of the nodes with the indexes `missing`. Returns the indexes
    /// of the nodes that still have no agent.
    fn try_again(&mut self, missing: Vec<usize>) -> Vec<usize> {
        let nodes: Vec<Node> = missing.iter().map(|&at| self.builder.nodes[at].clone()).collect();
        let results = self.start_all(&nodes);
        let mut still_missing = Vec::new();
        for (place, result) in missing.into_iter().zip(results) {
            let Ok((agent, child)) = result else {
                still_missing.push(place);
                continue;
            };
            self.children.extend(child.map(|child| (Some(place), child)));
            // Fails if the copy is over.
            let _ = self.newcomers.send(Newcomer::Late(id_at(place), Ok(agent)));
        }
        still_missing
    }

    /// Resolves the node list of a join request. Fails if one of the nodes may not join.
    fn admitted(&self, list: &str) -> Result<Vec<Node>, Failure> {
        let closed = || Failure::usage("no nodes can join this copy");
        let nodes = self.builder.inventory.ok_or_else(closed)?.nodes(list)?;
        let planned = self.builder.nodes.iter().map(|node| &node.name);
        let known: Vec<&String> = planned.chain(&self.joined).collect();
        for node in &nodes {
            if known.contains(&&node.name) {
                let message = "it already takes part in this copy";
                return Err(Failure::usage(format!("cannot add {}: {message}", node.name)));
            }
            if node.name.starts_with(LAB_PREFIX) != self.builder.lab.is_some() {
                let message = "lab nodes and real nodes cannot be in one copy";
                return Err(Failure::usage(format!("cannot add {}: {message}", node.name)));
            }
        }
        Ok(nodes)
    }

    /// Starts agents on nodes that join. Passes each agent, or the reason why its node has none, to
    /// the copy.
    fn join(&mut self, nodes: Vec<Node>) {
        let results = self.start_all(&nodes);
        for (node, result) in nodes.into_iter().zip(results) {
            let agent = result.map_err(|error| self.builder.reason(&error.to_string())).map(
                |(agent, child)| {
                    self.children.extend(child.map(|child| (None, child)));
                    agent
                },
            );
            self.joined.push(node.name.clone());
            // Fails if the copy is over.
            let _ = self.newcomers.send(Newcomer::Joins(node.name, agent));
        }
    }

    /// Starts the agents of `nodes`. What keeps all from being started is the reason of each: the
    /// copy to the others goes on.
    fn start_all(&mut self, nodes: &[Node]) -> Vec<Started> {
        let started = self.try_start_all(nodes);
        started.unwrap_or_else(|failure| {
            let reason = || LaunchError::Refused(failure.message().to_owned());
            nodes.iter().map(|_| Err(reason())).collect()
        })
    }

    fn try_start_all(&mut self, nodes: &[Node]) -> Result<Vec<Started>, Failure> {
        let builder = self.builder;
        let records = RecordDir::open(builder.places, builder.lab.map(garland_lab::Lab::name))?;
        let notes = Notes::default();
        let is_cancelled = || self.cancellation.is_cancelled();
        let lease = builder.places.lease_controller_keys(is_cancelled)?;
        let terms = Terms {
            keys: &lease.keys,
            cancellation: &self.cancellation,
            answers: Arc::default(),
            records: &records,
            ready: &AtomicUsize::new(0),
            notes: &notes,
        };
        let (mut results, shared) = builder.start_all(nodes, &terms);
        notes.print();
        for (node, started) in nodes.iter().zip(&mut results) {
            builder.reject_late_loopback(node, started, &self.beside_others, &records);
        }
        self.children.extend(shared.into_iter().map(|child| (None, child)));
        Ok(results)
    }
}

//! Adds nodes to a running copy: retries the start of missing agents, and lets other nodes join at
//! a user's request.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use garland_control::{CopyJob, Newcomer, Outcome, Progress, run_copy};
use garland_core::cluster::Node;
use garland_core::plan::NodeId;
use garland_sys::channel::{Sender, channel};
use garland_sys::event::{self, Wake};
use garland_sys::{clock, threads};
use garland_terminal::failure::{Failure, OrFailure};

use super::notes::Notes;
use super::{Children, Fleet, FleetBuilder, Started};
use crate::inventory::LAB_PREFIX;
use crate::join_listener::{Answer, JoinListener};
use crate::launch::{Cancellation, LaunchedChild, after};
use crate::standing::RecordDir;

/// The pause before the first retry of missing nodes; each later pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_secs(2);

/// The process that keeps a late agent alive, and the index of the agent's node in the fleet; no
/// index for a node that joined, or for a shared process.
type LateChild = (Option<usize>, LaunchedChild);

impl Fleet {
    /// Returns the indexes of the nodes without an agent.
    fn missing(&self) -> Vec<usize> {
        let agents = self.agents.iter().enumerate();
        agents.filter(|(_, agent)| agent.is_err()).map(|(place, _)| place).collect()
    }
}

impl Children {
    /// Adds the processes that keep late agents alive.
    fn add_late(&mut self, late: Vec<LateChild>) {
        for (place, child) in late {
            match place.and_then(|place| self.0.get_mut(place)) {
                Some(slot) => *slot = Some(child),
                None => self.0.push(Some(child)),
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
        let missing = if job.takes_latecomers() { fleet.missing() } else { Vec::new() };
        let Fleet { agents, mut children } = fleet;
        let (newcomers, late) = channel();
        let job = CopyJob { late: Some(late), ..job };
        let over = Arc::new(AtomicBool::new(false));
        let ended = Wake::new().or_nothing("cannot run the copy")?;
        let late_nodes = LateNodes {
            builder: self,
            newcomers,
            cancellation: Cancellation::by(self.interrupts.clone()).or_when(&over),
            ended: &ended,
            joined: Vec::new(),
            children: Vec::new(),
        };
        let (copied, late) = std::thread::scope(|scope| {
            let thread = threads::spawn_in(scope, "late", || late_nodes.run(missing, listener));
            let thread = thread.or_nothing("cannot start the thread for late nodes")?;
            let copied = run_copy(&job, agents, self.interrupts.as_deref(), observe);
            over.store(true, Ordering::Relaxed);
            ended.raise();
            let late = thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok::<_, Failure>((copied, late))
        })?;
        children.add_late(late?);
        let (outcome, agents) = copied.or_nothing("cannot run the copy")?;
        Ok((outcome, Fleet { agents, children }))
    }
}

/// Starts agents on late nodes while a copy is running.
struct LateNodes<'a> {
    builder: &'a FleetBuilder<'a>,
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
    /// Tries again to start the agents of the nodes with the indexes `missing`, and lets other
    /// nodes join, until the copy is over. Returns the processes of the agents.
    ///
    /// # Errors
    /// When the state directory cannot be read.
    fn run(
        mut self,
        mut missing: Vec<usize>,
        mut listener: Option<&mut JoinListener>,
    ) -> Result<Vec<LateChild>, Failure> {
        let mut pause = FIRST_PAUSE;
        let mut next_ns = after(pause);
        while !self.cancellation.is_cancelled() && (listener.is_some() || !missing.is_empty()) {
            let limit = (!missing.is_empty()).then(|| clock::until(next_ns));
            self.wait(listener.as_deref_mut(), limit);
            for request in listener.iter_mut().flat_map(|listener| listener.requests()) {
                match self.admitted(&request.list) {
                    Ok(nodes) => {
                        let names = nodes.iter().map(|node| node.name.clone()).collect();
                        request.answer(&Answer::Joining(names));
                        self.join(nodes)?;
                    }
                    Err(failure) => {
                        request.answer(&Answer::Refused(failure.message().to_owned()));
                    }
                }
            }
            if !missing.is_empty() && clock::until(next_ns).is_zero() {
                missing = self.try_again(missing)?;
                pause *= 2;
                next_ns = after(pause);
            }
        }
        Ok(self.children)
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
    fn try_again(&mut self, missing: Vec<usize>) -> Result<Vec<usize>, Failure> {
        let nodes: Vec<Node> = missing.iter().map(|&at| self.builder.nodes[at].clone()).collect();
        let results = self.start_all(&nodes)?;
        let mut still_missing = Vec::new();
        for (place, result) in missing.into_iter().zip(results) {
            let Ok((agent, child)) = result else {
                still_missing.push(place);
                continue;
            };
            self.children.extend(child.map(|child| (Some(place), child)));
            let id = NodeId(u32::try_from(place + 1).unwrap_or(u32::MAX));
            // Fails if the copy is over.
            let _ = self.newcomers.send(Newcomer::Late(id, agent));
        }
        Ok(still_missing)
    }

    /// Resolves the node list of a join request. Fails if one of the nodes may not join.
    fn admitted(&self, list: &str) -> Result<Vec<Node>, Failure> {
        let closed = || Failure::usage("no nodes can join this copy");
        let nodes = self.builder.inventory.ok_or_else(closed)?.nodes(list)?;
        let planned = self.builder.nodes.iter().map(|node| &node.name);
        let known: Vec<&String> = planned.chain(&self.joined).collect();
        for node in &nodes {
            if known.contains(&&node.name) {
                let message = format!("{} already takes part in this copy", node.name);
                return Err(Failure::usage(message));
            }
            if node.name.starts_with(LAB_PREFIX) != self.builder.lab.is_some() {
                let message = "lab nodes and real nodes cannot be in one copy";
                return Err(Failure::usage(format!("{}: {message}", node.name)));
            }
        }
        Ok(nodes)
    }

    /// Starts agents on nodes that join. Passes each agent, or the reason why its node has none, to
    /// the copy.
    fn join(&mut self, nodes: Vec<Node>) -> Result<(), Failure> {
        let results = self.start_all(&nodes)?;
        for (node, result) in nodes.into_iter().zip(results) {
            let agent = result.map_err(|error| error.to_string()).map(|(agent, child)| {
                self.children.extend(child.map(|child| (None, child)));
                agent
            });
            self.joined.push(node.name.clone());
            // Fails if the copy is over.
            let _ = self.newcomers.send(Newcomer::Joins(node.name, agent));
        }
        Ok(())
    }

    fn start_all(&mut self, nodes: &[Node]) -> Result<Vec<Started>, Failure> {
        let builder = self.builder;
        let records = RecordDir::open(builder.places, builder.lab.map(garland_lab::Lab::name))?;
        let ready = AtomicUsize::new(0);
        let notes = Notes::default();
        let started = builder.start_all(nodes, &self.cancellation, &records, &ready, &notes);
        notes.print();
        let (results, shared) = started?;
        self.children.extend(shared.into_iter().map(|child| (None, child)));
        Ok(results)
    }
}
